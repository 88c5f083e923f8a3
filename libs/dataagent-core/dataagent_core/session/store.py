"""The interfaces of the stores of sessions and messages, and the quota of conversations.

Access is decided in `session/manager.py`, not in a store. `ConversationQuota` compares what a store
counts with a quota; a user who is far from it may send some messages before their conversations are
counted again, so that not every message costs a count.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self, TypeVar
from uuid import uuid4

from dataagent_core.errors import BadInput, UserLimit
from dataagent_core.session.types import DEFAULT_TITLE, Message, Role, Session, new_thread_id
from dataagent_core.storage import Database
from dataagent_core.storage.database import is_storable

_ID_LENGTH = 64
_PAGE = 50  # messages that are searched or counted at a time


class DatabaseUser(Protocol):
    """Something that works on a store's database beside the store, such as checkpoints."""

    async def setup(self) -> None:
        """Create the tables that are missing."""
        ...

    async def close(self) -> None:
        """Release the connections."""
        ...


T = TypeVar("T", bound=DatabaseUser)


class Store:
    """How a store is opened and closed: `async with` does both. Not every kind needs it."""

    async def init_tables(self) -> None:
        """Create the tables that are missing, and migrate older ones."""

    async def close(self) -> None:
        """Release the connections this store opened."""

    async def __aenter__(self) -> Self:
        await self.init_tables()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class SessionStore(Store, ABC):
    """Sessions by id, by user and by assistant; lists are newest `last_active` first."""

    @abstractmethod
    async def create(self, user_id: str, assistant_id: str) -> Session:
        """Create a session with a fresh id."""

    @abstractmethod
    async def get(self, session_id: str) -> Session | None:
        """The session, or None."""

    @abstractmethod
    async def update(self, session: Session) -> None:
        """Write title, state, metadata and `last_active`. A deleted session stays deleted.

        Raises:
            SessionNotFound: there is no such session.
        """

    @abstractmethod
    async def delete(self, session_id: str) -> bool | None:
        """Delete the session and its messages; return whether there was one, if that is known."""

    @abstractmethod
    async def list_by_user(self, user_id: str) -> list[Session]:
        """A user's sessions."""

    @abstractmethod
    async def list_by_assistant(self, assistant_id: str) -> list[Session]:
        """All sessions with one assistant."""

    @abstractmethod
    async def cleanup_expired(self, timeout_seconds: float) -> int:
        """Delete the sessions not active for longer than `timeout_seconds`; how many."""


class ConversationStore(SessionStore):
    """Our own stores: ids chosen by the caller, titles, pages, deletion that can be undone.

    A soft-deleted session is in no list and is not found, except by the methods that say so.
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
            BadInput: an id cannot be stored.
            Conflict: as `insert`.
        """
        session_id = str(uuid4()) if session_id is None else session_id
        for each in (session_id, user_id, assistant_id):
            if not 0 < len(each) <= _ID_LENGTH or not is_storable(each):
                raise BadInput(
                    f"{each[:80]!r} cannot be the id of a session, a user or an assistant: these "
                    f"have 1 to {_ID_LENGTH} characters."
                )
        session = Session(
            session_id=session_id,
            user_id=user_id,
            assistant_id=assistant_id,
            metadata=deepcopy(metadata or {}),
            title=title,
        )
        session.last_active = session.created_at
        while not await self.insert(session):
            session.thread_id = new_thread_id()
        return session

    @abstractmethod
    async def insert(self, session: Session) -> bool:
        """Store a new session; False if its `thread_id` is another's.

        Raises:
            Conflict: a session of that id exists, soft-deleted or not, or was deleted.
        """

    @abstractmethod
    async def get_by_thread(self, thread_id: str) -> Session | None:
        """The session with that `thread_id`, or None."""

    @abstractmethod
    async def touch(self, session_id: str) -> None:
        """Set `last_active` to now; nothing happens if the session is missing."""

    @abstractmethod
    async def delete(self, session_id: str, *, frees_id: bool = False) -> bool:
        """Delete the session with its messages, runs and events; False if there was none.

        A soft-deleted one is deleted as any other. No session gets the id again, unless
        `frees_id` says that no one has seen it yet.
        """

    @abstractmethod
    async def soft_delete(self, session_id: str) -> bool:
        """Hide the session from every reader until it is restored; False if there is none.

        No run can be opened in it from then on.
        """

    @abstractmethod
    async def get_soft_deleted(self, session_id: str) -> Session | None:
        """The session if it was soft-deleted, or None."""

    @abstractmethod
    async def restore(self, session_id: str) -> bool:
        """Undo a soft deletion; False if there is none."""

    @abstractmethod
    async def soft_deleted_before(self, at: datetime, *, limit: int = 500) -> list[Session]:
        """Sessions that were soft-deleted before a time, the earliest first."""

    @abstractmethod
    async def list_by_user(
        self, user_id: str, *, limit: int | None = None, offset: int = 0
    ) -> list[Session]:
        """A user's sessions, or a page of them."""

    @abstractmethod
    async def count_by_user(self, user_id: str) -> int:
        """How many sessions the user has."""

    @abstractmethod
    async def bytes_of_user(self, user_id: str) -> int:
        """The bytes of the user's sessions, soft-deleted ones too: metadata, messages, events.

        A run is counted when it ends.
        """

    @abstractmethod
    async def expired(self, timeout_seconds: float) -> list[str]:
        """Ids of sessions not active for longer than `timeout_seconds`."""

    @property
    @abstractmethod
    def messages(self) -> MessageStore:
        """The messages of these sessions, over the same connections."""

    async def open_with_database(self, make: Callable[[Database], T]) -> T | None:
        """Open something over this store's database once, to be closed with the store.

        None if this kind has no database.
        """
        return None


