"""Columns whose values arrive as Python objects: SQLite's and those of the generic engine.

The kinds of the values decide, not the declaration: whole numbers stay whole, whole and broken ones
together become floats only if no digit is lost, and a column that truly mixes kinds becomes text,
in which numbers are written as Python writes them, binary as SQL's `X'…'` and nested values as
JSON. A declaration speaks for columns without values, and lets text that looks like a date
throughout become dates. Above: `columns.py`. Below: Arrow.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from dataagent_core.data.arrow import pa, pc
from dataagent_core.data.engines.columns import ColumnBuilder
from dataagent_core.data.engines.text_columns import decimal_type

Kinds = frozenset[type]

_ARROW: dict[type, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    bool: pa.bool_(),
    date: pa.date32(),
    time: pa.time64("us"),
}
_NULL = frozenset({type(None)})
_WORDS: Kinds = frozenset({str})
_BYTES: Kinds = frozenset({bytes})
_WHOLE: Kinds = frozenset({int})
_NUMBERS: Kinds = frozenset({int, float})
_MOMENTS: Kinds = frozenset({datetime})
_ZONED = pa.timestamp("us", tz="UTC")
_NAIVE = pa.timestamp("us")
_FORMS = {  # the shortest and longest text of each: a day alone is not a moment
    pa.date32(): (len("2020-01-01"), len("2020-01-01")),
    _NAIVE: (len("2020-01-01 00:00:00"), len("2020-01-01 00:00:00.000000")),
}
_DATED = re.compile(r"date|timestamp", re.IGNORECASE)
_BROKEN = re.compile(r"\(\s*\d+\s*,\s*[1-9]|real|floa|doub", re.IGNORECASE)  # NUMERIC(10,2)
_DECLARED = (  # SQLite's rules for an affinity, in their order
    (re.compile(r"int", re.IGNORECASE), pa.int64()),
    (re.compile(r"char|clob|text", re.IGNORECASE), pa.string()),
    (re.compile(r"blob", re.IGNORECASE), pa.binary()),
    (re.compile(r"real|floa|doub|num|dec", re.IGNORECASE), pa.float64()),
)


class ValueColumn(ColumnBuilder):
    """A column of Python objects. `declared` is the type its table gives it, if any."""

    def __init__(self, declared: str = "") -> None:
        self._declared = declared
        self._kinds: Kinds = frozenset()
        self._refused: set[pa.DataType] = set()
        self._is_settled = False
        self.type = self._without_values()

    def fit(self, values: Sequence[Any]) -> pa.Array | None:  # Any: whatever a database holds
        """The values as `type`; None if one of them does not fit."""
        kinds = self._kinds | _kinds(values)
        if kinds != self._kinds:
            if self.type != next(self._options(kinds, values)):
                return None
            self._kinds = kinds  # another kind that the type holds as well
        return _encoded(values, self.type, kinds)

    def widen(self, values: Sequence[Any]) -> None:  # Any: as above
        """The first type that fits: these values, and the kinds of all before them."""
        kinds = self._kinds | _kinds(values)
        if kinds == self._kinds:
            self._refused.add(self.type)
        self._kinds = kinds
        for option in self._options(kinds, values):
            if option not in self._refused and _encoded(values, option, kinds) is not None:
                self.type = option
                return

    def settle(self) -> None:
        """Text, unless every value is binary."""
        self._is_settled = True
        self.type = pa.binary() if self._kinds == _BYTES else pa.string()

    def _without_values(self) -> pa.DataType:
        for pattern, kind in _DECLARED:
            if pattern.search(self._declared):
                return kind
        return pa.string()

    def _options(self, kinds: Kinds, values: Sequence[Any]) -> Iterator[pa.DataType]:
        """The types to try, the narrowest first. The last one fits everything."""
        if not self._is_settled:
            yield from self._narrow(kinds, values)
        yield pa.binary() if kinds == _BYTES else pa.string()

    def _narrow(self, kinds: Kinds, values: Sequence[Any]) -> Iterator[pa.DataType]:
        if not kinds:
            yield self._without_values()
        elif kinds == _WORDS and _DATED.search(self._declared):
            yield from _FORMS
        elif kinds == _NUMBERS or (kinds == _WHOLE and _BROKEN.search(self._declared)):
            yield from (pa.float64(), *([pa.int64()] if kinds == _WHOLE else []))
        elif kinds == _MOMENTS:
            yield from (_NAIVE, _ZONED)
        elif kinds <= {Decimal, int} and Decimal in kinds:
            kind = decimal_type(pa.array([_text(value) for value in values], pa.string()))
            yield from [] if kind is None else [kind]
        elif len(kinds) == 1:
            yield from [_ARROW[kind] for kind in kinds if kind in _ARROW]


def _kinds(values: Sequence[Any]) -> Kinds:
    return frozenset(set(map(type, values)) - _NULL)


def _encoded(values: Sequence[Any], kind: pa.DataType, kinds: Kinds) -> pa.Array | None:
    try:
        if kind in _FORMS and kinds == _WORDS:
            return _dated(pa.array(values, pa.string()), kind)
        if kinds == _MOMENTS and pa.types.is_timestamp(kind):
            return _timed(values, kind)
        if pa.types.is_string(kind) and not kinds <= {str}:
            return pa.array([_text(value) for value in values], kind)
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError):
        return None


def _dated(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Text that looks like it throughout; Arrow's cast takes nothing but digits in their places."""
    shortest, longest = _FORMS[kind]
    found = pc.min_max(pc.binary_length(texts))
    if texts.null_count < len(texts) and not (
        shortest <= found["min"].as_py() <= found["max"].as_py() <= longest
    ):
        return None
    return texts.cast(kind)


def _timed(values: Sequence[datetime | None], kind: pa.DataType) -> pa.Array | None:
    is_zoned = kind.tz is not None
    if any(value is not None and (value.tzinfo is not None) != is_zoned for value in values):
        return None
    return pa.array(values, kind)


def _text(value: object) -> str | None:
    """A value in a column of several kinds, as text that keeps all of it."""
    match value:
        case None | str():
            return value
        case bytes():
            return f"X'{value.hex().upper()}'"
        case Decimal():
            return f"{value:f}"
        case list() | dict() | tuple():
            return json.dumps(value, ensure_ascii=False, default=str)
        case date() | time():
            return value.isoformat()
        case _:
            return str(value)
