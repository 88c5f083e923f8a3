"""Columns whose values arrive as the text the server writes: PostgreSQL's and MySQL's.

The server says the type of each column, Arrow parses its text, many values at once. What a type
of Arrow's cannot hold (`infinity`, a year before 1, `0000-00-00`, more than 76 digits) makes
the column text, as the server wrote it. Above: `columns.py`. Below: Arrow.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

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
        """Room for the digits of these values; text if there are too many, or for NaN."""
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
