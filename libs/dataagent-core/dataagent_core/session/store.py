"""Where sessions and messages are kept: the interfaces. One file per kind in `stores/`.

A store keeps; it does not judge. Who may see what is decided in `session/manager.py`.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime
from typing import Any
from uuid import uuid4

from dataagent_core.session.types import DEFAULT_TITLE, Message, MessageStatus, Role, Session, now


class SessionStore(ABC):
    """Sessions by id, by user and by assistant; lists are newest `last_active` first.

    One that was put away is in no list and is not found, except by the methods that say so.
    """

    async def create(
        self,
        user_id: str,
        assistant_id: str,
        *,
        session_id: str | None = None,
        title: str = DEFAULT_TITLE,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Create a session with a fresh id (or the given one) and a unique 8-digit `thread_id`.

        Raises:
            Conflict: as `insert`.
        """
        moment = now()
        session = Session(
            session_id=session_id or str(uuid4()),
            user_id=user_id,
            assistant_id=assistant_id,
            thread_id=secrets.token_hex(4),
            created_at=moment,
            last_active=moment,
            title=title,
            metadata=deepcopy(metadata or {}),
        )
        while not await self.insert(session):
            session.thread_id = secrets.token_hex(4)
        return session

    @abstractmethod
    async def insert(self, session: Session) -> bool:
        """Keep a new session; False if its `thread_id` is another's.

        Raises:
            Conflict: a session of that id exists, put away or not, or one was deleted.
        """

    @abstractmethod
    async def get(self, session_id: str) -> Session | None:
        """The session, or None."""

    @abstractmethod
    async def get_by_thread(self, thread_id: str) -> Session | None:
        """The session with that `thread_id`, or None."""

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
    async def delete(self, session_id: str, *, frees_id: bool = False) -> bool:
        """Delete the session with its messages, runs and events; False if there was none.

        One that was put away is deleted as any other. No session gets the id again, unless
        `frees_id` says that no one has seen it yet.
        """

    @abstractmethod
    async def put_away(self, session_id: str) -> bool:
        """Hide the session from every reader until it is brought back; False if there is none.

        No run can be opened in it from then on.
        """

    @abstractmethod
    async def get_put_away(self, session_id: str) -> Session | None:
        """The session if it was put away, or None."""

    @abstractmethod
    async def bring_back(self, session_id: str) -> bool:
        """Show a session that was put away again; False if there is none."""

    @abstractmethod
    async def put_away_before(self, at: datetime, *, limit: int = 500) -> list[Session]:
        """Sessions that were put away before a time, those longest away first."""

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
    async def bytes_of_user(self, user_id: str) -> int:
        """How many bytes the user's sessions hold, also those put away: metadata, messages, events.

        What runs in a session counts from its end on.
        """

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
    async def sessions_saying(self, text: str, session_ids: Sequence[str]) -> set[str]:
        """Those of the sessions in which a message has the text somewhere in it.

        The text is taken as it is, no character in it stands for another. ASCII letters match in
        upper and lower case.
        """

    @abstractmethod
    async def count_messages(self, session_id: str) -> int:
        """How many messages the session has."""

    @abstractmethod
    async def delete_messages(self, session_id: str) -> int:
        """Delete the session's messages; how many."""
