"""Runs, events and approvals in Redis, beside the sessions under the same prefix.

Each method is one command or one Lua script, so it is atomic. A batch is a member of the session's
sorted set, `run_id`, `first_seq` and the wire forms as lines, with its `last_seq` as the score. The
keys are listed in `session/stores/redis.py`. `owns` is the fence: it is false once the run has
ended or a newer attempt owns it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

import orjson

from dataagent_core.hitl import Decision
from dataagent_core.runs import store
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import (
    Approval,
    Batch,
    ConcurrencyLimits,
    Ending,
    Entry,
    NewRun,
    OpenedRun,
    Run,
    RunInput,
    RunStatus,
    entries_of,
)
from dataagent_core.session.stores.redis import GROW_FUNCTION, TOUCH_FUNCTION, message_fields
from dataagent_core.session.types import DEFAULT_TITLE, now
from dataagent_core.storage.database import is_storable, storable
from dataagent_core.storage.redis import RedisSpace, Value, fields_of, milliseconds, moment, pairs

_OWNS = """
local ACTIVE = {queued = true, running = true, waiting = true}
local function owns(P, run, attempt)
  local stored = redis.call('HMGET', P..'run:'..run, 'attempt', 'status')
  return stored[1] == attempt and ACTIVE[stored[2]]
end
"""

_KEEP = """
local function keep(P, sid, run, first, last, lines)
  if lines == '' then return end
  redis.call('ZADD', P..'events:'..sid, last, run..'\\n'..first..'\\n'..lines)
  redis.call('HSETNX', P..'run:'..run, 'first_seq', first)
  redis.call('HSET', P..'run:'..run, 'last_seq', last)
  local known = tonumber(redis.call('HGET', P..'session:'..sid, 'last_seq') or 0)
  if tonumber(last) > known then redis.call('HSET', P..'session:'..sid, 'last_seq', last) end
end
"""

# ARGV session, run, '' or '=' and client message id, lease score or '', title or '' and the one it
# may replace, most runs of the user and in the queue (0 is any), the user, then three hashes:
# the run, the question and the answer, each as its number of parts and the parts, its id first
OPEN = """
local P, sid, run, client, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local session = P..'session:'..sid
if redis.call('EXISTS', session) == 0 then return {'gone'} end
if redis.call('HEXISTS', session, 'deleted_at') == 1 then return {'gone'} end
local last = redis.call('HGET', session, 'last_seq') or '0'
if client ~= '' then
  local seen = redis.call('HGET', P..'clients:'..sid, client)
  if seen then return {'seen', last, redis.call('HGETALL', P..'run:'..seen)} end
