"""Runs, events and approvals in SQLite, PostgreSQL or MySQL/MariaDB.

Each method is one unit of work of `storage.Database`, in few statements, which are built once. The
database enforces the rules: a unique column allows one active run a session, a unique pair makes a
repeated client message one run, and every write of an attempt carries `FENCE`, so that it changes
nothing once the run has ended or a newer attempt owns it. A batch's events are stored as lines
(JSON has no raw newline), so that reading them is a split and not a parse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Connection, Row, bindparam, case, func, insert, or_, select, update
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.exc import IntegrityError

from dataagent_core.hitl import Decision
from dataagent_core.runs import store
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import (
    ACTIVE,
    Approval,
    Batch,
    Ending,
    Entry,
    NewRun,
    OpenedRun,
    Run,
    RunInput,
    RunStatus,
    entries_of,
)
from dataagent_core.session.types import DEFAULT_TITLE, Message, now
from dataagent_core.storage import Database
from dataagent_core.storage.database import is_storable, storable
from dataagent_core.storage.prepared_statement import PreparedStatement
from dataagent_core.storage.tables import (
    UtcTime,
    approvals,
    event_batches,
    messages,
    runs,
    sessions,
)
from dataagent_core.storage.tables import approvals as approvals_table

_SQL_NULL_JSON = JSON(none_as_null=True)
_IS_ACTIVE = or_(*(runs.c.status == status for status in sorted(ACTIVE)))
_IS_RUN = runs.c.run_id == bindparam("key")
FENCE = _IS_RUN & (runs.c.attempt == bindparam("fence")) & _IS_ACTIVE

# -- runs ---------------------------------------------------------------------------------------

_RUN = select(*(runs.c[f.name] for f in fields(Run)))
GET = _RUN.where(_IS_RUN)
ACTIVE_RUN = _RUN.where(runs.c.active_session == bindparam("session_id"))
ACTIVE_OF_USER = _RUN.where(
    runs.c.active_session.is_not(None), runs.c.user_id == bindparam("user_id")
)
_ANSWERS = func.coalesce(runs.c.input["answered_by"].as_string(), runs.c.assistant_id)
ACTIVE_AGENTS = select(_ANSWERS, runs.c.status).where(runs.c.active_session.is_not(None)).distinct()
BY_CLIENT_ID = _RUN.where(
    runs.c.session_id == bindparam("session_id"),
    runs.c.client_message_id == bindparam("client_message_id"),
)
_IS_VISIBLE = sessions.c.deleted_at.is_(None)
FIND = _RUN.join(sessions, sessions.c.session_id == runs.c.session_id).where(_IS_RUN, _IS_VISIBLE)
_VISIBLE_SESSION = (sessions.c.session_id == bindparam("session_id")) & _IS_VISIBLE
SESSION_EXISTS = select(sessions.c.session_id).where(_VISIBLE_SESSION)
SET_TITLE = PreparedStatement(
    update(sessions)
    .where(sessions.c.session_id == bindparam("key"), sessions.c.title == DEFAULT_TITLE)
    .values(title=bindparam("new_title"))
)
INSERT_RUN = PreparedStatement(insert(runs).inline())
INSERT_MESSAGE = PreparedStatement(insert(messages).inline())

CLAIM = (
    update(runs)
    .where(
        _IS_RUN,
        _IS_ACTIVE,
        or_(
            runs.c.status == "queued",
            runs.c.lease_until.is_(None),
            runs.c.lease_until < bindparam("at"),
        ),
    )
    .values(
        status=case((runs.c.status == "queued", "running"), else_=runs.c.status),
        attempt=runs.c.attempt + 1,
        lease_owner=bindparam("worker"),
        lease_until=bindparam("until"),
        started_at=func.coalesce(runs.c.started_at, bindparam("started", type_=UtcTime())),
    )
)
SET_STATUS = (
    update(runs).where(FENCE, runs.c.status != "queued").values(status=bindparam("new_status"))
)
HAND_OVER = update(runs).where(FENCE).values(input=bindparam("new_input", type_=JSON()))
REQUEST_CANCEL = update(runs).where(_IS_RUN, _IS_ACTIVE).values(cancel_requested=True)

_THESE_RUNS = runs.c.run_id.in_(bindparam("run_ids", expanding=True))
_LEASED_TO = runs.c.lease_owner == bindparam("worker")
RENEW = (
    update(runs).where(_THESE_RUNS, _LEASED_TO, _IS_ACTIVE).values(lease_until=bindparam("until"))
)
HELD = select(runs.c.run_id, runs.c.cancel_requested).where(_THESE_RUNS, _LEASED_TO, _IS_ACTIVE)
_LEASED = _RUN.where(_IS_ACTIVE, runs.c.lease_owner.is_not(None)).order_by(runs.c.created_at)
LEASE_ENDED = _LEASED.where(runs.c.lease_until < bindparam("at"))
LEASED_TO_OTHERS = _LEASED.where(runs.c.lease_owner != bindparam("worker"))

QUEUED = (
    _RUN.where(
        runs.c.active_session.is_not(None),
        runs.c.status == "queued",
        runs.c.created_at < bindparam("before"),
    )
    .order_by(runs.c.created_at)
    .limit(bindparam("most"))
)

# -- the end ------------------------------------------------------------------------------------

CLOSE_RUN = PreparedStatement(
    update(runs)
    .where(FENCE)
    .values(
        status=bindparam("new_status"),
        ended_at=bindparam("at"),
        active_session=None,
        lease_owner=None,
        lease_until=None,
        token_usage=bindparam("usage", type_=_SQL_NULL_JSON),
        error=bindparam("failure", type_=_SQL_NULL_JSON),
    )
)
CLOSE_ANSWER = PreparedStatement(
    update(messages)
    .where(messages.c.message_id == bindparam("answer"))
    .values(content=bindparam("text"), status=bindparam("new_status"))
)
TOUCH_SESSION = PreparedStatement(
    update(sessions)
    .where(sessions.c.session_id == bindparam("key"))
    .values(last_active=bindparam("at"), bytes_used=sessions.c.bytes_used + bindparam("more_bytes"))
)
CLOSE_APPROVALS = PreparedStatement(
    update(approvals)
    .where(approvals.c.run_id == bindparam("key"), approvals.c.decided_at.is_(None))
    .values(decision=bindparam("answer"), decided_at=bindparam("at"))
)

# -- events -------------------------------------------------------------------------------------

# shared locks: a takeover or an end waits until the batches judged by this are committed
FENCES = PreparedStatement(
    select(runs.c.run_id, runs.c.attempt)
    .where(_THESE_RUNS, _IS_ACTIVE)
    .order_by(runs.c.run_id)
    .with_for_update(read=True)
)
LAST_SEQ = select(func.max(event_batches.c.last_seq)).where(
    event_batches.c.session_id == bindparam("session_id")
)
# of a visible session, with a shared lock: it is soft-deleted before the run is inserted, or after
OPENED_AFTER = PreparedStatement(
    select(LAST_SEQ.scalar_subquery())
    .where(_VISIBLE_SESSION)
    .with_for_update(read=True, of=sessions)
)
_newest = (  # of each session by its key: a grouped maximum would read all its batches
    select(event_batches.c.last_seq)
    .where(event_batches.c.session_id == sessions.c.session_id)
    .order_by(event_batches.c.last_seq.desc())
    .limit(1)
    .scalar_subquery()
)
LAST_SEQS = select(sessions.c.session_id, _newest).where(
    sessions.c.session_id.in_(bindparam("session_ids", expanding=True)), _IS_VISIBLE
)
_BATCH = select(
    event_batches.c.first_seq,
    event_batches.c.last_seq,
    event_batches.c.run_id,
    event_batches.c.events,
).order_by(event_batches.c.last_seq)
_AFTER = (event_batches.c.session_id == bindparam("session_id")) & (
    event_batches.c.last_seq > bindparam("after")
)
_next = event_batches.alias("next")
_NEXT_SEQ = (
    select(_next.c.first_seq)
    .where(
        _next.c.session_id == bindparam("session_id"),
        _next.c.last_seq > bindparam("after"),
    )
    .order_by(_next.c.last_seq)
    .limit(1)
    .scalar_subquery()
)
# counted from the first batch there is, so that a trimmed beginning does not look like the end
READ = _BATCH.where(_AFTER, event_batches.c.first_seq < _NEXT_SEQ + bindparam("window"))
_ITS_SESSION = select(runs.c.session_id).where(runs.c.run_id == bindparam("run_id"))
# by the session's key: an index of its own would cost every write of running text
READ_RUN = _BATCH.where(
    event_batches.c.session_id == _ITS_SESSION.scalar_subquery(),
    event_batches.c.run_id == bindparam("run_id"),
)

READ_RUNS = _BATCH.where(
    event_batches.c.session_id == bindparam("session_id"),
    event_batches.c.run_id.in_(bindparam("run_ids", expanding=True)),
)

# -- approvals ----------------------------------------------------------------------------------

_APPROVAL = select(
    approvals.c.request_id,
    approvals.c.run_id,
    approvals.c.session_id,
    approvals.c.action,
    approvals.c.allowed,
    approvals.c.created_at,
    approvals.c.expires_at,
    approvals.c.decision,
)
APPROVALS = _APPROVAL.where(approvals.c.run_id == bindparam("key")).order_by(
    approvals.c.created_at, approvals.c.request_id
)
PENDING_APPROVALS = APPROVALS.where(approvals.c.decided_at.is_(None))
_IS_REQUEST = (approvals.c.run_id == bindparam("key")) & (
    approvals.c.request_id == bindparam("request")
)
APPROVAL = _APPROVAL.where(_IS_REQUEST)
DECIDE = (
    update(approvals)
    .where(_IS_REQUEST, approvals.c.decided_at.is_(None))
    .values(decision=bindparam("answer"), decided_at=bindparam("at"))
)


def insert_unless_known(dialect: str, table: Any) -> PreparedStatement:
    """An INSERT that leaves an existing row of the same primary key as it is.

    A writer that lost its connection at the commit may send the same rows again.
    """
    if dialect == "mysql":
        key = next(iter(table.primary_key.columns))
        return PreparedStatement(mysql.insert(table).on_duplicate_key_update({key.name: key}))
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return PreparedStatement(postgresql.insert(table).on_conflict_do_nothing())
    return PreparedStatement(sqlite.insert(table).on_conflict_do_nothing())


_COUNT = select(
    func.sum(case((runs.c.user_id == bindparam("owner"), 1), else_=0)),
    func.sum(case((runs.c.status == "queued", 1), else_=0)),
).where(runs.c.active_session.is_not(None))


def insert_run(connection: Connection, new: NewRun, row: Mapping[str, Any]) -> None:
    """Insert a run, and check the limits of runs after that.

    Counting in the same transaction costs no further wait, and a message that is sent twice is
    still found. Two runs that are inserted at the same moment may both pass.

    Raises:
        TooManyRuns, QueueFull: a limit is exceeded; the transaction must not be committed.
    """
    INSERT_RUN.execute(connection, row)
    if new.limits is None:
        return
    of_user, queued = connection.execute(_COUNT, {"owner": new.user_id}).one()
    new.limits.check_user(int(of_user) - 1)
    if row["status"] == "queued":
        new.limits.check_queue(int(queued) - 1)


AnyRow = Row[*tuple[Any, ...]]


def run_row(run: Run) -> dict[str, Any]:
    """An opened run as it is inserted."""
    return {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "active_session": run.session_id,
        "user_id": run.user_id,
        "assistant_id": run.assistant_id,
        "status": run.status,
        "attempt": run.attempt,
        "message_id": run.message_id,
        "answer_id": run.answer_id,
        "client_message_id": run.client_message_id,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "lease_owner": run.lease_owner,
        "lease_until": run.lease_until,
        "cancel_requested": False,
        "input": run.input.to_dict(),
    }


def run_of(row: AnyRow) -> Run:
    """The run in a row, whose columns are the fields of `Run` in their order."""
    *values, stored_input = row
    return Run(*values, input=RunInput.from_dict(stored_input))


def run_or_none(row: AnyRow | None) -> Run | None:
    """As `run_of`; None without a row."""
    return None if row is None else run_of(row)


def message_row(message: Message) -> dict[str, Any]:
    """A message as it is inserted."""
    return {
        "message_id": message.message_id,
        "session_id": message.session_id,
        "run_id": message.run_id,
        "role": message.role,
        "content": message.content,
        "status": message.status,
        "created_at": message.created_at,
        "metadata": message.metadata,
    }


def batch_row(batch: Batch) -> dict[str, Any]:
    """A stretch of events as it is inserted."""
    return {
        "session_id": batch.session_id,
        "last_seq": batch.last_seq,
        "first_seq": batch.first_seq,
        "run_id": batch.run_id,
        "attempt": batch.attempt,
        "events": b"\n".join(batch.wires).decode(),
    }


def entries_from(rows: Iterable[AnyRow], after: int) -> list[Entry]:
    """The entries of some batches after a `seq`."""
    found: list[Entry] = []
    for row in rows:
        wires = row.events.encode().split(b"\n")
        skip = max(0, after + 1 - row.first_seq)
        found += entries_of(wires[skip:], row.first_seq + skip, row.run_id)
        after = max(after, row.last_seq)
    return found


def approval_row(approval: Approval) -> dict[str, Any]:
    """A request as it is inserted."""
    return {
        "run_id": approval.run_id,
        "request_id": approval.request_id,
        "session_id": approval.session_id,
        "action": approval.action.to_dict(),
        "allowed": list(approval.allowed),
        "created_at": approval.created_at,
        "expires_at": approval.expires_at,
    }


def approval_of(row: AnyRow) -> Approval:
    """The request in a row, with its decision if there is one."""
    return Approval(
        request_id=row.request_id,
        run_id=row.run_id,
        session_id=row.session_id,
        action=store.restore_action(row.request_id, row.action),
        allowed=tuple(row.allowed),
        created_at=row.created_at,
        expires_at=row.expires_at,
        decision=None if row.decision is None else Decision.from_dict(row.decision),
    )


_OPEN_ATTEMPTS = 5


class SqlRunStore(RunStore):
    """Runs in a SQL database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._insert_batch = insert_unless_known(database.dialect, event_batches)
        self._insert_approval = insert_unless_known(database.dialect, approvals_table)

    # -- a run's life ---------------------------------------------------------------------------

    async def open(
        self, new: NewRun, *, worker: str | None, lease_until: datetime | None
    ) -> OpenedRun:
        """As `RunStore.open`."""
        run = store.initial_run(new, worker=worker, lease_until=lease_until)
        unit = _open_unit(new, run)
        for attempt in range(1, _OPEN_ATTEMPTS + 1):
            try:
                last_seq = await self._db.write(unit, is_durable=not self._db.can_settle)
                return OpenedRun(run, last_seq, is_new=True)
            except IntegrityError:
                earlier = await self._db.read(lambda c: _refusal(c, new))
                if earlier is not None:
                    return earlier
                if attempt == _OPEN_ATTEMPTS:  # not a run that ended meanwhile: an id is not fresh
                    raise
        raise AssertionError  # the loop returns or raises

    async def settle(self) -> None:
        """As `RunStore.settle`."""
        await self._db.settle()

    async def claim(
        self, run_id: str, *, worker: str, lease_until: datetime, at: datetime | None = None
    ) -> Run | None:
        """As `RunStore.claim`."""
        values = {"key": run_id, "worker": worker, "until": lease_until, "started": now()}
        values["at"] = at or values["started"]

        def unit(connection: Connection) -> Run | None:
            if not connection.execute(CLAIM, values).rowcount:
                return None
            return run_of(connection.execute(GET, {"key": run_id}).one())

        return await self._db.write(unit)

    async def close(self, run: Run, ending: Ending, last: Batch) -> bool:
        """As `RunStore.close`; the same end written again is True."""
        return await self._db.write(lambda c: _close(c, self._insert_batch, run, ending, last))

    async def set_status(self, run: Run, status: RunStatus) -> bool:
        """As `RunStore.set_status`."""
        values = {"key": run.run_id, "fence": run.attempt, "new_status": status}
        return await self._db.write(lambda c: c.execute(SET_STATUS, values).rowcount > 0)

    async def hand_over(self, run: Run, agent_id: str) -> bool:
        """As `RunStore.hand_over`."""
        noted = replace(run.input, answered_by=agent_id).to_dict()
        values = {"key": run.run_id, "fence": run.attempt, "new_input": noted}
        return await self._db.write(lambda c: c.execute(HAND_OVER, values).rowcount > 0)

    async def get(self, run_id: str) -> Run | None:
        """As `RunStore.get`."""
        if not is_storable(run_id):
            return None
        return await self._db.read(lambda c: run_or_none(c.execute(GET, {"key": run_id}).first()))

    async def find(self, run_id: str) -> Run | None:
        """As `RunStore.find`."""
        if not is_storable(run_id):
            return None
        return await self._db.read(lambda c: run_or_none(c.execute(FIND, {"key": run_id}).first()))

    async def find_by_client_id(self, session_id: str, client_message_id: str) -> Run | None:
        """As `RunStore.find_by_client_id`."""
        values = {"session_id": session_id, "client_message_id": client_message_id}
        return await self._db.read(lambda c: run_or_none(c.execute(BY_CLIENT_ID, values).first()))

    async def active_run(self, session_id: str) -> Run | None:
        """As `RunStore.active_run`."""
        values = {"session_id": session_id}
        return await self._db.read(lambda c: run_or_none(c.execute(ACTIVE_RUN, values).first()))

    async def active_of_user(self, user_id: str) -> list[Run]:
        """As `RunStore.active_of_user`."""
        values = {"user_id": user_id}
        rows = await self._db.read(lambda c: c.execute(ACTIVE_OF_USER, values).all())
        return [run_of(row) for row in rows]

    async def active_agents(self) -> dict[str, frozenset[str]]:
        """As `RunStore.active_agents`."""
        return await self._db.read(
            lambda c: store.statuses_by_agent((row[0], row[1]) for row in c.execute(ACTIVE_AGENTS))
        )

    async def request_cancel(self, run_id: str) -> None:
        """As `RunStore.request_cancel`."""
        await self._db.write(lambda c: c.execute(REQUEST_CANCEL, {"key": run_id}).rowcount)

    async def renew(
        self, worker: str, run_ids: Collection[str], lease_until: datetime
    ) -> dict[str, bool]:
        """As `RunStore.renew`."""
        if not run_ids:
            return {}
        mine = {"worker": worker, "run_ids": sorted(run_ids)}

        def unit(connection: Connection) -> dict[str, bool]:
            connection.execute(RENEW, {**mine, "until": lease_until})
            return {row[0]: bool(row[1]) for row in connection.execute(HELD, mine)}

        return await self._db.write(unit)

    async def abandoned(self, at: datetime, *, not_worker: str | None = None) -> list[Run]:
        """As `RunStore.abandoned`."""
        if not_worker is None:
            statement, values = LEASE_ENDED, {"at": at}
        else:
            statement, values = LEASED_TO_OTHERS, {"worker": not_worker}
        return await self._db.read(lambda c: [run_of(row) for row in c.execute(statement, values)])

    async def queued(self, before: datetime, *, limit: int) -> list[Run]:
        """As `RunStore.queued`."""
        values = {"before": before, "most": limit}
        return await self._db.read(lambda c: [run_of(row) for row in c.execute(QUEUED, values)])

    # -- events ---------------------------------------------------------------------------------

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        """As `RunStore.append`. A batch sent again is stored once."""
        if not batches:
            return set()
        return await self._db.write(
            lambda c: _append(c, self._insert_batch, batches), is_durable=False
        )

    async def read(self, session_id: str, *, after: int, limit: int = 500) -> list[Entry]:
        """As `RunStore.read`."""
        values = {"session_id": session_id, "after": after, "window": limit}
        rows = await self._db.read(lambda c: c.execute(READ, values).all())
        return entries_from(rows, after)

    async def read_run(self, run_id: str) -> list[Entry]:
        """As `RunStore.read_run`."""
        rows = await self._db.read(lambda c: c.execute(READ_RUN, {"run_id": run_id}).all())
        return entries_from(rows, 0)

    async def read_runs(self, session_id: str, run_ids: Sequence[str]) -> list[Entry]:
        """As `RunStore.read_runs`."""
        values = {"session_id": session_id, "run_ids": list(run_ids)}
        rows = await self._db.read(lambda c: c.execute(READ_RUNS, values).all())
        return entries_from(rows, 0)

    async def last_seq(self, session_id: str) -> int:
        """As `RunStore.last_seq`."""
        return await self._db.read(lambda c: _last_seq(c, session_id))

    async def last_seqs(self, session_ids: Collection[str]) -> dict[str, int]:
        """As `RunStore.last_seqs`."""
        values = {"session_ids": list(session_ids)}
        rows = await self._db.read(lambda c: c.execute(LAST_SEQS, values).all())
        return {session_id: last_seq or 0 for session_id, last_seq in rows}

    # -- approvals ------------------------------------------------------------------------------

    async def add_approvals(self, run: Run, approvals: Sequence[Approval]) -> None:
        """As `RunStore.add_approvals`.

        Raises:
            StaleAttempt: the run has ended or a newer attempt owns it.
        """
        rows = [approval_row(approval) for approval in approvals]
        waiting = {"key": run.run_id, "fence": run.attempt, "new_status": "waiting"}

        def unit(connection: Connection) -> None:
            if not connection.execute(SET_STATUS, waiting).rowcount:
                raise store.stale_error(run)
            if rows:
                self._insert_approval.execute(connection, rows)

        await self._db.write(unit)

    async def approvals(self, run_id: str, *, pending_only: bool = False) -> list[Approval]:
        """As `RunStore.approvals`."""
        statement = PENDING_APPROVALS if pending_only else APPROVALS
        return await self._db.read(
            lambda c: [approval_of(row) for row in c.execute(statement, {"key": run_id})]
        )

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> Approval:
        """As `RunStore.decide`."""
        which = {"key": run_id, "request": request_id}
        values = {**which, "answer": store.as_json(decision), "at": now()}

        def unit(connection: Connection) -> Approval | None:
            connection.execute(DECIDE, values)
            row = connection.execute(APPROVAL, which).first()
            return None if row is None else approval_of(row)

        stored = await self._db.write(unit) if is_storable(request_id) else None
        return store.check_decided(stored, run_id, request_id, decision)


