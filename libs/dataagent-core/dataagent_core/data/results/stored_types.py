"""How a result's columns are typed in the file that keeps it.

Types are those that Parquet holds and that every reader of ours knows. What Parquet has no type for
(an interval, a union) becomes text here, once, so that nobody after this meets it. Above:
`keep.py`. Below: Arrow.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from functools import cache

from dataagent_core.data.arrow import pa, pc
from dataagent_core.data.results.cells import json_text, json_values

_MAX_DECIMAL128 = 38


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type a column of this type is kept as."""
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return stored_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.string() if isinstance(kind, pa.UuidType) else stored_type(kind.storage_type)
    if types.is_nested(kind):
        return kind if _is_plain(kind) else pa.string()
    if types.is_decimal(kind):
        return _stored_decimal(kind)
    return _replaced().get(kind, kind)


@cache
def _replaced() -> dict[pa.DataType, pa.DataType]:
    return {
        pa.string_view(): pa.string(),
        pa.binary_view(): pa.binary(),
        pa.month_day_nano_interval(): pa.string(),
        pa.float16(): pa.float32(),
        pa.date64(): pa.date32(),
    }


def _stored_decimal(kind: pa.DataType) -> pa.DataType:
    if kind.scale < 0:
        return pa.decimal256(min(76, kind.precision - kind.scale), 0)
    if kind.precision <= _MAX_DECIMAL128:
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a nested type can be written to Parquet as it is."""
    types = pa.types
    is_sequence = types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind)
    if not (is_sequence or types.is_struct(kind)):
        return False
    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return bool(inner) and all(stored_type(one) == one for one in inner)


def to_stored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column as type `kind`, which is a stored type.

    Raises:
        pa.ArrowException: a value does not fit.
    """
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    elif types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if types.is_string(kind) and _is_rendered(column.type):
        return pa.array(_as_texts(column), pa.string())
    if isinstance(column.type, pa.BaseExtensionType):
        return to_stored(column.storage, kind)
    return column if column.type == kind else column.cast(kind)


def _is_rendered(kind: pa.DataType) -> bool:
    is_interval = kind == pa.month_day_nano_interval()
    return is_interval or isinstance(kind, pa.UuidType) or pa.types.is_nested(kind)


def _as_texts(column: pa.Array) -> list[str | None]:
    """One text for each value: an interval in ISO 8601, a UUID, else JSON."""
    if pa.types.is_nested(column.type):
        return [None if v is None else json_text(v) for v in json_values(column)]
    return [None if v is None else str(v) for v in json_values(column)]