end
local active = redis.call('HGET', session, 'active_run')
if active then return {'busy', active} end
local waiting = redis.call('LRANGE', P..'queued', 0, -1)
if lease == '' and ARGV[9] ~= '0' and #waiting >= tonumber(ARGV[9]) then
  return {'full', #waiting}
end
if ARGV[8] ~= '0' then
  local mine = 0
  for _, some in ipairs({redis.call('ZRANGE', P..'leases', 0, -1), waiting}) do
    for _, other in ipairs(some) do
      if redis.call('HGET', P..'run:'..other, 'user_id') == ARGV[10] then mine = mine + 1 end
    end
  end
  if mine >= tonumber(ARGV[8]) then return {'crowded', mine} end
end
if ARGV[6] ~= '' and redis.call('HGET', session, 'title') == ARGV[7] then
  redis.call('HSET', session, 'title', ARGV[6])
end
local at = 11
local function hash(key)
  local size = tonumber(ARGV[at])
  redis.call('HSET', key, unpack(ARGV, at + 1, at + size))
  at = at + size + 1
end
hash(P..'run:'..run)
for _ = 1, 2 do
  local message = ARGV[at + 2]
  hash(P..'message:'..message)
  redis.call('RPUSH', P..'messages:'..sid, message)
end
redis.call('SADD', P..'runs:'..sid, run)
redis.call('HSET', session, 'active_run', run)
if client ~= '' then redis.call('HSET', P..'clients:'..sid, client, run) end
if lease ~= '' then
  redis.call('ZADD', P..'leases', lease, run)
else
  redis.call('RPUSH', P..'queued', run)
end
return {'new', last}
"""

# ARGV run, worker, lease end, the time leases are judged by, now
CLAIM = """
local key, worker, lease, at = ARGV[1]..'run:'..ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local stored = redis.call('HMGET', key, 'status', 'lease_until')
if stored[1] == 'queued' then
  redis.call('HSET', key, 'status', 'running')
  redis.call('LREM', ARGV[1]..'queued', 1, ARGV[2])
elseif stored[1] ~= 'running' and stored[1] ~= 'waiting' then
  return false
elseif stored[2] and tonumber(stored[2]) >= tonumber(at) then
  return false
end
redis.call('HINCRBY', key, 'attempt', 1)
redis.call('HSETNX', key, 'started_at', ARGV[6])
redis.call('HSET', key, 'lease_owner', worker, 'lease_until', lease)
redis.call('ZADD', ARGV[1]..'leases', lease, ARGV[2])
return redis.call('HGETALL', key)
"""

# ARGV six to a batch: run, attempt, session, first, last, lines
APPEND = (
    _OWNS
    + _KEEP
    + """
local refused = {}
for i = 2, #ARGV, 6 do
  if owns(ARGV[1], ARGV[i], ARGV[i + 1]) then
    keep(ARGV[1], ARGV[i + 2], ARGV[i], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
  else
    refused[#refused + 1] = ARGV[i]
  end
end
return refused
"""
)

# ARGV run, attempt, session, status, ended, first, last, lines, answer, content, message status,
# decision for the undecided, bytes, user, then the run's further fields
CLOSE = (
    _OWNS
    + _KEEP
    + TOUCH_FUNCTION
    + GROW_FUNCTION
    + """
local P, run, attempt, sid, status, ended = unpack(ARGV, 1, 6)
local first, last, lines, answer, content, message_status, decision = unpack(ARGV, 7, 13)
local key = P..'run:'..run
if not owns(P, run, attempt) then
  local stored = redis.call('HMGET', key, 'attempt', 'status', 'ended_at')
  return stored[1] == attempt and stored[2] == status and stored[3] == ended and 1 or 0
end
keep(P, sid, run, first, last, lines)
redis.call('HSET', key, 'status', status, 'ended_at', ended, unpack(ARGV, 16))
redis.call('HDEL', key, 'lease_owner', 'lease_until')
redis.call('ZREM', P..'leases', run)
redis.call('HDEL', P..'session:'..sid, 'active_run')
if redis.call('EXISTS', P..'message:'..answer) == 1 then
  redis.call('HSET', P..'message:'..answer, 'content', content, 'status', message_status)
end
for _, request in ipairs(redis.call('HKEYS', P..'approvals:'..run)) do
  redis.call('HSETNX', P..'decisions:'..run, request, decision)
end
grow(P, sid, ARGV[15], ARGV[14])
touch(P, sid, ended)
return 1
"""
)

# ARGV run, attempt, status, then the approvals to keep, id and request in turn
SET_STATUS = (
    _OWNS
    + """
local P, run, attempt, status = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not owns(P, run, attempt) then return 0 end
if redis.call('HGET', P..'run:'..run, 'status') == 'queued' then return 0 end
redis.call('HSET', P..'run:'..run, 'status', status)
for i = 5, #ARGV, 2 do
  redis.call('HSETNX', P..'approvals:'..run, ARGV[i], ARGV[i + 1])
end
return 1
"""
)

REQUEST_CANCEL = """
local key = ARGV[1]..'run:'..ARGV[2]
local status = redis.call('HGET', key, 'status')
if status == 'queued' or status == 'running' or status == 'waiting' then
  redis.call('HSET', key, 'cancel_requested', 1)
end
"""

# ARGV worker, lease end, then the runs; an ended run has no lease
RENEW = """
local P, worker, lease = ARGV[1], ARGV[2], ARGV[3]
local held = {}
for i = 4, #ARGV do
  local key = P..'run:'..ARGV[i]
  if redis.call('HGET', key, 'lease_owner') == worker then
    redis.call('HSET', key, 'lease_until', lease)
    redis.call('ZADD', P..'leases', lease, ARGV[i])
    held[#held + 1] = ARGV[i]
    held[#held + 1] = redis.call('HGET', key, 'cancel_requested') or ''
  end
end
return held
"""

# ARGV highest score, worker whose runs are left out
LEASED = """
local found = {}
for _, run in ipairs(redis.call('ZRANGEBYSCORE', ARGV[1]..'leases', '-inf', ARGV[2])) do
  if redis.call('HGET', ARGV[1]..'run:'..run, 'lease_owner') ~= ARGV[3] then
    found[#found + 1] = redis.call('HGETALL', ARGV[1]..'run:'..run)
  end
end
return found
"""

FIND = """
local run = ARGV[1]..'run:'..ARGV[2]
local sid = redis.call('HGET', run, 'session_id')
if not sid or redis.call('HEXISTS', ARGV[1]..'session:'..sid, 'deleted_at') == 1 then return {} end
return redis.call('HGETALL', run)
"""

# ARGV session, '=' and client message id
BY_CLIENT = """
local run = redis.call('HGET', ARGV[1]..'clients:'..ARGV[2], ARGV[3])
return run and redis.call('HGETALL', ARGV[1]..'run:'..run) or {}
"""

# ARGV how many at most; a run that is gone, or no longer queued, leaves the list
QUEUED = """
local found = {}
for _, run in ipairs(redis.call('LRANGE', ARGV[1]..'queued', 0, ARGV[2] - 1)) do
  local key = ARGV[1]..'run:'..run
  if redis.call('HGET', key, 'status') == 'queued' then
    found[#found + 1] = redis.call('HGETALL', key)
  else
    redis.call('LREM', ARGV[1]..'queued', 1, run)
  end
end
return found
"""

ACTIVE_RUN = """
local run = redis.call('HGET', ARGV[1]..'session:'..ARGV[2], 'active_run')
return run and redis.call('HGETALL', ARGV[1]..'run:'..run)
"""

# assistant and status of each active run: each has a lease, be it over, or is queued
HAND_OVER = (
    _OWNS
    + """
local P, run, attempt, input, agent = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not owns(P, run, attempt) then return 0 end
redis.call('HSET', P..'run:'..run, 'input', input, 'answered_by', agent)
return 1
"""
)

_UNENDED = """
local function unended(P)
  local found = redis.call('ZRANGE', P..'leases', 0, -1)
  for _, run in ipairs(redis.call('LRANGE', P..'queued', 0, -1)) do found[#found + 1] = run end
  return found
end
"""

ACTIVE_OF_USER = (
    _OWNS
    + _UNENDED
    + """
local found, P = {}, ARGV[1]
for _, run in ipairs(unended(P)) do
  local stored = redis.call('HMGET', P..'run:'..run, 'user_id', 'status')
  if stored[1] == ARGV[2] and ACTIVE[stored[2]] then
    found[#found + 1] = redis.call('HGETALL', P..'run:'..run)
  end
end
return found
"""
)

ACTIVE_AGENTS = (
    _OWNS
    + _UNENDED
    + """
local found, P = {}, ARGV[1]
for _, run in ipairs(unended(P)) do
  local stored = redis.call('HMGET', P..'run:'..run, 'assistant_id', 'status', 'answered_by')
  if stored[1] and ACTIVE[stored[2]] then
    found[#found + 1] = stored[3] or stored[1]
    found[#found + 1] = stored[2]
  end
end
return found
"""
)

LAST_SEQS = """
local found = {}
for i = 2, #ARGV do
  local of = redis.call('HMGET', ARGV[1]..'session:'..ARGV[i], 'user_id', 'deleted_at', 'last_seq')
  found[#found + 1] = of[1] and not of[2] and (of[3] or '0') or ''
end
return found
"""

READ_RUN = """
local stored = redis.call('HMGET', ARGV[1]..'run:'..ARGV[2], 'session_id', 'first_seq', 'last_seq')
if not stored[2] then return {} end
return redis.call('ZRANGEBYSCORE', ARGV[1]..'events:'..stored[1], stored[2], stored[3])
"""

APPROVALS = """
return {
  redis.call('HGETALL', ARGV[1]..'approvals:'..ARGV[2]),
  redis.call('HGETALL', ARGV[1]..'decisions:'..ARGV[2])
}
"""

# ARGV run, request, decision
DECIDE = """
local P, run, request = ARGV[1], ARGV[2], ARGV[3]
local stored = redis.call('HGET', P..'approvals:'..run, request)
if not stored then return false end
redis.call('HSETNX', P..'decisions:'..run, request, ARGV[4])
return {stored, redis.call('HGET', P..'decisions:'..run, request)}
"""


_BATCHES_AT_ONCE = 64


class RedisRunStore(RunStore):
    """Runs in Redis."""

    def __init__(self, space: RedisSpace) -> None:
        self._space = space
        self._open = space.script(OPEN)
        self._claim = space.script(CLAIM)
        self._append = space.script(APPEND)
        self._close = space.script(CLOSE)
        self._set_status = space.script(SET_STATUS)
        self._hand_over = space.script(HAND_OVER)
        self._request_cancel = space.script(REQUEST_CANCEL)
        self._renew = space.script(RENEW)
        self._leased = space.script(LEASED)
        self._find = space.script(FIND)
        self._by_client = space.script(BY_CLIENT)
        self._queued = space.script(QUEUED)
        self._last_seqs = space.script(LAST_SEQS)
        self._active_run = space.script(ACTIVE_RUN)
        self._active_of_user = space.script(ACTIVE_OF_USER)
        self._active_agents = space.script(ACTIVE_AGENTS)
        self._read_run = space.script(READ_RUN)
        self._approvals = space.script(APPROVALS)
        self._decide = space.script(DECIDE)

    # -- a run's life ---------------------------------------------------------------------------

    async def open(
        self, new: NewRun, *, worker: str | None, lease_until: datetime | None
    ) -> OpenedRun:
        """As `RunStore.open`."""
        run = store.initial_run(new, worker=worker, lease_until=lease_until)
        client = "" if new.client_message_id is None else f"={new.client_message_id}"
        hashes = [_run_fields(run), *map(message_fields, store.initial_messages(new))]
        limits = new.limits or ConcurrencyLimits()
        outcome, *rest = await self._space.run(
            self._open,
            new.session_id,
            new.run_id,
            client,
            _lease_score(run),
            new.title or "",
            DEFAULT_TITLE,
            limits.max_per_user,
            limits.max_queued,
            new.user_id,
            *(part for row in hashes for part in (len(row), *row)),
        )
        match outcome:
            case b"new":
                return OpenedRun(run, int(rest[0]), is_new=True)
            case b"seen":
                return OpenedRun(_run(rest[1]), int(rest[0]), is_new=False)
            case b"busy":
                raise store.busy_error(new.session_id, rest[0].decode())
            case b"crowded":
                raise limits.user_limit_error(int(rest[0]))
            case b"full":
                raise limits.queue_full_error(int(rest[0]))
            case _:
                raise store.no_session_error(new.session_id)

    async def claim(
        self, run_id: str, *, worker: str, lease_until: datetime, at: datetime | None = None
    ) -> Run | None:
        """As `RunStore.claim`."""
        times = (milliseconds(moment) for moment in (lease_until, at or now(), now()))
        row = await self._space.run(self._claim, run_id, worker, *times)
        return _run(row) if row else None

    async def close(self, run: Run, ending: Ending, last: Batch) -> bool:
        """As `RunStore.close`; the same end written again is True."""
        further = {"token_usage": ending.token_usage, "error": ending.error}
        closed = await self._space.run(
            self._close,
            run.run_id,
            run.attempt,
            run.session_id,
            ending.status,
            milliseconds(ending.ended_at),
            last.first_seq,
            last.last_seq,
            b"\n".join(last.wires),
            run.answer_id,
            storable(ending.content),
            ending.message_status,
            _decision_json(store.CLOSING_DECISION),
            ending.bytes_used,
            run.user_id,
            *fields_of(further),
        )
        return bool(closed)

    async def set_status(self, run: Run, status: RunStatus) -> bool:
        """As `RunStore.set_status`."""
        return bool(await self._space.run(self._set_status, run.run_id, run.attempt, status))

    async def hand_over(self, run: Run, agent_id: str) -> bool:
        """As `RunStore.hand_over`."""
        noted = orjson.dumps(replace(run.input, answered_by=agent_id).to_dict())
        return bool(
            await self._space.run(self._hand_over, run.run_id, run.attempt, noted, agent_id)
        )

    async def get(self, run_id: str) -> Run | None:
        """As `RunStore.get`."""
        if not is_storable(run_id):
            return None
        row = await self._space.command("HGETALL", self._space.key("run:", run_id))
        return _run_of({name.decode(): value for name, value in row.items()}) if row else None

    async def find(self, run_id: str) -> Run | None:
        """As `RunStore.find`."""
        row = await self._space.run(self._find, run_id) if is_storable(run_id) else None
        return _run(row) if row else None

    async def find_by_client_id(self, session_id: str, client_message_id: str) -> Run | None:
        """As `RunStore.find_by_client_id`."""
        row = await self._space.run(self._by_client, session_id, f"={client_message_id}")
        return _run(row) if row else None

    async def active_run(self, session_id: str) -> Run | None:
        """As `RunStore.active_run`."""
        row = await self._space.run(self._active_run, session_id)
        return _run(row) if row else None

    async def active_of_user(self, user_id: str) -> list[Run]:
        """As `RunStore.active_of_user`."""
        return [_run(row) for row in await self._space.run(self._active_of_user, user_id)]

    async def active_agents(self) -> dict[str, frozenset[str]]:
        """As `RunStore.active_agents`."""
        found = await self._space.run(self._active_agents)
        words = [part.decode() for part in found]
        return store.statuses_by_agent(zip(words[::2], words[1::2], strict=True))

    async def request_cancel(self, run_id: str) -> None:
        """As `RunStore.request_cancel`."""
        await self._space.run(self._request_cancel, run_id)

    async def renew(
        self, worker: str, run_ids: Collection[str], lease_until: datetime
    ) -> dict[str, bool]:
        """As `RunStore.renew`."""
        if not run_ids:
            return {}
        found = await self._space.run(self._renew, worker, milliseconds(lease_until), *run_ids)
        words = [part.decode() for part in found]
        return {run_id: flag == "1" for run_id, flag in zip(words[::2], words[1::2], strict=True)}

    async def abandoned(self, at: datetime, *, not_worker: str | None = None) -> list[Run]:
        """As `RunStore.abandoned`."""
        highest = f"({milliseconds(at)}" if not_worker is None else "+inf"
        rows = await self._space.run(self._leased, highest, not_worker or "")
        return sorted(map(_run, rows), key=lambda run: run.created_at)

    async def queued(self, before: datetime, *, limit: int) -> list[Run]:
        """As `RunStore.queued`."""
        rows = await self._space.run(self._queued, limit)
        return [run for run in map(_run, rows) if run.created_at < before]

    # -- events ---------------------------------------------------------------------------------

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        """As `RunStore.append`. A batch sent again is stored once."""
        if not batches:
            return set()
        rows = (
            (b.run_id, b.attempt, b.session_id, b.first_seq, b.last_seq, b"\n".join(b.wires))
            for b in batches
        )
        refused = await self._space.run(self._append, *(part for row in rows for part in row))
        return {run_id.decode() for run_id in refused}

    async def read(self, session_id: str, *, after: int, limit: int = 500) -> list[Entry]:
        """As `RunStore.read`."""
        found: list[Entry] = []
        key = self._space.key("events:", session_id)
        while len(found) < limit:
            page = ("LIMIT", 0, _BATCHES_AT_ONCE)
            members = await self._space.command("ZRANGEBYSCORE", key, f"({after}", "+inf", *page)
            found += _entries(members, after)
            if len(members) < _BATCHES_AT_ONCE:
                break
            after = found[-1].seq
        return found

    async def read_run(self, run_id: str) -> list[Entry]:
        """As `RunStore.read_run`."""
        return _entries(await self._space.run(self._read_run, run_id), 0)

    async def read_runs(self, session_id: str, run_ids: Sequence[str]) -> list[Entry]:
        """As `RunStore.read_runs`, a run at a time."""
        found = [entry for run_id in run_ids for entry in await self.read_run(run_id)]
        return sorted(found, key=lambda entry: entry.seq)

    async def last_seq(self, session_id: str) -> int:
        """As `RunStore.last_seq`."""
        session = self._space.key("session:", session_id)
        return int(await self._space.command("HGET", session, "last_seq") or 0)

    async def last_seqs(self, session_ids: Collection[str]) -> dict[str, int]:
        """As `RunStore.last_seqs`."""
        found = await self._space.run(self._last_seqs, *session_ids)
        rows = zip(session_ids, found, strict=True)
        return {session_id: int(last_seq) for session_id, last_seq in rows if last_seq}

    # -- approvals ------------------------------------------------------------------------------

    async def add_approvals(self, run: Run, approvals: Sequence[Approval]) -> None:
        """As `RunStore.add_approvals`.

        Raises:
            StaleAttempt: the run has ended or a newer attempt owns it.
        """
        parts = [part for each in approvals for part in (each.request_id, _request_json(each))]
        if not await self._space.run(self._set_status, run.run_id, run.attempt, "waiting", *parts):
            raise store.stale_error(run)

    async def approvals(self, run_id: str, *, pending_only: bool = False) -> list[Approval]:
        """As `RunStore.approvals`."""
        requests, decided = await self._space.run(self._approvals, run_id)
        decisions = pairs(decided)
        return store.oldest_first(
            _approval(request, decisions.get(request_id))
            for request_id, request in pairs(requests).items()
            if request_id not in decisions or not pending_only
        )

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> Approval:
        """As `RunStore.decide`."""
        row = None
        if is_storable(request_id):
            written = _decision_json(decision)
            row = await self._space.run(self._decide, run_id, request_id, written)
        stored = _approval(*row) if row else None
        return store.check_decided(stored, run_id, request_id, decision)


# -- values -------------------------------------------------------------------------------------


def _run_fields(run: Run) -> list[Value]:
    values = {each.name: getattr(run, each.name) for each in fields(Run)}
    return fields_of(values | {"input": run.input.to_dict()})


def _lease_score(run: Run) -> Value:
    if run.lease_owner is None:
        return ""
    return "+inf" if run.lease_until is None else milliseconds(run.lease_until)


def _run(row: Iterable[bytes]) -> Run:
    return _run_of(pairs(row))


def _run_of(row: dict[str, bytes]) -> Run:
    status: Any = row["status"].decode()  # Any: a Literal, as it was written
    return Run(
        run_id=row["run_id"].decode(),
        session_id=row["session_id"].decode(),
        user_id=row["user_id"].decode(),
        assistant_id=row["assistant_id"].decode(),
        status=status,
        attempt=int(row["attempt"]),
        created_at=moment(row["created_at"]),
        message_id=row["message_id"].decode(),
        answer_id=row["answer_id"].decode(),
        client_message_id=_text(row.get("client_message_id")),
        started_at=_time(row.get("started_at")),
        ended_at=_time(row.get("ended_at")),
        lease_owner=_text(row.get("lease_owner")),
        lease_until=_time(row.get("lease_until")),
        cancel_requested=row["cancel_requested"] == b"1",
        token_usage=_json(row.get("token_usage")),
        error=_json(row.get("error")),
        input=RunInput.from_dict(orjson.loads(row["input"])),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _time(value: bytes | None) -> datetime | None:
    return None if value is None else moment(value)


def _json(value: bytes | None) -> Any:  # Any: JSON of the field's own shape
    return None if value is None else orjson.loads(value)


def _entries(members: Iterable[bytes], after: int) -> list[Entry]:
    found: list[Entry] = []
    for member in members:
        run_id, first, *wires = member.split(b"\n")
        skip = max(0, after + 1 - int(first))
        found += entries_of(wires[skip:], int(first) + skip, run_id.decode())
        after = max(after, int(first) + len(wires) - 1)
    return found


def _decision_json(decision: Decision) -> bytes:
    return orjson.dumps(store.as_json(decision))


def _request_json(approval: Approval) -> bytes:
    return orjson.dumps(
        {
            "request_id": approval.request_id,
            "run_id": approval.run_id,
            "session_id": approval.session_id,
            "action": approval.action.to_dict(),
            "allowed": approval.allowed,
            "created_at": milliseconds(approval.created_at),
            "expires_at": milliseconds(approval.expires_at),
        }
    )


def _approval(request: bytes, decision: bytes | None) -> Approval:
    stored: dict[str, Any] = orjson.loads(request)
    return Approval(
        request_id=stored["request_id"],
        run_id=stored["run_id"],
        session_id=stored["session_id"],
        action=store.restore_action(stored["request_id"], stored["action"]),
        allowed=tuple(stored["allowed"]),
        created_at=moment(stored["created_at"]),
        expires_at=moment(stored["expires_at"]),
        decision=None if decision is None else Decision.from_dict(orjson.loads(decision)),
    )
