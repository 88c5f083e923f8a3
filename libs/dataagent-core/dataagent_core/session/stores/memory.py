"""Sessions and messages in this process, for tests and for a server without persistence.

`MemoryData` is shared by the memory stores: the run store writes the messages of runs, and deleting
a session deletes its runs. Everything happens on one event loop without awaiting, so each method is
atomic.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from dataagent_core.errors import Conflict, SessionNotFound
from dataagent_core.session.store import ConversationStore, MessageStore
from dataagent_core.session.types import Message, Role, Session, metadata_bytes, now
from dataagent_core.storage.database import storable


@dataclass(slots=True)
class MemoryData:
    """The stored data. `active_runs` and `on_delete` belong to the run store."""

    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    threads: dict[str, str] = field(default_factory=dict[str, str])  # thread id to session id
    soft_deleted: dict[str, datetime] = field(default_factory=dict[str, datetime])  # since when
    bytes_used: dict[str, int] = field(default_factory=dict[str, int])  # by session
    deleted: set[str] = field(default_factory=set[str])  # ids that no session gets again
    messages: dict[str, dict[str, Message]] = field(default_factory=dict[str, dict[str, Message]])
    active_runs: dict[str, str] = field(default_factory=dict[str, str])
    on_delete: list[Callable[[str], None]] = field(default_factory=list[Callable[[str], None]])

    def visible(self, session_id: str) -> Session | None:
        """The session, unless it was soft-deleted."""
        return None if session_id in self.soft_deleted else self.sessions.get(session_id)

    def add(self, message: Message) -> None:
        """Append a message to its session."""
        self.messages.setdefault(message.session_id, {})[message.message_id] = message

    def delete(self, session_id: str, *, frees_id: bool = False) -> bool:
        """Delete a session with all of its data."""
        session = self.sessions.pop(session_id, None)
        if session is None:
            return False
        if not frees_id:
            self.deleted.add(session_id)
        self.threads.pop(session.thread_id, None)
        self.soft_deleted.pop(session_id, None)
        self.bytes_used.pop(session_id, None)
        self.messages.pop(session_id, None)
        for forget in self.on_delete:
            forget(session_id)
        return True


class MemorySessionStore(ConversationStore):
    """Sessions in memory."""

    def __init__(self, data: MemoryData | None = None) -> None:
        self._data = data or MemoryData()

    async def insert(self, session: Session) -> bool:
        """As `ConversationStore.insert`."""
        if session.session_id in self._data.sessions:
            raise Conflict(f"Session {session.session_id!r} exists already.")
        if session.session_id in self._data.deleted:
            raise Conflict(f"Session {session.session_id!r} was deleted.")
        if session.thread_id in self._data.threads:
            return False
        self._data.threads[session.thread_id] = session.session_id
        self._data.sessions[session.session_id] = deepcopy(session)
        self._data.bytes_used[session.session_id] = metadata_bytes(session)
        return True

    async def get(self, session_id: str) -> Session | None:
        """As `SessionStore.get`."""
        return deepcopy(self._data.visible(session_id))

    async def get_by_thread(self, thread_id: str) -> Session | None:
        """As `ConversationStore.get_by_thread`."""
        return deepcopy(self._data.visible(self._data.threads.get(thread_id, "")))

    async def update(self, session: Session) -> None:
        """As `SessionStore.update`."""
        stored = self._data.visible(session.session_id)
        if stored is None:
            raise SessionNotFound(f"There is no session {session.session_id!r}.")
        stored.title = session.title
        stored.state = deepcopy(session.state)
        stored.metadata = deepcopy(session.metadata)
        stored.last_active = session.last_active

    async def touch(self, session_id: str) -> None:
        """As `ConversationStore.touch`."""
        session = self._data.visible(session_id)
        if session is not None:
            session.last_active = now()

    async def delete(self, session_id: str, *, frees_id: bool = False) -> bool:
        """As `ConversationStore.delete`."""
        return self._data.delete(session_id, frees_id=frees_id)

    async def soft_delete(self, session_id: str) -> bool:
        """As `ConversationStore.soft_delete`."""
        if self._data.visible(session_id) is None:
            return False
        self._data.soft_deleted[session_id] = now()
        return True

    async def get_soft_deleted(self, session_id: str) -> Session | None:
        """As `ConversationStore.get_soft_deleted`."""
        is_away = session_id in self._data.soft_deleted
        return deepcopy(self._data.sessions[session_id]) if is_away else None

    async def restore(self, session_id: str) -> bool:
        """As `ConversationStore.restore`."""
        return self._data.soft_deleted.pop(session_id, None) is not None

    async def soft_deleted_before(self, at: datetime, *, limit: int = 500) -> list[Session]:
        """As `ConversationStore.soft_deleted_before`."""
        deleted = sorted(self._data.soft_deleted.items(), key=lambda item: item[1])
        found = [session_id for session_id, since in deleted if since < at]
        return [deepcopy(self._data.sessions[session_id]) for session_id in found[:limit]]

    async def list_by_user(
        self, user_id: str, *, limit: int | None = None, offset: int = 0
    ) -> list[Session]:
        """As `ConversationStore.list_by_user`."""
        own = self._newest_first(lambda session: session.user_id == user_id)
        return deepcopy(own[offset:] if limit is None else own[offset : offset + limit])

    async def list_by_assistant(self, assistant_id: str) -> list[Session]:
        """As `SessionStore.list_by_assistant`."""
        return deepcopy(self._newest_first(lambda session: session.assistant_id == assistant_id))

    async def count_by_user(self, user_id: str) -> int:
        """As `ConversationStore.count_by_user`."""
        return len(self._newest_first(lambda session: session.user_id == user_id))

    async def bytes_of_user(self, user_id: str) -> int:
        """As `ConversationStore.bytes_of_user`."""
        own = (each for each in self._data.sessions.values() if each.user_id == user_id)
        return sum(self._data.bytes_used[each.session_id] for each in own)

    async def expired(self, timeout_seconds: float) -> list[str]:
        """As `ConversationStore.expired`; a session with an active run is not idle."""
        cutoff = now() - timedelta(seconds=timeout_seconds)
        return [
            session.session_id
            for session in self._data.sessions.values()
            if session.last_active < cutoff and session.session_id not in self._data.active_runs
        ]

    async def cleanup_expired(self, timeout_seconds: float) -> int:
        """As `SessionStore.cleanup_expired`."""
        return sum(map(self._data.delete, await self.expired(timeout_seconds)))

    @property
    def messages(self) -> MessageStore:
        """As `ConversationStore.messages`."""
        return MemoryMessageStore(self._data)

    def _newest_first(self, is_wanted: Callable[[Session], bool]) -> list[Session]:
        deleted = self._data.soft_deleted
        every = self._data.sessions.values()
        found = [each for each in every if is_wanted(each) and each.session_id not in deleted]
        return sorted(found, key=lambda session: session.last_active, reverse=True)


class MemoryMessageStore(MessageStore):
    """Messages in memory: of the sessions in `data`; without it, of any session."""

    def __init__(self, data: MemoryData | None = None) -> None:
        self._data = data or MemoryData()
        self._is_alone = data is None

    async def save_message(
        self,
        session_id: str,
        role: Role,
        content: str,
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """As `MessageStore.save_message`."""
        if not self._is_alone and session_id not in self._data.sessions:
            raise SessionNotFound(f"There is no session {session_id!r}.")
        message = Message(
            message_id=str(uuid4()),
            session_id=session_id,
            role=role,
            content=storable(content),
            metadata=deepcopy(metadata or {}),
        )
        self._data.add(message)
        return message.message_id

    async def get_messages(
        self, session_id: str, limit: int = 100, offset: int = 0
    ) -> list[Message]:
        """As `MessageStore.get_messages`."""
        page = list(self._data.messages.get(session_id, {}).values())[offset : offset + limit]
        return [replace(message, metadata=deepcopy(message.metadata)) for message in page]

    async def count_messages(self, session_id: str) -> int:
        """As `MessageStore.count_messages`."""
        return len(self._data.messages.get(session_id, {}))

    async def delete_messages(self, session_id: str) -> int:
        """As `MessageStore.delete_messages`."""
        return len(self._data.messages.pop(session_id, {}))
