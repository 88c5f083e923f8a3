"""The audit log's rows in the database: appended in order, read, never changed.

Positions are 1, 2, 3 … without a gap, whichever process writes: appending takes the lock of the
head's row (the whole database, on SQLite), reads it, writes the rows after it and moves it, in one
transaction. Above: `log.py`. Below: `storage/`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.audit.chain import START, ChainVerifier, chain_records
from dataagent_core.audit.types import AuditFilter, AuditRecord, AuditRow, ChainVerdict, Head
from dataagent_core.storage import Database
from dataagent_core.storage.people import audit_head, audit_log

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
        """Walk along the whole chain, a page at a time; rows may be added meanwhile."""
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
    # a row that somebody else put after the end must not keep us from writing
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
