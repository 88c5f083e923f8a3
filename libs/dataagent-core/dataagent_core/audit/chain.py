"""The chain of hashes, and how a break in it is found. Pure.

A row's hash is `sha256(previous_hash + canonical JSON of the row)`, and the row holds its position,
so no row can be changed, taken out, put in or moved without the hashes after it saying so. Whoever
can write to the database could make the whole chain anew: the head that `verify` reports is what to
note down elsewhere against that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

from dataagent_core.audit.types import AuditRecord, AuditRow, ChainVerdict, Head

START = Head(0, "0" * 64)


def canonical(value: Any) -> str:
    """JSON that is the same text for the same value: sorted, without spaces."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # a number with more than 64 bits
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def row_hash(previous_hash: str, position: int, record: AuditRecord) -> str:
    """The hash that binds a record to its place."""
    fields = {
        "position": position,
        "at": record.at.astimezone(UTC).isoformat(timespec="milliseconds"),
        "action": record.action,
        "outcome": record.outcome,
        "user_id": record.user_id,
        "via": record.via,
        "address": record.address,
        "target": record.target,
        "request_id": record.request_id,
        "session_id": record.session_id,
        "run_id": record.run_id,
        "details": record.details,
    }
    text = previous_hash + canonical(fields)
    return hashlib.sha256(text.encode()).hexdigest()


def chain_records(
    head: Head, first_position: int, records: Iterable[AuditRecord]
) -> list[AuditRow]:
    """The records as rows after the head."""
    rows: list[AuditRow] = []
    previous = head.hash
    for position, record in enumerate(records, first_position):
        hashed = row_hash(previous, position, record)
        rows.append(AuditRow(position, record, previous, hashed))
        previous = hashed
    return rows


class ChainVerifier:
    """Goes along the rows in order and stops at the first that is not as it was written."""

    def __init__(self) -> None:
        self._last = START
        self._bad: tuple[int, str] | None = None

    @property
    def is_broken(self) -> bool:
        """Whether a bad row was met."""
        return self._bad is not None

    @property
    def position(self) -> int:
        """The last good position."""
        return self._last.position

    def take(self, rows: Iterable[AuditRow]) -> None:
        """Look at the next rows."""
        for row in rows:
            problem = self._problem(row)
            if problem is not None:
                self._bad = problem
                return
            self._last = Head(row.position, row.hash)

    def verdict(self, head: Head | None) -> ChainVerdict:
        """What was found, given where the log says that it ends."""
        last = self._last
        bad = self._bad or _end_problem(last, head)
        if bad is None:
            return ChainVerdict(last.position, last)
        return ChainVerdict(last.position, last, first_bad=bad[0], problem=bad[1])

    def _problem(self, row: AuditRow) -> tuple[int, str] | None:
        expected = self._last.position + 1
        if row.position > expected:
            return expected, f"row {expected} is missing"
        if row.position < expected:
            return row.position, f"row {row.position} does not belong there"
        if row.previous_hash != self._last.hash:
            return expected, f"row {expected} does not follow from the row before it"
        if row.hash != row_hash(row.previous_hash, row.position, row.record):
            return expected, f"row {expected} was changed"
        return None


def _end_problem(last: Head, head: Head | None) -> tuple[int, str] | None:
    if head is None:
        return None if last == START else (last.position, "the mark of the log's end is missing")
    if head.position > last.position:
        missing = last.position + 1
        return missing, f"row {missing} is missing: the log was cut at its end"
    if head.position < last.position:
        return head.position + 1, f"row {head.position + 1} was inserted after the log's end"
    if head.hash != last.hash:
        return last.position, f"row {last.position} is not the one that was written last"
    return None


def moment(at: datetime | None = None) -> datetime:
    """A time as it can be kept: UTC, whole milliseconds."""
    at = (at or datetime.now(UTC)).astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
