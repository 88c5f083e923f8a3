"""Audit records and the chain of hashes over them.

A row's hash is `sha256(previous_hash + canonical JSON of the row)`, and the row holds its position,
so no row can be changed, removed, inserted or moved without a mismatch in the hashes after it. With
write access to the database the whole chain could be made anew; against that, store the head that
`verify` reports elsewhere. A record's text is cut to its column, made storable and scrubbed of
secrets; long values are cut before they are searched, with a margin so that no half of a secret
stays at the cut.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

import orjson

from dataagent_core.storage.database import storable
from dataagent_core.telemetry.logs import MASK, Scrubber

AuditOutcome = Literal["success", "denied", "failed"]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A record to store: scrubbed, and no longer than its columns."""

    at: datetime
    action: str  # login, create_user, tool.call, sql.query, approval.decide, …
    outcome: AuditOutcome
    user_id: str | None
    via: str | None
    address: str | None
    target: str | None
    request_id: str | None
    session_id: str | None
    run_id: str | None
    details: str  # canonical JSON


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A record in its place in the chain."""

    position: int
    record: AuditRecord
    previous_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows to read; None matches any value."""

    user_id: str | None = None
    action: str | None = None
    outcome: str | None = None
    run_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log ends."""

    position: int
    hash: str


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """The result of verifying the chain."""

    checked: int  # rows that are as they were written
    head: Head
    first_bad: int | None = None  # the first position that is not
    problem: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing was changed, removed, inserted or reordered."""
        return self.first_bad is None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "whole": self.is_whole,
            "checked": self.checked,
            "position": self.head.position,
            "hash": self.head.hash,
            "first_bad": self.first_bad,
            "problem": self.problem,
        }


Details = Mapping[str, Any]  # Any: what an action has to say differs by action


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
    """A time as stored: UTC, whole milliseconds."""
    at = (at or datetime.now(UTC)).astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


MOST_TEXT = 300
MOST_STATEMENT = 8_000
_MOST_ITEMS = 30
_MOST_DEPTH = 4
_MOST_DETAILS = 16_000
_LONGEST_SECRET = 1_024
_CUT = "…"


def column(text: str | None, width: int) -> str | None:
    """Text as a column of that width keeps it."""
    if text is None:
        return None
    return storable(text)[:width]


def details_json(details: Mapping[str, Any], scrubber: Scrubber) -> str:
    """The details as canonical JSON, scrubbed and bounded."""
    text = canonical(_bounded(details, scrubber, "", 0))
    if len(text) <= _MOST_DETAILS:
        return text
    return canonical({"cut": text[:_MOST_TEXT_OF_CUT] + _CUT})


_MOST_TEXT_OF_CUT = _MOST_DETAILS // 4  # escaping may make it longer


def _bounded(value: Any, scrubber: Scrubber, name: str, depth: int) -> Any:
    match value:
        case str():
            return _text(value, scrubber, name)
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping() if depth < _MOST_DEPTH:
            # of any shape
            return _fields(value, scrubber, depth)  # pyright: ignore[reportUnknownArgumentType]
        case list() | tuple() if depth < _MOST_DEPTH:
            items = cast("Sequence[object]", value)  # of any shape
            shown = [_bounded(item, scrubber, name, depth + 1) for item in items[:_MOST_ITEMS]]
            return [*shown, _CUT] if len(items) > _MOST_ITEMS else shown
        case _:
            return f"({type(value).__name__})"


def _fields(value: Mapping[Any, Any], scrubber: Scrubber, depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, item in list(value.items())[:_MOST_ITEMS]:
        name = storable(str(key))[:64]
        if item and scrubber.hides(name):  # whatever it looks like
            shown[name] = MASK
        else:
            shown[name] = _bounded(item, scrubber, name, depth + 1)
    if len(value) > _MOST_ITEMS:
        shown[_CUT] = len(value) - _MOST_ITEMS
    return shown


def _text(value: str, scrubber: Scrubber, name: str) -> str:
    most = MOST_STATEMENT if name == "statement" else MOST_TEXT
    scrubbed = storable(scrubber.text(value[: most + _LONGEST_SECRET]))
    return scrubbed if len(scrubbed) <= most else scrubbed[:most] + _CUT
