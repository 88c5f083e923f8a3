"""Arrow columns from values as text (PostgreSQL, MySQL) or as Python objects (SQLite, others).

For text the server says the type and Arrow parses many values at once; what the type cannot hold
(`infinity`, a year before 1, `0000-00-00`, more than 76 digits) makes the column text, as the
server wrote it. For Python objects the kinds of the values decide, not the declaration: whole and
broken numbers together become floats only if no digit is lost, and a column that mixes kinds
becomes text. A declaration decides for columns without values, and lets text of dates throughout
become dates.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from dataagent_core.data.arrow import pa, pc
from dataagent_core.data.engines.columns import ColumnBuilder

Parse = Callable[[pa.Array], pa.Array]  # raises pa.ArrowException where a value does not fit

_DECIMAL128_DIGITS = 38
_DECIMAL256_DIGITS = 76


class TextColumn(ColumnBuilder):
    """A column of text that stands for values of `kind`. `parse`, if Arrow's cast is not enough."""

    def __init__(self, kind: pa.DataType, *, parse: Parse | None = None) -> None:
        self.type = kind
        self._parse = parse

    def fit(self, values: pa.Array) -> pa.Array | None:
        """The values as `type`; None if one of them does not fit."""
        if values.type == self.type:
            return values
        try:
            return values.cast(self.type) if self._parse is None else self._parse(values)
        except pa.ArrowException:
            return None

    def widen(self, values: pa.Array) -> None:
        """What does not fit stays the text it is."""
        del values
        self.settle()

    def settle(self) -> None:
        """Text as the server writes it."""
        self._parse = None
        self.type = pa.string()


class NumericColumn(ColumnBuilder):
    """Exact numbers of unknown size: as many digits behind the point as the values have."""

    def __init__(self) -> None:
        self.type = pa.decimal128(_DECIMAL128_DIGITS, 0)

    def fit(self, values: pa.Array) -> pa.Array | None:
        """The values as `type`; None if one of them does not fit."""
        if not pa.types.is_decimal(self.type):
            return values
        before, behind = _digits(values)  # Arrow's cast does not notice numbers that are too long
        if behind > self.type.scale or before > self.type.precision - self.type.scale:
            return None
        try:
            return values.cast(self.type)
        except pa.ArrowException:
            return None

    def widen(self, values: pa.Array) -> None:
        """Widen to the digits of these values; text if there are too many, or for NaN."""
        if pa.types.is_decimal(self.type):
            self.type = decimal_type(values, scale=self.type.scale) or pa.string()
        if self.fit(values) is None:
            self.settle()

    def settle(self) -> None:
        """Text as the server writes it."""
        self.type = pa.string()


def decimal_type(texts: pa.Array, *, scale: int = 0) -> pa.DataType | None:
    """A decimal type for numbers written out, with at least `scale`; None if they are too long."""
    before, behind = _digits(texts)
    scale = max(scale, behind)
    digits = scale + before
    if digits <= _DECIMAL128_DIGITS:
        return pa.decimal128(_DECIMAL128_DIGITS, scale)
    return pa.decimal256(_DECIMAL256_DIGITS, scale) if digits <= _DECIMAL256_DIGITS else None


def _digits(texts: pa.Array) -> tuple[int, int]:
    """The most characters before the point (a sign counts) and the most behind it."""
    point = pc.find_substring(texts, ".")
    length = pc.utf8_length(texts)
    is_whole = pc.less(point, 0)
    behind = pc.max(pc.if_else(is_whole, 0, pc.subtract(pc.subtract(length, point), 1))).as_py()
    before = pc.max(pc.if_else(is_whole, length, point)).as_py()
    return before or 0, behind or 0


def declared_decimal(precision: int, scale: int) -> pa.DataType | None:
    """The decimal type of a declaration; None if Arrow has none that is as large."""
    if not 0 <= scale <= precision or precision < 1:
        return None
    if precision <= _DECIMAL128_DIGITS:
        return pa.decimal128(precision, scale)
    return pa.decimal256(precision, scale) if precision <= _DECIMAL256_DIGITS else None


def time_of_day(texts: pa.Array) -> pa.Array:
    """`10:00:00.5` as a time; Arrow parses times only behind a date."""
    dated = pc.binary_join_element_wise("1970-01-01", texts, " ")
    return dated.cast(pa.timestamp("us")).cast(pa.time64("us"))


def instant(texts: pa.Array) -> pa.Array:
    """`2020-01-01 08:00:00+08` as a moment, in UTC."""
    kind = pa.timestamp("us", tz="UTC")
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:  # offsets with seconds, of days before there were zones
        return pa.array([_moment(text) for text in texts.to_pylist()], kind)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise pa.ArrowInvalid(str(error)) from error


def hexadecimal(texts: pa.Array) -> pa.Array:
    r"""PostgreSQL's `\x6162` as binary."""
    return pa.array(
        [None if text is None else bytes.fromhex(text[2:]) for text in texts.to_pylist()],
        pa.binary(),
    )


def is_t(texts: pa.Array) -> pa.Array:
    """PostgreSQL's `t` and `f` as a boolean."""
    return pc.equal(texts, "t")


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
