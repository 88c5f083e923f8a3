"""The audit log: records of what was done, for administrators to read and verify.

`record` returns when the row is in the database: logins and what administrators do. `note` returns
at once: tool calls, statements, decisions of a turn; notes are written together within half a
second. Neither fails its caller: a failed write is retried, a lost record is logged and counted.

Positions are 1, 2, 3 … without a gap across processes: appending locks the head's row (on SQLite
the whole database), reads it, writes the rows after it and moves it, in one transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypedDict, Unpack

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.audit.records import (
    START,
    AuditFilter,
    AuditOutcome,
    AuditRecord,
    AuditRow,
    ChainVerdict,
    ChainVerifier,
    Details,
    Head,
    chain_records,
    column,
    details_json,
    moment,
)
from dataagent_core.errors import Unavailable
from dataagent_core.storage import Database
from dataagent_core.storage.tables import audit_head, audit_log
from dataagent_core.telemetry import Scrubber, current_context

_CHAIN = "main"
_PAGE = 1_000
_TRIES = 5
_HEAD = select(audit_head).where(audit_head.c.chain == _CHAIN)
_LOCKED_HEAD = _HEAD.with_for_update()
_LAST = select(func.max(audit_log.c.position))
_MOVE_HEAD = update(audit_head).where(audit_head.c.chain == _CHAIN)
_IN_ORDER = select(audit_log).order_by(audit_log.c.position)
_NEWEST = select(audit_log).order_by(audit_log.c.position.desc())


class AuditStore:
    """The rows."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def append(self, records: Sequence[AuditRecord], *, is_durable: bool = True) -> int:
        """Add records at the end; the last position.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        for _ in range(_TRIES - 1):
            try:
                return await self._db.write(lambda c: _append(c, records), is_durable=is_durable)
            except IntegrityError:  # another process made the head's row in this moment
                continue
        return await self._db.write(lambda c: _append(c, records), is_durable=is_durable)

    async def list(
        self, wanted: AuditFilter, *, limit: int, offset: int
    ) -> tuple[list[AuditRow], int]:
        """A page of the rows that fit, the newest first, and how many fit."""
        return await self._db.read(lambda c: _list(c, wanted, limit, offset))

    async def pages(self, wanted: AuditFilter) -> AsyncGenerator[list[AuditRow]]:
        """All rows that fit and are there now, in their order, a page at a time."""
        last = await self._db.read(lambda c: c.execute(_LAST).scalar()) or 0
        after = 0
        while rows := await self._db.read(partial(_fitting, wanted=wanted, after=after, last=last)):
            yield rows
            after = rows[-1].position

    async def verify(self) -> ChainVerdict:
        """Verify the whole chain, a page at a time; rows may be added meanwhile."""
        walk = ChainVerifier()
        while True:
            rows, head = await self._db.read(lambda c: _page(c, walk.position))
            walk.take(rows)
            is_behind = head is not None and head.position > walk.position
            if walk.is_broken or not rows or (len(rows) < _PAGE and not is_behind):
                return walk.verdict(head)


def _append(connection: Connection, records: Sequence[AuditRecord]) -> int:
    head = _head(connection.execute(_LOCKED_HEAD).first())
    if head is None:
        head = _first_head(connection)
    # a row inserted after the end by other means must not block writing
    last = connection.execute(_LAST).scalar() or 0
    rows = chain_records(head, max(head.position, last) + 1, records)
    connection.execute(insert(audit_log), [_values(row) for row in rows])
    connection.execute(_MOVE_HEAD.values(position=rows[-1].position, hash=rows[-1].hash))
    return rows[-1].position


def _first_head(connection: Connection) -> Head:
    """Make the head's row: at the last row, if the mark alone was lost."""
    newest = connection.execute(_NEWEST.limit(1)).first()
    head = START if newest is None else Head(newest.position, newest.hash)
    values = {"chain": _CHAIN, "position": head.position, "hash": head.hash}
    connection.execute(insert(audit_head).values(values))
    return head


