"""Where sessions and messages are kept: the interfaces. One file per kind in `stores/`.

A store keeps; it does not judge. Who may see what is decided in `session/manager.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from dataagent_core.session.types import Message, MessageStatus, Role, Session


class SessionStore(ABC):
    """Sessions by id, by user and by assistant; lists are newest `last_active` first."""

    @abstractmethod
    async def create(
        self,
        user_id: str,
        assistant_id: str,
        *,
        session_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Create a session with a fresh id (or the given one) and a unique 8-digit `thread_id`.

        Raises:
            Conflict: a session of that id exists.
        """

    @abstractmethod
    async def get(self, session_id: str) -> Session | None:
        """The session, or None."""

    @abstractmethod
    async def update(self, session: Session) -> None:
        """Write title, state, metadata and `last_active`. A session that is gone stays gone.

        Raises:
            SessionNotFound: there is no such session.
        """

    @abstractmethod
    async def touch(self, session_id: str) -> None:
        """Set `last_active` to now; nothing happens if the session is gone."""

    @abstractmethod
    async def delete(self, session_id: str) -> bool:
        """Delete the session with its messages, runs and events; False if there was none."""

    @abstractmethod
    async def list_by_user(
        self, user_id: str, *, limit: int | None = None, offset: int = 0
    ) -> list[Session]:
        """A user's sessions."""

    @abstractmethod
    async def list_by_assistant(self, assistant_id: str) -> list[Session]:
        """All sessions with one assistant."""

    @abstractmethod
    async def count_by_user(self, user_id: str) -> int:
        """How many sessions the user has."""

    @abstractmethod
    async def expired(self, timeout_seconds: float) -> list[str]:
        """Ids of sessions not active for longer than `timeout_seconds`."""

    @abstractmethod
    async def cleanup_expired(self, timeout_seconds: float) -> int:
        """Delete the sessions that `expired` names; how many."""


class MessageStore(ABC):
    """Messages of a session, oldest first."""

    @abstractmethod
    async def save_message(
        self,
        session_id: str,
        role: Role,
        content: str,
        metadata: dict[str, Any] | None = None,
        *,
        run_id: str | None = None,
        status: MessageStatus = "complete",
    ) -> str:
        """Append a message and return its id.

        Raises:
            SessionNotFound: there is no such session.
        """

    @abstractmethod
    async def get_messages(
        self, session_id: str, limit: int = 100, offset: int = 0
    ) -> list[Message]:
        """A page of the session's messages."""

    @abstractmethod
    async def count_messages(self, session_id: str) -> int:
        """How many messages the session has."""

    @abstractmethod
    async def delete_messages(self, session_id: str) -> int:
        """Delete the session's messages; how many."""
