"""MySQL's column types as Arrow's.

Above: `mysql.py`. Below: `texts.py`.
"""

# pyarrow and PyMySQL have no complete types: this module is a border to them.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from dataclasses import dataclass

from pymysql.constants import FIELD_TYPE

from dataagent_core.data.arrow import pa
from dataagent_core.data.engines.columns import ColumnBuilder
from dataagent_core.data.engines.text_columns import TextColumn, declared_decimal, time_of_day

_BINARY = 63  # the character set of what is not text
_STRINGS = {
    FIELD_TYPE.VARCHAR,
    FIELD_TYPE.VAR_STRING,
    FIELD_TYPE.STRING,
    FIELD_TYPE.TINY_BLOB,
    FIELD_TYPE.BLOB,
    FIELD_TYPE.MEDIUM_BLOB,
    FIELD_TYPE.LONG_BLOB,
    FIELD_TYPE.GEOMETRY,
}
_WHOLE = {
    FIELD_TYPE.TINY: (pa.int8(), pa.uint8()),
    FIELD_TYPE.SHORT: (pa.int16(), pa.uint16()),
    FIELD_TYPE.INT24: (pa.int32(), pa.uint32()),
    FIELD_TYPE.LONG: (pa.int32(), pa.uint32()),
    FIELD_TYPE.LONGLONG: (pa.int64(), pa.uint64()),
    FIELD_TYPE.YEAR: (pa.int16(), pa.int16()),
}
_OTHERS = {
    FIELD_TYPE.FLOAT: pa.float32(),
    FIELD_TYPE.DOUBLE: pa.float64(),
    FIELD_TYPE.DATE: pa.date32(),
    FIELD_TYPE.NEWDATE: pa.date32(),
    FIELD_TYPE.DATETIME: pa.timestamp("us"),
    FIELD_TYPE.TIMESTAMP: pa.timestamp("us"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result, as the server describes it."""

    name: str
    type: int
    character_set: int
    is_unsigned: bool
    length: int
    scale: int

    @property
    def is_binary(self) -> bool:
        """Whether the values are bytes, not text."""
        is_bytes = self.type in _STRINGS and self.character_set == _BINARY
        return is_bytes or self.type in (FIELD_TYPE.BIT, FIELD_TYPE.GEOMETRY)


def column_for(field: Field) -> ColumnBuilder:
    """The column for a field of a result."""
    kind = field.type
    if kind == FIELD_TYPE.BIT:
        return TextColumn(pa.uint64(), parse=_bits)
    if kind in _WHOLE:
        return TextColumn(_WHOLE[kind][field.is_unsigned])
    if kind in (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL):
        digits = field.length - (not field.is_unsigned) - (field.scale > 0)
        return TextColumn(declared_decimal(digits, field.scale) or pa.string())
    if kind == FIELD_TYPE.TIME:
        return TextColumn(pa.time64("us"), parse=time_of_day)
    if kind in _OTHERS:
        return TextColumn(_OTHERS[kind])
    return TextColumn(pa.binary() if field.is_binary else pa.string())


def _bits(values: pa.Array) -> pa.Array:
    """BIT(n), which comes as its bytes, the highest first, as a number."""
    return pa.array(
        [None if value is None else int.from_bytes(value, "big") for value in values.to_pylist()],
        pa.uint64(),
    )
