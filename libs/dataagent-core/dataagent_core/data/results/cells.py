"""What a cell looks like outside Arrow: as text, and as a JSON value.

Decimals and integers keep all their digits, decimals as text; floats are shown as `shown_floats`
says, the same in previews, pages, charts and exports; dates and times are ISO 8601, an instant with
its zone's offset; bytes are `0x` and hexadecimal digits; NaN and the infinities are the texts
`NaN`, `Infinity` and `-Infinity`; a 64-bit integer stays a number, or becomes text beyond 2^53
where a browser will read it. Works a column at a time.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

from dataagent_core.data.arrow import pa, pc

MAX_SAFE_INTEGER = 2**53 - 1  # the last a browser's number holds exactly
FLOAT_DIGITS = 15  # a double holds every decimal of so many digits; the next ones may be noise
_LAST_WHOLE = 2**53  # beyond it a double no longer tells one whole number from the next
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_UTC_NAMES = ("UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT", "Zulu")
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def texts(column: pa.Array) -> pa.Array:
    """The column as text, NULL where it is NULL. An instant has a space before its time."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column
    for is_kind, render in _renderers():
        if is_kind(kind):
            return render(column)
    return column.cast(pa.string())


def json_values(column: pa.Array, *, are_big_integers_text: bool = False) -> list[Any]:
    """The column's values, ready for `json.dumps`.

    Args:
        column: any Arrow array.
        are_big_integers_text: give integers beyond 2^53 as text, for a reader whose numbers are
            doubles. The column's type still says that it is an integer.
    """
    kind = column.type
    types = pa.types
    if types.is_integer(kind):
        values = column.to_pylist()
        return _browser_integers(values) if are_big_integers_text else values
    if types.is_floating(kind):
        return [
            value if value is None or math.isfinite(value) else _NOT_FINITE[str(value)]
            for value in shown_floats(column).to_pylist()
        ]
    if types.is_nested(kind):
        return _nested(column, are_big_integers_text=are_big_integers_text)
    if types.is_boolean(kind) or types.is_null(kind):
        return column.to_pylist()
    rendered = texts(column)
    if types.is_timestamp(kind):
        rendered = pc.replace_substring(rendered, " ", "T", max_replacements=1)
    return rendered.to_pylist()


def shown_floats(column: pa.Array) -> pa.Array:
    """A column of floats as doubles, with the digits that are shown.

    A 4-byte float is the shortest decimal that gives it back: 4.7, not 4.699999809265137. A double
    has 15 significant digits, as in a spreadsheet: a sum is 96.03, not 96.02999999999997. A whole
    number that a double holds exactly keeps all its digits.
    """
    if column.type != pa.float64():
        return column.cast(pa.float32()).cast(pa.string()).cast(pa.float64())
    length = pc.binary_length(column.cast(pa.string()))
    is_whole = pc.and_(
        pc.equal(pc.trunc(column), column), pc.less_equal(pc.abs(column), _LAST_WHOLE)
    )
    is_long = pc.and_not(pc.greater(length, FLOAT_DIGITS + 1), is_whole)  # one more for the point
    is_long = pc.fill_null(is_long, False)
    if not pc.any(is_long).as_py():
        return column
    long = column.filter(is_long)
    form = f"%.{FLOAT_DIGITS}g\n" * len(long)  # all in one go, which is much quicker
    rounded = pa.array((form % tuple(long.to_pylist())).split()).cast(pa.float64())
    rounded = pc.if_else(pc.is_finite(rounded), rounded, long)  # the largest double overflows
    return pc.replace_with_mask(column, is_long, rounded)


