"""Sessions and messages in Redis.

Each method is one command or one Lua script, so it is atomic. The runs of these sessions are stored
by `runs/stores/redis.py` under the same prefix.

Keys, after the prefix:

    session:S   hash of the session, plus last_seq and active_run     sessions     by last_active
    thread:T    the session with that thread id                       user:U       by last_active
    messages:S  list of message ids         message:M  hash           assistant:A  by last_active
    runs:S      set of run ids              run:R      hash           leases       by lease_until
    events:S    batches by last_seq         clients:S  client message id to run id
    approvals:R request id to request       decisions:R request id to decision
    away        soft-deleted sessions, by time; they are in no other index but `sessions`
    bytes:U     bytes of all sessions of a user, also in each session's hash
    deleted     set of ids of deleted sessions, which are not used again
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson

from dataagent_core.errors import Conflict, SessionNotFound
from dataagent_core.session.store import ConversationStore, MessageStore
from dataagent_core.session.types import Message, Role, Session, metadata_bytes, now
from dataagent_core.storage.database import is_storable, storable
from dataagent_core.storage.redis import (
    RedisSpace,
    Value,
    fields_of,
    milliseconds,
    moment,
    open_redis,
    pairs,
)

TOUCH_FUNCTION = """
local function touch(P, sid, at)
  local session = P..'session:'..sid
  local of = redis.call('HMGET', session, 'user_id', 'assistant_id', 'deleted_at')
  redis.call('HSET', session, 'last_active', at)
  redis.call('ZADD', P..'sessions', at, sid)
  if of[3] then return end
  redis.call('ZADD', P..'user:'..of[1], at, sid)
  redis.call('ZADD', P..'assistant:'..of[2], at, sid)
end
"""

GROW_FUNCTION = """
local function grow(P, sid, user, bytes)
  redis.call('HINCRBY', P..'session:'..sid, 'bytes_used', bytes)
  redis.call('INCRBY', P..'bytes:'..user, bytes)
end
"""

# ARGV session, thread, time, user, bytes, then the session's fields
CREATE = (
    TOUCH_FUNCTION
    + GROW_FUNCTION
    + """
local P, sid, thread, at = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('EXISTS', P..'session:'..sid) == 1 then return 'exists' end
if redis.call('SISMEMBER', P..'deleted', sid) == 1 then return 'deleted' end
if redis.call('SETNX', P..'thread:'..thread, sid) == 0 then return 'thread' end
redis.call('HSET', P..'session:'..sid, unpack(ARGV, 7))
grow(P, sid, ARGV[5], ARGV[6])
touch(P, sid, at)
return 'created'
"""
)

# ARGV from 4 on: the fields to set, if any
UPDATE = (
    TOUCH_FUNCTION
    + """
local P, sid, at = ARGV[1], ARGV[2], ARGV[3]
local session = P..'session:'..sid
if redis.call('EXISTS', session) == 0 then return 0 end
if redis.call('HEXISTS', session, 'deleted_at') == 1 then return 0 end
if #ARGV > 3 then redis.call('HSET', session, unpack(ARGV, 4)) end
touch(P, sid, at)
return 1
"""
)

# ARGV session, time
SOFT_DELETE = """
local P, sid, at = ARGV[1], ARGV[2], ARGV[3]
local session = P..'session:'..sid
local of = redis.call('HMGET', session, 'user_id', 'assistant_id')
if not of[1] or redis.call('HSETNX', session, 'deleted_at', at) == 0 then return 0 end
redis.call('ZREM', P..'user:'..of[1], sid)
redis.call('ZREM', P..'assistant:'..of[2], sid)
redis.call('ZADD', P..'away', at, sid)
return 1
"""

RESTORE = (
    TOUCH_FUNCTION
    + """
local P, sid = ARGV[1], ARGV[2]
local session = P..'session:'..sid
if redis.call('HDEL', session, 'deleted_at') == 0 then return 0 end
redis.call('ZREM', P..'away', sid)
touch(P, sid, redis.call('HGET', session, 'last_active'))
return 1
"""
)

# ARGV time, how many
SOFT_DELETED_BEFORE = """
local found = {}
local away = redis.call('ZRANGEBYSCORE', ARGV[1]..'away', '-inf', '('..ARGV[2], 'LIMIT', 0, ARGV[3])
for i, sid in ipairs(away) do
  found[i] = redis.call('HGETALL', ARGV[1]..'session:'..sid)
