"""Runs, events and approvals in SQLite, PostgreSQL or MySQL/MariaDB.

Each method is one unit of work of `storage.Database`, in few statements (`statements.py`). The
rules are the database's own: a unique column lets one run at a time into a session, a unique pair
makes a repeated client message one run, and the attempt number in each WHERE keeps an older
attempt out. A batch's events are kept as lines (JSON has no raw newline), so that reading them
back is a split and not a parse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from dataagent_core.hitl import Decision
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores import rules
from dataagent_core.runs.stores import statements as sql
from dataagent_core.runs.stores.rows import (
    approval_of,
    approval_row,
    batch_row,
    entries_from,
    message_row,
    run_of,
    run_row,
)
from dataagent_core.runs.stores.run_limits import insert_run
from dataagent_core.runs.types import (
    ANSWERED_BY,
    Approval,
    Batch,
    Ending,
    Entry,
    NewRun,
    OpenedRun,
    Run,
    RunStatus,
)
from dataagent_core.session.types import now
from dataagent_core.storage import Database
from dataagent_core.storage.prepared_statement import PreparedStatement
from dataagent_core.storage.tables import approvals as approvals_table
from dataagent_core.storage.tables import event_batches
from dataagent_core.storage.text import is_storable, storable

_OPEN_ATTEMPTS = 5


class SqlRunStore(RunStore):
    """Runs in a SQL database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._insert_batch = sql.insert_unless_known(database.dialect, event_batches)
        self._insert_approval = sql.insert_unless_known(database.dialect, approvals_table)

    # -- a run's life ---------------------------------------------------------------------------

    async def open(
        self, new: NewRun, *, worker: str | None, lease_until: datetime | None
    ) -> OpenedRun:
        """As `RunStore.open`."""
        run = rules.initial_run(new, worker=worker, lease_until=lease_until)
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
            if not connection.execute(sql.CLAIM, values).rowcount:
                return None
            return Run(*connection.execute(sql.GET, {"key": run_id}).one())

        return await self._db.write(unit)

    async def close(self, run: Run, ending: Ending, last: Batch) -> bool:
        """As `RunStore.close`; the same end written again is True."""
        return await self._db.write(lambda c: _close(c, self._insert_batch, run, ending, last))

    async def set_status(self, run: Run, status: RunStatus) -> bool:
        """As `RunStore.set_status`."""
        values = {"key": run.run_id, "fence": run.attempt, "new_status": status}
        return await self._db.write(lambda c: c.execute(sql.SET_STATUS, values).rowcount > 0)

    async def hand_over(self, run: Run, agent_id: str) -> bool:
        """As `RunStore.hand_over`."""
        noted = {**run.input, ANSWERED_BY: agent_id}
        values = {"key": run.run_id, "fence": run.attempt, "new_input": noted}
        return await self._db.write(lambda c: c.execute(sql.HAND_OVER, values).rowcount > 0)

    async def get(self, run_id: str) -> Run | None:
        """As `RunStore.get`."""
        if not is_storable(run_id):
            return None
        return await self._db.read(lambda c: run_of(c.execute(sql.GET, {"key": run_id}).first()))

    async def find(self, run_id: str) -> Run | None:
        """As `RunStore.find`."""
        if not is_storable(run_id):
            return None
        return await self._db.read(lambda c: run_of(c.execute(sql.FIND, {"key": run_id}).first()))

    async def find_by_client_id(self, session_id: str, client_message_id: str) -> Run | None:
        """As `RunStore.find_by_client_id`."""
        values = {"session_id": session_id, "client_message_id": client_message_id}
        return await self._db.read(lambda c: run_of(c.execute(sql.BY_CLIENT_ID, values).first()))

    async def active_run(self, session_id: str) -> Run | None:
        """As `RunStore.active_run`."""
        values = {"session_id": session_id}
        return await self._db.read(lambda c: run_of(c.execute(sql.ACTIVE_RUN, values).first()))

    async def active_of_user(self, user_id: str) -> list[Run]:
        """As `RunStore.active_of_user`."""
        values = {"user_id": user_id}
        rows = await self._db.read(lambda c: c.execute(sql.ACTIVE_OF_USER, values).all())
        return [Run(*row) for row in rows]

    async def active_agents(self) -> dict[str, frozenset[str]]:
        """As `RunStore.active_agents`."""
        return await self._db.read(
            lambda c: rules.statuses_by_agent(
                (row[0], row[1]) for row in c.execute(sql.ACTIVE_AGENTS)
            )
        )

    async def request_cancel(self, run_id: str) -> None:
        """As `RunStore.request_cancel`."""
        await self._db.write(lambda c: c.execute(sql.REQUEST_CANCEL, {"key": run_id}).rowcount)

    async def renew(
        self, worker: str, run_ids: Collection[str], lease_until: datetime
    ) -> dict[str, bool]:
        """As `RunStore.renew`."""
        if not run_ids:
            return {}
        mine = {"worker": worker, "run_ids": sorted(run_ids)}

        def unit(connection: Connection) -> dict[str, bool]:
            connection.execute(sql.RENEW, {**mine, "until": lease_until})
            return {row[0]: bool(row[1]) for row in connection.execute(sql.HELD, mine)}

        return await self._db.write(unit)

    async def abandoned(self, at: datetime, *, not_worker: str | None = None) -> list[Run]:
        """As `RunStore.abandoned`."""
        if not_worker is None:
            statement, values = sql.LEASE_ENDED, {"at": at}
        else:
            statement, values = sql.LEASED_TO_OTHERS, {"worker": not_worker}
        return await self._db.read(lambda c: [Run(*row) for row in c.execute(statement, values)])

    async def queued(self, before: datetime, *, limit: int) -> list[Run]:
        """As `RunStore.queued`."""
        values = {"before": before, "most": limit}
        return await self._db.read(lambda c: [Run(*row) for row in c.execute(sql.QUEUED, values)])

    # -- events ---------------------------------------------------------------------------------

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        """As `RunStore.append`. A batch sent again is kept once."""
        if not batches:
            return set()
        return await self._db.write(
            lambda c: _append(c, self._insert_batch, batches), is_durable=False
        )

    async def read(self, session_id: str, *, after: int, limit: int = 500) -> list[Entry]:
        """As `RunStore.read`."""
        values = {"session_id": session_id, "after": after, "window": limit}
        rows = await self._db.read(lambda c: c.execute(sql.READ, values).all())
        return entries_from(rows, after)

    async def read_run(self, run_id: str) -> list[Entry]:
        """As `RunStore.read_run`."""
        rows = await self._db.read(lambda c: c.execute(sql.READ_RUN, {"run_id": run_id}).all())
        return entries_from(rows, 0)

    async def read_runs(self, session_id: str, run_ids: Sequence[str]) -> list[Entry]:
        """As `RunStore.read_runs`."""
        values = {"session_id": session_id, "run_ids": list(run_ids)}
        rows = await self._db.read(lambda c: c.execute(sql.READ_RUNS, values).all())
        return entries_from(rows, 0)

    async def last_seq(self, session_id: str) -> int:
        """As `RunStore.last_seq`."""
        return await self._db.read(lambda c: _last_seq(c, session_id))

    async def last_seqs(self, session_ids: Collection[str]) -> dict[str, int]:
        """As `RunStore.last_seqs`."""
        values = {"session_ids": list(session_ids)}
        rows = await self._db.read(lambda c: c.execute(sql.LAST_SEQS, values).all())
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
            if not connection.execute(sql.SET_STATUS, waiting).rowcount:
                raise rules.stale_error(run)
            if rows:
                self._insert_approval.execute(connection, rows)

        await self._db.write(unit)

    async def approvals(self, run_id: str, *, pending_only: bool = False) -> list[Approval]:
        """As `RunStore.approvals`."""
        statement = sql.PENDING_APPROVALS if pending_only else sql.APPROVALS
        return await self._db.read(
            lambda c: [approval_of(row) for row in c.execute(statement, {"key": run_id})]
        )

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> Approval:
        """As `RunStore.decide`."""
        which = {"key": run_id, "request": request_id}
        values = {**which, "answer": rules.as_json(decision), "at": now()}

        def unit(connection: Connection) -> Approval | None:
            connection.execute(sql.DECIDE, values)
            row = connection.execute(sql.APPROVAL, which).first()
            return None if row is None else approval_of(row)

        kept = await self._db.write(unit) if is_storable(request_id) else None
        return rules.check_decided(kept, run_id, request_id, decision)