# -- the units ----------------------------------------------------------------------------------


def _open_unit(new: NewRun, run: Run) -> Callable[[Connection], int]:
    """The unit that commits run and messages and returns the session's last `seq`.

    The run goes in first: once it is in, no other run can add events behind the number read.
    """
    row = run_row(run)
    messages = [message_row(message) for message in store.initial_messages(new)]

    def unit(connection: Connection) -> int:
        insert_run(connection, new, row)
        INSERT_MESSAGE.execute(connection, messages)
        seen = OPENED_AFTER.rows(connection, {"session_id": new.session_id})
        if not seen:
            raise store.no_session_error(new.session_id)
        if new.title is not None:
            SET_TITLE.execute(connection, {"key": new.session_id, "new_title": new.title})
        return seen[0][0] or 0

    return unit


def _refusal(connection: Connection, new: NewRun) -> OpenedRun | None:
    """Why a run could not be opened: the earlier run, an error, or None if it now could be."""
    session = {"session_id": new.session_id}
    if connection.execute(SESSION_EXISTS, session).first() is None:
        raise store.no_session_error(new.session_id)
    if new.client_message_id is not None:
        same = {**session, "client_message_id": new.client_message_id}
        earlier = run_or_none(connection.execute(BY_CLIENT_ID, same).first())
        if earlier is not None:
            return OpenedRun(earlier, _last_seq(connection, new.session_id), is_new=False)
    active = run_or_none(connection.execute(ACTIVE_RUN, session).first())
    if active is not None:
        raise store.busy_error(new.session_id, active.run_id)
    return None