end
return found
"""

BY_THREAD = """
local sid = redis.call('GET', ARGV[1]..'thread:'..ARGV[2])
return sid and redis.call('HGETALL', ARGV[1]..'session:'..sid) or {}
"""

# an index of sessions, newest first: ARGV index, first, last
LIST = """
local found = {}
for i, sid in ipairs(redis.call('ZREVRANGE', ARGV[1]..ARGV[2], ARGV[3], ARGV[4])) do
  found[i] = redis.call('HGETALL', ARGV[1]..'session:'..sid)
end
return found
"""

EXPIRED = """
local idle = {}
for _, sid in ipairs(redis.call('ZRANGEBYSCORE', ARGV[1]..'sessions', '-inf', '('..ARGV[2])) do
  if redis.call('HEXISTS', ARGV[1]..'session:'..sid, 'active_run') == 0 then
    idle[#idle + 1] = sid
  end
end
return idle
"""

# ARGV session, cutoff: with a cutoff, only if the session is still idle; '1' to free the id
DELETE = """
local P, sid, cutoff = ARGV[1], ARGV[2], ARGV[3]
local session = P..'session:'..sid
local of = redis.call('HMGET', session,
  'user_id', 'assistant_id', 'thread_id', 'last_active', 'active_run', 'bytes_used')
if not of[1] then return 0 end
if cutoff ~= '' and (of[5] or tonumber(of[4]) >= tonumber(cutoff)) then return 0 end
for _, message in ipairs(redis.call('LRANGE', P..'messages:'..sid, 0, -1)) do
  redis.call('UNLINK', P..'message:'..message)
end
for _, run in ipairs(redis.call('SMEMBERS', P..'runs:'..sid)) do
  redis.call('UNLINK', P..'run:'..run, P..'approvals:'..run, P..'decisions:'..run)
  redis.call('ZREM', P..'leases', run)
end
redis.call('UNLINK', session, P..'messages:'..sid, P..'runs:'..sid, P..'events:'..sid,
  P..'clients:'..sid, P..'thread:'..of[3])
redis.call('ZREM', P..'sessions', sid)
redis.call('ZREM', P..'away', sid)
redis.call('ZREM', P..'user:'..of[1], sid)
redis.call('ZREM', P..'assistant:'..of[2], sid)
redis.call('DECRBY', P..'bytes:'..of[1], of[6] or 0)
if ARGV[4] ~= '1' then redis.call('SADD', P..'deleted', sid) end
return 1
"""

SAVE_MESSAGE = """
local P, sid, message = ARGV[1], ARGV[2], ARGV[3]
if redis.call('EXISTS', P..'session:'..sid) == 0 then return 0 end
redis.call('HSET', P..'message:'..message, unpack(ARGV, 4))
redis.call('RPUSH', P..'messages:'..sid, message)
return 1
"""

# ARGV session, first, last
GET_MESSAGES = """
local found = {}
for i, message in ipairs(redis.call('LRANGE', ARGV[1]..'messages:'..ARGV[2], ARGV[3], ARGV[4])) do
  found[i] = redis.call('HGETALL', ARGV[1]..'message:'..message)
end
return found
"""

DELETE_MESSAGES = """
local list = ARGV[1]..'messages:'..ARGV[2]
local ids = redis.call('LRANGE', list, 0, -1)
for _, message in ipairs(ids) do redis.call('UNLINK', ARGV[1]..'message:'..message) end
redis.call('UNLINK', list)
return #ids
"""


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
        self._create = script(CREATE)
        self._update = script(UPDATE)
        self._put_away = script(SOFT_DELETE)
        self._bring_back = script(RESTORE)
        self._put_away_before = script(SOFT_DELETED_BEFORE)
        self._by_thread = script(BY_THREAD)
        self._list = script(LIST)
        self._expired = script(EXPIRED)
        self._delete = script(DELETE)

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
        self._save = script(SAVE_MESSAGE)
        self._get = script(GET_MESSAGES)
        self._delete = script(DELETE_MESSAGES)

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
