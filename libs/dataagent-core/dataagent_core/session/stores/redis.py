"""Sessions and messages in Redis.

Each method is one command or one Lua script (`redis_scripts.py`), so it happens as a whole or not
at all. The runs of these sessions are kept by `runs/stores/redis.py` under the same prefix.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson

from dataagent_core.errors import Conflict, SessionNotFound
from dataagent_core.session.store import ConversationStore, MessageStore
from dataagent_core.session.stores import redis_scripts as scripts
from dataagent_core.session.types import Message, Role, Session, metadata_bytes, now
from dataagent_core.storage.redis import (
    RedisSpace,
    Value,
    fields_of,
    milliseconds,
    moment,
    open_redis,
    pairs,
)
from dataagent_core.storage.text import is_storable, storable

_LOCAL_REDIS = "redis://localhost:6379/0"


class RedisSessionStore(ConversationStore):
    """Sessions in the Redis at a URL, or in a space of keys that is open already."""

    def __init__(
        self,
        url: str = _LOCAL_REDIS,
        *,
        prefix: str = "dataagent:",
        space: RedisSpace | None = None,
    ) -> None:
        self._space = open_redis(url, prefix=prefix) if space is None else space
        self._is_own = space is None
        script = self._space.script
        self._create = script(scripts.CREATE)
        self._update = script(scripts.UPDATE)
        self._put_away = script(scripts.SOFT_DELETE)
        self._bring_back = script(scripts.RESTORE)
        self._put_away_before = script(scripts.SOFT_DELETED_BEFORE)
        self._by_thread = script(scripts.BY_THREAD)
        self._list = script(scripts.LIST)
        self._expired = script(scripts.EXPIRED)
        self._delete = script(scripts.DELETE)

    async def insert(self, session: Session) -> bool:
        """As `ConversationStore.insert`."""
        outcome = await self._space.run(
            self._create,
            session.session_id,
            session.thread_id,
            milliseconds(session.last_active),
            session.user_id,
            metadata_bytes(session),
            *fields_of({f.name: getattr(session, f.name) for f in fields(Session)}),
        )
        if outcome in (b"exists", b"deleted"):
            why = "exists already" if outcome == b"exists" else "was deleted"
            raise Conflict(f"Session {session.session_id!r} {why}.")
        return outcome != b"thread"

    async def get(self, session_id: str) -> Session | None:
        """As `SessionStore.get`."""
        row = await self._row(session_id)
        return _session(row) if row and "deleted_at" not in row else None

    async def _row(self, session_id: str) -> dict[str, bytes]:
        if not is_storable(session_id):
            return {}
        rows = await self._space.command("HGETALL", self._space.key("session:", session_id))
        return {name.decode(): value for name, value in rows.items()}

    async def get_by_thread(self, thread_id: str) -> Session | None:
        """As `ConversationStore.get_by_thread`."""
        if not is_storable(thread_id):
            return None
        row = pairs(await self._space.run(self._by_thread, thread_id))
        return _session(row) if row and "deleted_at" not in row else None

    async def update(self, session: Session) -> None:
        """As `SessionStore.update`."""
        changed = {"title": session.title, "state": session.state, "metadata": session.metadata}
        at = milliseconds(session.last_active)
        if not await self._space.run(self._update, session.session_id, at, *fields_of(changed)):
            raise SessionNotFound(f"There is no session {session.session_id!r}.")

    async def touch(self, session_id: str) -> None:
        """As `ConversationStore.touch`."""
        await self._space.run(self._update, session_id, milliseconds(now()))

    async def delete(self, session_id: str, *, frees_id: bool = False) -> bool:
        """As `ConversationStore.delete`."""
        if not is_storable(session_id):
            return False
        is_free = "1" if frees_id else "0"
        return bool(await self._space.run(self._delete, session_id, "", is_free))

    async def soft_delete(self, session_id: str) -> bool:
        """As `ConversationStore.soft_delete`."""
        return bool(await self._space.run(self._put_away, session_id, milliseconds(now())))

    async def get_soft_deleted(self, session_id: str) -> Session | None:
        """As `ConversationStore.get_soft_deleted`."""
        row = await self._row(session_id)
        return _session(row) if "deleted_at" in row else None

    async def restore(self, session_id: str) -> bool:
        """As `ConversationStore.restore`."""
        return bool(await self._space.run(self._bring_back, session_id))

    async def soft_deleted_before(self, at: datetime, *, limit: int = 500) -> list[Session]:
        """As `ConversationStore.soft_deleted_before`."""
        rows = await self._space.run(self._put_away_before, milliseconds(at), limit)
        return [_session(pairs(row)) for row in rows]

    async def list_by_user(
        self, user_id: str, *, limit: int | None = None, offset: int = 0
    ) -> list[Session]:
        """As `ConversationStore.list_by_user`."""
        if limit == 0:
            return []
        last = -1 if limit is None else offset + limit - 1
        return await self._listed(f"user:{user_id}", offset, last)

    async def list_by_assistant(self, assistant_id: str) -> list[Session]:
        """As `SessionStore.list_by_assistant`."""
        return await self._listed(f"assistant:{assistant_id}", 0, -1)

    async def _listed(self, index: str, first: int, last: int) -> list[Session]:
        rows = await self._space.run(self._list, index, first, last)
        return [_session(pairs(row)) for row in rows]

    async def count_by_user(self, user_id: str) -> int:
        """As `ConversationStore.count_by_user`."""
        return await self._space.command("ZCARD", self._space.key("user:", user_id))

    async def bytes_of_user(self, user_id: str) -> int:
        """As `ConversationStore.bytes_of_user`."""
        return int(await self._space.command("GET", self._space.key("bytes:", user_id)) or 0)

    async def expired(self, timeout_seconds: float) -> list[str]:
        """As `ConversationStore.expired`; a session with an active run is not idle."""
        found = await self._space.run(self._expired, _cutoff(timeout_seconds))
        return [session_id.decode() for session_id in found]

    async def cleanup_expired(self, timeout_seconds: float) -> int:
        """As `SessionStore.cleanup_expired`, a session at a time."""
        cutoff = _cutoff(timeout_seconds)
        found = await self._space.run(self._expired, cutoff)
        return sum([await self._space.run(self._delete, each, cutoff, "0") for each in found])

    @property
    def messages(self) -> MessageStore:
        """As `ConversationStore.messages`."""
        return RedisMessageStore(space=self._space)

    async def close(self) -> None:
        """As `Store.close`."""
        if self._is_own:
            await self._space.close()


class RedisMessageStore(MessageStore):
    """Messages in Redis, of the sessions under the same prefix."""

    def __init__(
        self,
        url: str = _LOCAL_REDIS,
        *,
        prefix: str = "dataagent:",
        space: RedisSpace | None = None,
    ) -> None:
        self._space = open_redis(url, prefix=prefix) if space is None else space
        self._is_own = space is None
        script = self._space.script
        self._save = script(scripts.SAVE_MESSAGE)
        self._get = script(scripts.GET_MESSAGES)
        self._delete = script(scripts.DELETE_MESSAGES)

    async def save_message(
        self,
        session_id: str,
        role: Role,
        content: str,
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """As `MessageStore.save_message`."""
        message = Message(
            message_id=str(uuid4()),
            session_id=session_id,
            role=role,
            content=storable(content),
            metadata=metadata or {},
        )
        row = message_fields(message)
        if not await self._space.run(self._save, session_id, message.message_id, *row):
            raise SessionNotFound(f"There is no session {session_id!r}.")
        return message.message_id

    async def get_messages(
        self, session_id: str, limit: int = 100, offset: int = 0
    ) -> list[Message]:
        """As `MessageStore.get_messages`."""
        if limit <= 0:
            return []
        rows = await self._space.run(self._get, session_id, offset, offset + limit - 1)
        return [_message(pairs(row)) for row in rows]

    async def count_messages(self, session_id: str) -> int:
        """As `MessageStore.count_messages`."""
        return await self._space.command("LLEN", self._space.key("messages:", session_id))

    async def delete_messages(self, session_id: str) -> int:
        """As `MessageStore.delete_messages`."""
        return await self._space.run(self._delete, session_id)

    async def close(self) -> None:
        """As `Store.close`."""
        if self._is_own:
            await self._space.close()


def message_fields(message: Message) -> list[Value]:
    """A message as its hash is written, names and values in a row."""
    return fields_of({f.name: getattr(message, f.name) for f in fields(Message)})


def _message(row: dict[str, bytes]) -> Message:
    role: Any = row["role"].decode()  # Any: a Literal, as it was written
    status: Any = row["status"].decode()  # Any: as above
    return Message(
        message_id=row["message_id"].decode(),
        session_id=row["session_id"].decode(),
        role=role,
        content=row["content"].decode(),
        created_at=moment(row["created_at"]),
        run_id=row["run_id"].decode() if "run_id" in row else None,
        status=status,
        metadata=orjson.loads(row["metadata"]),
    )


def _session(row: dict[str, bytes]) -> Session:
    return Session(
        session_id=row["session_id"].decode(),
        user_id=row["user_id"].decode(),
        assistant_id=row["assistant_id"].decode(),
        thread_id=row["thread_id"].decode(),
        created_at=moment(row["created_at"]),
        last_active=moment(row["last_active"]),
        title=row["title"].decode(),
        state=orjson.loads(row["state"]),
        metadata=orjson.loads(row["metadata"]),
    )


def _cutoff(timeout_seconds: float) -> int:
    return milliseconds(now() - timedelta(seconds=timeout_seconds))