# -- the units ----------------------------------------------------------------------------------


def _open_unit(new: NewRun, run: Run) -> Callable[[Connection], int]:
    """The unit that commits run and messages and returns the session's last `seq`.

    The run goes in first: once it is in, no other run can add events behind the number read.
    """
    row = run_row(run)
    messages = [message_row(message) for message in rules.initial_messages(new)]

    def unit(connection: Connection) -> int:
        insert_run(connection, new, row)
        sql.INSERT_MESSAGE.execute(connection, messages)
        seen = sql.OPENED_AFTER.rows(connection, {"session_id": new.session_id})
        if not seen:
            raise rules.no_session_error(new.session_id)
        if new.title is not None:
            sql.SET_TITLE.execute(connection, {"key": new.session_id, "new_title": new.title})
        return seen[0][0] or 0

    return unit


def _refusal(connection: Connection, new: NewRun) -> OpenedRun | None:
    """Why a run could not be opened: the earlier run, an error, or None if it now could be."""
    session = {"session_id": new.session_id}
    if connection.execute(sql.SESSION_EXISTS, session).first() is None:
        raise rules.no_session_error(new.session_id)
    if new.client_message_id is not None:
        same = {**session, "client_message_id": new.client_message_id}
        earlier = run_of(connection.execute(sql.BY_CLIENT_ID, same).first())
        if earlier is not None:
            return OpenedRun(earlier, _last_seq(connection, new.session_id), is_new=False)
    active = run_of(connection.execute(sql.ACTIVE_RUN, session).first())
    if active is not None:
        raise rules.busy_error(new.session_id, active.run_id)
    return None


