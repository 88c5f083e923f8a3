"""DuckDB's Arrow columns, and which of them are better text.

DuckDB's Arrow form loses a time's zone, shows a bit string's bytes and writes infinity as the
largest number; readers of Arrow fail over years outside 1 to 9999 and over a decimal with more
digits than it says. Such a column is told here, before its values are handed out. Above:
`duckdb.py`, which asks for it again as text. Below: Arrow.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from datetime import date
from decimal import Decimal

from dataagent_core.data.arrow import pa, pc
from dataagent_core.data.engines.columns import ColumnBuilder

_DIGITS = 38
_UTC = "UTC"
_EPOCH = date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days
_TICKS_A_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_LARGEST = 2**63 - 2  # one more is infinity


class ArrowColumn(ColumnBuilder):
    """A column that is Arrow already. `is_text`: asked for as text."""

    def __init__(self, *, is_text: bool) -> None:
        self.is_text = is_text
        self.type = pa.string()

    def settle_on(self, kind: pa.DataType) -> None:
        """Take the type that DuckDB's Arrow form has; moments are in UTC, whatever the session."""
        if pa.types.is_dictionary(kind):
            self.type = kind.value_type
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            self.type = pa.timestamp(kind.unit, tz=_UTC)
        elif pa.types.is_null(kind):
            self.type = pa.string()
        else:
            self.type = kind

    def fit(self, values: pa.Array) -> pa.Array | None:
        """The values, unless one of them is beyond what readers of Arrow can hold."""
        if _is_beyond(values) or (self.is_text and not pa.types.is_string(values.type)):
            return None
        return values if values.type == self.type else values.cast(self.type)

    def widen(self, values: pa.Array) -> None:
        """Ask for it as text."""
        del values
        self.settle()

    def settle(self) -> None:
        """Ask for it as text, next time."""
        self.is_text = True
        self.type = pa.string()


def _is_beyond(values: pa.Array) -> bool:
    kind = values.type
    limits = _limits(kind)
    if limits is None:
        return False
    lowest, highest = limits
    is_above = pc.any(pc.greater(values, highest)).as_py()
    return bool(is_above or pc.any(pc.less(values, lowest)).as_py())


def _limits(kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """The lowest and highest value of a type that may hold more than it should."""
    if pa.types.is_date32(kind):
        return _between(_FIRST_DAY, _LAST_DAY, pa.int32(), kind)
    if pa.types.is_timestamp(kind):
        ticks = _TICKS_A_DAY[kind.unit]
        lowest = max(_FIRST_DAY * ticks, -_LARGEST)
        highest = min((_LAST_DAY + 1) * ticks - 1, _LARGEST)
        return _between(lowest, highest, pa.int64(), kind)
    if pa.types.is_decimal128(kind) and kind.precision == _DIGITS and kind.scale == 0:
        lowest, highest = Decimal(1 - 10**_DIGITS), Decimal(10**_DIGITS - 1)
        return pa.scalar(lowest, kind), pa.scalar(highest, kind)
    return None


def _between(
    lowest: int, highest: int, ticks: pa.DataType, kind: pa.DataType
) -> tuple[pa.Scalar, pa.Scalar]:
    return pa.scalar(lowest, ticks).cast(kind), pa.scalar(highest, ticks).cast(kind)