def with_shown_floats(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, its columns of floats as `shown_floats` has them."""
    for at, column in enumerate(batch.columns):
        if pa.types.is_floating(column.type):
            batch = batch.set_column(at, batch.schema.names[at], shown_floats(column))
    return batch


def shown_float(value: float) -> float:
    """A double with the digits that are shown (see `shown_floats`)."""
    return shown_floats(pa.array([value], pa.float64()))[0].as_py()


def json_text(value: object) -> str:
    """A JSON value as text, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _browser_integers(values: list[int | None]) -> list[Any]:
    return [
        value if value is None or -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else str(value)
        for value in values
    ]


# -- nested ---------------------------------------------------------------------------------


def _nested(column: pa.Array, *, are_big_integers_text: bool) -> list[Any]:
    def inner(child: pa.Array) -> list[Any]:
        return json_values(child, are_big_integers_text=are_big_integers_text)

    types = pa.types
    if types.is_struct(column.type):
        return _structs(column, inner)
    if types.is_union(column.type):
        return [inner(pa.array([one.value.as_py()], one.value.type))[0] for one in column]
    is_map = types.is_map(column.type)
    if is_map:
        entry = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
        column = column.cast(pa.list_(entry))
    items = iter(inner(column.flatten()))
    lengths = pc.list_value_length(column).to_pylist()
    lists = [None if n is None else [next(items) for _ in range(n)] for n in lengths]
    if not is_map:
        return lists
    return [None if one is None else _mapping(one) for one in lists]


def _structs(column: pa.Array, inner: Callable[[pa.Array], list[Any]]) -> list[Any]:
    names = [field.name for field in column.type]
    children = [inner(child) for child in column.flatten()]
    rows: Iterator[tuple[Any, ...]] = zip(*children, strict=True) if names else iter(())
    is_there = column.is_valid().to_pylist()
    if not names:
        return [{} if there else None for there in is_there]
    return [
        dict(zip(names, row, strict=True)) if there else None
        for row, there in zip(rows, is_there, strict=True)
    ]


def _mapping(entries: list[Any]) -> Any:
    """A map with text keys as an object, any other as a list of pairs."""
    pairs = [tuple(entry.values()) for entry in entries]
    if all(isinstance(key, str) for key, _value in pairs):
        return dict(pairs)
    return [list(pair) for pair in pairs]


# -- text by type ---------------------------------------------------------------------------


def _float_texts(column: pa.Array) -> pa.Array:
    column = shown_floats(column)
    rendered = column.cast(pa.string())
    is_finite = pc.is_finite(column)
    if pc.all(is_finite).as_py() is not False:
        return rendered
    named = [None if text is None else _NOT_FINITE.get(text, text) for text in rendered.to_pylist()]
    return pa.array(named, pa.string())


def _decimal_texts(column: pa.Array) -> pa.Array:
    """Plain digits; Arrow writes very small values with an exponent."""
    rendered = column.cast(pa.string())
    if not pc.any(pc.match_substring(rendered, "E")).as_py():
        return rendered
    plain = [None if text is None else f"{Decimal(text):f}" for text in rendered.to_pylist()]
    return pa.array(plain, pa.string())


def _timestamp_texts(column: pa.Array) -> pa.Array:
    zone = column.type.tz
    wall, offsets = _wall_time(column, zone) if zone else (column, None)
    rendered = _without_zero_fraction(wall)
    return rendered if offsets is None else pc.binary_join_element_wise(rendered, offsets, "")


def _without_zero_fraction(column: pa.Array) -> pa.Array:
    """A clock's readings as text; whole seconds have no fraction."""
    rendered = column.cast(pa.string())
    per_second = _PER_SECOND[column.type.unit]
    if per_second == 1:
        return rendered
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()
    ticks = column.view(width)
    whole = pc.multiply(pc.divide(ticks, per_second), per_second)
    if not pc.any(pc.equal(whole, ticks)).as_py():
        return rendered
    return pc.replace_substring_regex(rendered, r"\.0+$", "")


def _wall_time(column: pa.Array, zone: str) -> tuple[pa.Array, pa.Array | pa.Scalar]:
    """The clock's reading in the zone, and the offset from UTC as text."""
    unit = column.type.unit
    universal = column.cast(pa.timestamp(unit, "UTC")).cast(pa.timestamp(unit))
    if zone in _UTC_NAMES:
        return universal, pa.scalar("Z")
    try:
        local = pc.local_timestamp(column)
    except pa.ArrowInvalid:  # no such zone on this machine: the instant is what counts
        return universal, pa.scalar("Z")
    ticks = pc.subtract(local.view(pa.int64()), universal.view(pa.int64()))
    encoded = ticks.dictionary_encode()
    named = [_offset_text(one // _PER_SECOND[unit]) for one in encoded.dictionary.to_pylist()]
    return local, pa.array(named, pa.string()).take(encoded.indices)


def _offset_text(seconds: int) -> str:
    sign = "-" if seconds < 0 else "+"
    hours, rest = divmod(abs(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    tail = f":{seconds:02d}" if seconds else ""
    return f"{sign}{hours:02d}:{minutes:02d}{tail}"


def _duration_texts(column: pa.Array) -> pa.Array:
    ticks = column.view(pa.int64()).to_pylist()
    per_second = _PER_SECOND[column.type.unit]
    return pa.array([None if n is None else _iso_seconds(n, per_second) for n in ticks])


def _iso_seconds(ticks: int, per_second: int) -> str:
    whole, part = divmod(abs(ticks), per_second)
    digits = f".{part:0{len(str(per_second)) - 1}d}".rstrip("0") if part else ""
    return f"{'-' if ticks < 0 else ''}PT{whole}{digits}S"


def _interval_texts(column: pa.Array) -> pa.Array:
    return pa.array([None if v is None else _iso_interval(*v) for v in column.to_pylist()])


def _iso_interval(months: int, days: int, nanoseconds: int) -> str:
    date = (f"{months}M" if months else "") + (f"{days}D" if days else "")
    if not nanoseconds:
        return f"P{date}" if date else "PT0S"
    seconds = _iso_seconds(abs(nanoseconds), 10**9)[2:]
    return f"P{date}T{'-' if nanoseconds < 0 else ''}{seconds}"


def _binary_texts(column: pa.Array) -> pa.Array:
    return pa.array([None if v is None else f"0x{bytes(v).hex()}" for v in column.to_pylist()])


def _extension_texts(column: pa.Array) -> pa.Array:
    if isinstance(column.type, pa.UuidType):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    return texts(column.storage)


def _nested_texts(column: pa.Array) -> pa.Array:
    rendered = [None if value is None else json_text(value) for value in json_values(column)]
    return pa.array(rendered, pa.string())


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)


def _is_extension(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType)


@cache
def _renderers() -> tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...
]:
    """Which kinds of column have a way of their own to become text."""
    return (
        (_is_extension, _extension_texts),
        (pa.types.is_timestamp, _timestamp_texts),
        (pa.types.is_decimal, _decimal_texts),
        (pa.types.is_floating, _float_texts),
        (pa.types.is_time, _without_zero_fraction),
        (pa.types.is_duration, _duration_texts),
        (pa.types.is_interval, _interval_texts),
        (_is_bytes, _binary_texts),
        (pa.types.is_nested, _nested_texts),
    )