def _append(
    connection: Connection, insert_batch: PreparedStatement, batches: Sequence[Batch]
) -> set[str]:
    run_ids = sorted({batch.run_id for batch in batches})
    owners = {(row[0], row[1]) for row in sql.FENCES.rows(connection, {"run_ids": run_ids})}
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
    if not sql.CLOSE_RUN.execute(connection, end):
        return _is_closed_so(connection, run, ending)
    if last.wires:
        insert_batch.execute(connection, batch_row(last))
    answer = {
        "answer": run.answer_id,
        "text": storable(ending.content),
        "new_status": ending.message_status,
    }
    sql.CLOSE_ANSWER.execute(connection, answer)
    touched = {"key": run.session_id, "at": ending.ended_at, "more_bytes": ending.bytes_used}
    sql.TOUCH_SESSION.execute(connection, touched)
    closing = {
        "key": run.run_id,
        "answer": rules.CLOSING_DECISION.to_dict(),
        "at": ending.ended_at,
    }
    sql.CLOSE_APPROVALS.execute(connection, closing)
    return True


def _is_closed_so(connection: Connection, run: Run, ending: Ending) -> bool:
    """Whether this attempt wrote this very end before (its answer was lost on the way)."""
    kept = run_of(connection.execute(sql.GET, {"key": run.run_id}).first())
    return kept is not None and rules.is_same_end(kept, run, ending)


def _last_seq(connection: Connection, session_id: str) -> int:
    return connection.execute(sql.LAST_SEQ, {"session_id": session_id}).scalar() or 0