def _append(
    connection: Connection, insert_batch: PreparedStatement, batches: Sequence[Batch]
) -> set[str]:
    run_ids = sorted({batch.run_id for batch in batches})
    owners = {(row[0], row[1]) for row in FENCES.rows(connection, {"run_ids": run_ids})}
    accepted = [batch for batch in batches if (batch.run_id, batch.attempt) in owners]
    rows = [batch_row(batch) for batch in accepted if batch.wires]
    if rows:
        insert_batch.execute(connection, rows)
    return {batch.run_id for batch in batches if (batch.run_id, batch.attempt) not in owners}


def _close(
    connection: Connection, insert_batch: PreparedStatement, run: Run, ending: Ending, last: Batch
) -> bool:
    end = {
        "key": run.run_id,
        "fence": run.attempt,
        "new_status": ending.status,
        "at": ending.ended_at,
        "usage": ending.token_usage,
        "failure": ending.error,
    }
    if not CLOSE_RUN.execute(connection, end):
        return _is_closed_so(connection, run, ending)
    if last.wires:
        insert_batch.execute(connection, batch_row(last))
    answer = {
        "answer": run.answer_id,
        "text": storable(ending.content),
        "new_status": ending.message_status,
    }
    CLOSE_ANSWER.execute(connection, answer)
    touched = {"key": run.session_id, "at": ending.ended_at, "more_bytes": ending.bytes_used}
    TOUCH_SESSION.execute(connection, touched)
    closing = {
        "key": run.run_id,
        "answer": store.CLOSING_DECISION.to_dict(),
        "at": ending.ended_at,
    }
    CLOSE_APPROVALS.execute(connection, closing)
    return True


def _is_closed_so(connection: Connection, run: Run, ending: Ending) -> bool:
    """Whether this attempt wrote this very end before (its answer was lost on the way)."""
    stored = run_or_none(connection.execute(GET, {"key": run.run_id}).first())
    return stored is not None and store.is_same_end(stored, run, ending)


def _last_seq(connection: Connection, session_id: str) -> int:
    return connection.execute(LAST_SEQ, {"session_id": session_id}).scalar() or 0
