"""Runs, events and approvals in Redis, beside the sessions under the same prefix.

Each method is one command or one Lua script (`redis_scripts.py`), so it happens as a whole or not
at all. A batch is a member of the session's sorted set, `run_id`, `first_seq` and the wire forms
as lines, with its `last_seq` as the score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import orjson

from dataagent_core.hitl import Decision
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores import redis_scripts as scripts
from dataagent_core.runs.stores import rules
from dataagent_core.runs.types import (
    ANSWERED_BY,
    Approval,
    Batch,
    ConcurrencyLimits,
    Ending,
    Entry,
    NewRun,
    OpenedRun,
    Run,
    RunStatus,
    entries_of,
)
from dataagent_core.session.stores.redis import message_fields
from dataagent_core.session.types import DEFAULT_TITLE, now
from dataagent_core.storage.redis import (
    RedisSpace,
    Value,
    fields_of,
    milliseconds,
    moment,
    pairs,
)
from dataagent_core.storage.text import is_storable, storable

_BATCHES_AT_ONCE = 64


class RedisRunStore(RunStore):
    """Runs in Redis."""

    def __init__(self, space: RedisSpace) -> None:
        self._space = space
        self._open = space.script(scripts.OPEN)
        self._claim = space.script(scripts.CLAIM)
        self._append = space.script(scripts.APPEND)
        self._close = space.script(scripts.CLOSE)
        self._set_status = space.script(scripts.SET_STATUS)
        self._hand_over = space.script(scripts.HAND_OVER)
        self._request_cancel = space.script(scripts.REQUEST_CANCEL)
        self._renew = space.script(scripts.RENEW)
        self._leased = space.script(scripts.LEASED)
        self._find = space.script(scripts.FIND)
        self._by_client = space.script(scripts.BY_CLIENT)
        self._queued = space.script(scripts.QUEUED)
        self._last_seqs = space.script(scripts.LAST_SEQS)
        self._active_run = space.script(scripts.ACTIVE_RUN)
        self._active_of_user = space.script(scripts.ACTIVE_OF_USER)
        self._active_agents = space.script(scripts.ACTIVE_AGENTS)
        self._read_run = space.script(scripts.READ_RUN)
        self._approvals = space.script(scripts.APPROVALS)
        self._decide = space.script(scripts.DECIDE)

    # -- a run's life ---------------------------------------------------------------------------

    async def open(
        self, new: NewRun, *, worker: str | None, lease_until: datetime | None
    ) -> OpenedRun:
        """As `RunStore.open`."""
        run = rules.initial_run(new, worker=worker, lease_until=lease_until)
        client = "" if new.client_message_id is None else f"={new.client_message_id}"
        hashes = [_run_fields(run), *map(message_fields, rules.initial_messages(new))]
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
                raise rules.busy_error(new.session_id, rest[0].decode())
            case b"crowded":
                raise limits.user_limit_error(int(rest[0]))
            case b"full":
                raise limits.queue_full_error(int(rest[0]))
            case _:
                raise rules.no_session_error(new.session_id)

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
            _decision_json(rules.CLOSING_DECISION),
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
        noted = orjson.dumps({**run.input, ANSWERED_BY: agent_id})
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
        return rules.statuses_by_agent(zip(words[::2], words[1::2], strict=True))

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
        """As `RunStore.append`. A batch sent again is kept once."""
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
        told = zip(session_ids, found, strict=True)
        return {session_id: int(last_seq) for session_id, last_seq in told if last_seq}

    # -- approvals ------------------------------------------------------------------------------

    async def add_approvals(self, run: Run, approvals: Sequence[Approval]) -> None:
        """As `RunStore.add_approvals`.

        Raises:
            StaleAttempt: the run has ended or a newer attempt owns it.
        """
        parts = [part for each in approvals for part in (each.request_id, _request_json(each))]
        if not await self._space.run(self._set_status, run.run_id, run.attempt, "waiting", *parts):
            raise rules.stale_error(run)

    async def approvals(self, run_id: str, *, pending_only: bool = False) -> list[Approval]:
        """As `RunStore.approvals`."""
        asked, decided = await self._space.run(self._approvals, run_id)
        decisions = pairs(decided)
        return rules.oldest_first(
            _approval(request, decisions.get(request_id))
            for request_id, request in pairs(asked).items()
            if request_id not in decisions or not pending_only
        )

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> Approval:
        """As `RunStore.decide`."""
        row = None
        if is_storable(request_id):
            written = _decision_json(decision)
            row = await self._space.run(self._decide, run_id, request_id, written)
        kept = _approval(*row) if row else None
        return rules.check_decided(kept, run_id, request_id, decision)


# -- values -------------------------------------------------------------------------------------


def _run_fields(run: Run) -> list[Value]:
    return fields_of({f.name: getattr(run, f.name) for f in fields(Run)})


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
        input=orjson.loads(row["input"]),
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
    return orjson.dumps(rules.as_json(decision))


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
    kept: dict[str, Any] = orjson.loads(request)
    return Approval(
        request_id=kept["request_id"],
        run_id=kept["run_id"],
        session_id=kept["session_id"],
        action=rules.restore_action(kept["request_id"], kept["action"]),
        allowed=tuple(kept["allowed"]),
        created_at=moment(kept["created_at"]),
        expires_at=moment(kept["expires_at"]),
        decision=None if decision is None else Decision.from_dict(orjson.loads(decision)),
    )
