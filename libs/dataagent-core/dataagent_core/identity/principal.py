"""The caller: one type for every transport and credential."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from dataagent_core.errors import Denied

UserRole = Literal["admin", "user"]
Via = Literal["api_key", "service_key", "cookie", "bearer", "auth_disabled", "terminal"]


@dataclass(frozen=True, slots=True)
class CredentialRef:
    """What a caller was let in on, as far as the database can take it back.

    A login rests on its token (`login_id`, until `expires_at`) and the password it was made with
    (`stamp`); a user's API key on the key. `revocation.py` looks whether they still hold.
    """

    stamp: str | None = None
    login_id: str | None = None
    expires_at: datetime | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. Without `credential_ref` only a restart can revoke the access."""

    user_id: str
    role: UserRole
    via: Via
    tenant_id: str | None = None
    credential_ref: CredentialRef | None = field(default=None, compare=False, repr=False)

    @property
    def is_admin(self) -> bool:
        """Whether the caller may administer."""
        return self.role == "admin"

    def resolve_user(self, user_id: str | None) -> str:
        """The user whose things are meant: the caller, or whom an administrator names.

        Raises:
            Denied: it is another user, and the caller is no administrator.
        """
        if user_id not in (None, self.user_id) and not self.is_admin:
            raise Denied("Only an administrator may do this for others.")
        return user_id or self.user_id