def _page(connection: Connection, after: int) -> tuple[list[AuditRow], Head | None]:
    """Rows after a position, then the head: it is never behind rows that were read before it."""
    found = connection.execute(_IN_ORDER.where(audit_log.c.position > after).limit(_PAGE))
    rows = [_row(each) for each in found]
    return rows, _head(connection.execute(_HEAD).first())


def _fitting(connection: Connection, wanted: AuditFilter, after: int, last: int) -> list[AuditRow]:
    between = (audit_log.c.position > after, audit_log.c.position <= last)
    found = connection.execute(_IN_ORDER.where(*between, *_conditions(wanted)).limit(_PAGE))
    return [_row(each) for each in found]


def _list(
    connection: Connection, wanted: AuditFilter, limit: int, offset: int
) -> tuple[list[AuditRow], int]:
    conditions = _conditions(wanted)
    count = select(func.count()).select_from(audit_log).where(*conditions)
    found = connection.execute(_NEWEST.where(*conditions).limit(limit).offset(offset))
    return [_row(each) for each in found], connection.execute(count).scalar() or 0


def _conditions(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    equal = {
        audit_log.c.user_id: wanted.user_id,
        audit_log.c.action: wanted.action,
        audit_log.c.outcome: wanted.outcome,
        audit_log.c.run_id: wanted.run_id,
    }
    conditions = [column == value for column, value in equal.items() if value is not None]
    if wanted.since is not None:
        conditions.append(audit_log.c.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(audit_log.c.at <= wanted.until)
    return conditions


def _head(row: Row[Any] | None) -> Head | None:
    return None if row is None else Head(row.position, row.hash)


def _values(row: AuditRow) -> dict[str, Any]:
    record = row.record
    return {
        "position": row.position,
        "at": record.at,
        "user_id": record.user_id,
        "via": record.via,
        "address": record.address,
        "action": record.action,
        "target": record.target,
        "outcome": record.outcome,
        "request_id": record.request_id,
        "session_id": record.session_id,
        "run_id": record.run_id,
        "details": record.details,
        "previous_hash": row.previous_hash,
        "hash": row.hash,
    }


def _row(row: Row[Any]) -> AuditRow:
    record = AuditRecord(
        at=row.at,
        action=row.action,
        outcome=row.outcome,
        user_id=row.user_id,
        via=row.via,
        address=row.address,
        target=row.target,
        request_id=row.request_id,
        session_id=row.session_id,
        run_id=row.run_id,
        details=row.details,
    )
    return AuditRow(row.position, record, row.previous_hash, row.hash)


logger = logging.getLogger(__name__)
_MOST_WAITING = 10_000
_MOST_TOGETHER = 500
_FLUSH_SECONDS = 0.5
_LAST_TRIES = 3


class AuditContext(TypedDict, total=False):
    """Who did it, from where, in which run, to what."""

    user_id: str | None
    via: str | None
    address: str | None
    target: str | None
    request_id: str | None
    session_id: str | None
    run_id: str | None


class AuditLog:
    """Reports go in, rows come out."""

    def __init__(
        self,
        database: Database,
        scrubber: Scrubber | None = None,
        *,
        on_lost: Callable[[int], None] | None = None,
        flush_seconds: float = _FLUSH_SECONDS,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        """`on_lost` is called with the number of records that could not be stored."""
        self._store = AuditStore(database)
        self._scrubber = scrubber or Scrubber()
        self._on_lost = on_lost
        self._flush_seconds = flush_seconds
        self._most_waiting = most_waiting
        self._waiting: deque[AuditRecord] = deque()
        self._has_waiting = asyncio.Event()
        self._closing = asyncio.Event()
        self._writing = asyncio.Lock()
        self._lost = 0
        self._flusher: asyncio.Task[None] | None = None

    # -- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to write notes."""
        self._flusher = asyncio.create_task(self._flush_loop(), name="audit")

    async def aclose(self) -> None:
        """Write what waits and stop."""
        self._closing.set()
        self._has_waiting.set()
        if self._flusher is not None:  # not cancelled: what it is writing would be written twice
            await self._flusher
        for _ in range(_LAST_TRIES):
            if await self.flush():
                return
            await asyncio.sleep(self._flush_seconds)
        self._count_lost(len(self._waiting), "the database does not answer")
        self._waiting.clear()

    # -- reporting ------------------------------------------------------------------------------

    async def record(
        self,
        action: str,
        outcome: AuditOutcome,
        *,
        details: Details | None = None,
        **who: Unpack[AuditContext],
    ) -> None:
        """Store a record and return when it is stored; `who` as in `note`.

        If the database does not answer, it waits with the notes.
        """
        made = self._build_record(action, outcome, details, who)
        try:
            await self._store.append([made])
        except Unavailable:
            self._enqueue(made)
        except Exception:
            logger.exception("an audit record could not be written")
            self._count_lost(1, "a write failed")

    def note(
        self,
        action: str,
        outcome: AuditOutcome,
        *,
        details: Details | None = None,
        **who: Unpack[AuditContext],
    ) -> None:
        """Keep what happened, soon.

        `who`: `user_id`, `via`, `address`, `request_id`, `run_id`, which are taken from the work
        under way where they are not given; `session_id` and `target`.
        """
        self._enqueue(self._build_record(action, outcome, details, who))

    def _build_record(
        self, action: str, outcome: AuditOutcome, details: Details | None, who: AuditContext
    ) -> AuditRecord:
        known = current_context()
        target = who.get("target")
        return AuditRecord(
            at=moment(),
            action=column(action, 64) or "",
            outcome=outcome,
            user_id=column(who.get("user_id") or known.user_id, 64),
            via=column(who.get("via") or known.via, 16),
            address=column(who.get("address") or known.address, 64),
            target=None if target is None else column(self._scrubber.text(str(target)), 255),
            request_id=column(who.get("request_id") or known.request_id, 64),
            session_id=column(who.get("session_id"), 64),
            run_id=column(who.get("run_id") or known.run_id, 64),
            details=details_json(details or {}, self._scrubber),
        )

    def _enqueue(self, record: AuditRecord) -> None:
        if len(self._waiting) >= self._most_waiting:
            self._count_lost(1, "too many wait for the database")
            return
        self._waiting.append(record)
        self._has_waiting.set()

    def _count_lost(self, count: int, why: str) -> None:
        if not count:
            return
        if self._on_lost is not None:
            self._on_lost(count)
        self._lost += count
        if self._lost == count or self._lost % 1_000 < count:  # a flood must not flood the log
            logger.error("audit records were lost: %s", why, extra={"lost": self._lost})

    # -- writing --------------------------------------------------------------------------------

    async def _flush_loop(self) -> None:
        while not self._closing.is_set():
            await self._has_waiting.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._flush_seconds):
                    await self._closing.wait()
            self._has_waiting.clear()
            if not await self.flush():
                self._has_waiting.set()

    async def flush(self) -> bool:
        """Write what waits; False if the database does not answer and it goes on waiting."""
        async with self._writing:
            return await self._flush()

    async def _flush(self) -> bool:
        while self._waiting:
            together = [self._waiting[i] for i in range(min(len(self._waiting), _MOST_TOGETHER))]
            try:
                await self._store.append(together, is_durable=False)
            except Unavailable:
                logger.warning("the audit log waits for its database")
                return False
            except Exception:
                logger.exception("%d audit records could not be written", len(together))
                self._count_lost(len(together), "a write failed")
            for _ in together:
                self._waiting.popleft()
        return True

    # -- reading --------------------------------------------------------------------------------

    async def list(
        self, wanted: AuditFilter | None = None, *, limit: int = 100, offset: int = 0
    ) -> tuple[list[AuditRow], int]:
        """A page of the rows that fit, the newest first, and how many fit."""
        return await self._store.list(wanted or AuditFilter(), limit=limit, offset=offset)

    def pages(self, wanted: AuditFilter | None = None) -> AsyncGenerator[list[AuditRow]]:
        """All rows that fit and are there now, the oldest first, a page at a time.

        Raises:
            StorageUnavailable: the database stopped answering; what came so far is not all.
        """
        return self._store.pages(wanted or AuditFilter())

    async def verify(self) -> ChainVerdict:
        """Whether every row is as it was written, and if not, the first that is not."""
        return await self._store.verify()