class MessageStore(Store, ABC):
    """Messages of a session, oldest first."""

    @abstractmethod
    async def save_message(
        self,
        session_id: str,
        role: Role,
        content: str,
        metadata: dict[str, Any] | None = None,
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
    async def delete_messages(self, session_id: str) -> int:
        """Delete the session's messages; how many."""

    async def count_messages(self, session_id: str) -> int:
        """How many messages the session has."""
        count = 0
        while page := await self.get_messages(session_id, _PAGE, count):
            count += len(page)
        return count

    async def sessions_containing(self, text: str, session_ids: Sequence[str]) -> set[str]:
        """The sessions of which a message contains the text.

        The text is matched literally, ASCII letters in upper and lower case.
        """
        wanted = text.lower()
        return {each for each in session_ids if await self._contains(wanted, each)}

    async def _contains(self, wanted: str, session_id: str) -> bool:
        offset = 0
        while page := await self.get_messages(session_id, _PAGE, offset):
            if any(wanted in message.content.lower() for message in page):
                return True
            offset += len(page)
        return False


_RETRY_AFTER_SECONDS = 60
_COUNTED_SECONDS = 2.0
_COUNTED_USERS = 10_000
_MESSAGE_BYTES = 4 * 1024**2  # more than a message and its answer usually take


@dataclass(slots=True)
class _MessageAllowance:
    """The messages a user may send before their conversations are counted again."""

    messages: int
    until: float


class ConversationQuota:
    """The bytes a user's conversations may hold. Used from the event loop only."""

    def __init__(self, sessions: ConversationStore, quota: int) -> None:
        """A `quota` of 0 is no limit."""
        self._sessions = sessions
        self._quota = quota
        self._allowances: OrderedDict[str, _MessageAllowance] = OrderedDict()  # by user

    async def check(self, user_id: str) -> None:
        """Refuse to write more for a user.

        Raises:
            UserLimit: their conversations are at the quota.
        """
        if not self._quota or self._use_allowance(user_id):
            return
        used = await self._sessions.bytes_of_user(user_id)
        if used >= self._quota:
            raise UserLimit(
                f"Your conversations hold {used} bytes, and at most {self._quota} are allowed. "
                "Delete conversations you no longer need: DELETE /api/v1/sessions/{id} frees their "
                "bytes at once, a conversation deleted in the web app keeps them as long as it can "
                "be restored. Or ask an administrator for more (DATAAGENT_CONVERSATION_QUOTA).",
                details={"what": "conversation_bytes", "limit": self._quota, "used": used},
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._remember(user_id, used)

    def _use_allowance(self, user_id: str) -> bool:
        allowance = self._allowances.get(user_id)
        if allowance is None or not allowance.messages or allowance.until < time.monotonic():
            return False
        allowance.messages -= 1
        return True

    def _remember(self, user_id: str, used: int) -> None:
        messages = (self._quota - used) // 2 // _MESSAGE_BYTES
        self._allowances.pop(user_id, None)
        self._allowances[user_id] = _MessageAllowance(messages, time.monotonic() + _COUNTED_SECONDS)
        while len(self._allowances) > _COUNTED_USERS:
            self._allowances.popitem(last=False)
