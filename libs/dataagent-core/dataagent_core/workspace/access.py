"""Who may ask about whose workspace and memory. Pure."""

from __future__ import annotations

from dataagent_core.errors import NotFound
from dataagent_core.identity import Principal


def require_own(user_id: str, asked_by: Principal) -> None:
    """Let the user through.

    Raises:
        NotFound: the caller is another; who else exists is not said.
    """
    if asked_by.user_id != user_id:
        raise NotFound(f"There is nothing of a user {user_id[:64]!r} for you.")


def require_own_or_admin(user_id: str, asked_by: Principal) -> None:
    """Let the user and administrators through.

    Raises:
        NotFound: as `require_own`.
    """
    if not asked_by.is_admin:
        require_own(user_id, asked_by)
