"""Rows of MySQL's binary protocol, each value as the text that the text protocol would send.

The text protocol rounds a 4-byte FLOAT to six digits; the binary one sends its bits. Above:
`mysql_wire.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from pymysql.constants import FIELD_TYPE

from dataagent_core.data.engines.mysql_types import Field

Append = Callable[[bytes | None], object]
Split = Callable[[bytes, int, Sequence[Append]], None]
_Decode = Callable[[bytes, int], tuple[bytes, int]]  # a row and a place in it → text, next place

_LENGTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}
_WHOLE = {  # the struct code of a signed value; its upper case is the unsigned one
    FIELD_TYPE.TINY: "b",
    FIELD_TYPE.SHORT: "h",
    FIELD_TYPE.YEAR: "h",
    FIELD_TYPE.INT24: "i",
    FIELD_TYPE.LONG: "i",
    FIELD_TYPE.LONGLONG: "q",
}
_DAYS = (FIELD_TYPE.DATE, FIELD_TYPE.NEWDATE)
_MOMENTS = (FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP)
_MAX_FRACTION = 6


def binary_splitter(fields: Sequence[Field]) -> Split:
    """A function that splits a row of these fields into values, each to its column."""
    decoders = [_decoder(field) for field in fields]
    null_bytes = (len(fields) + 9) // 8  # the first two bits are not used

    def split(data: bytes, at: int, appends: Sequence[Append]) -> None:
        nulls = int.from_bytes(data[at + 1 : at + 1 + null_bytes], "little") >> 2
        at += 1 + null_bytes
        for number, (append, decode) in enumerate(zip(appends, decoders, strict=False)):
            if nulls >> number & 1:
                append(None)
            else:
                text, at = decode(data, at)
                append(text)

    return split


def _decoder(field: Field) -> _Decode:
    kind = field.type
    if kind in _WHOLE:
        code = _WHOLE[kind]
        return _number(f"<{code.upper() if field.is_unsigned else code}", "%d")
    if kind == FIELD_TYPE.FLOAT:
        return _number("<f", "%.9g")  # nine digits tell every 4-byte float from the next
    if kind == FIELD_TYPE.DOUBLE:
        return _number("<d", "%.17g")
    places = field.scale if field.scale <= _MAX_FRACTION else 0
    if kind in _DAYS or kind in _MOMENTS:
        return _moment(places, is_day=kind in _DAYS)
    return _clock(places) if kind == FIELD_TYPE.TIME else _text


def _number(code: str, form: str) -> _Decode:
    layout = struct.Struct(code)

    def decode(data: bytes, at: int) -> tuple[bytes, int]:
        return (form % layout.unpack_from(data, at)).encode(), at + layout.size

    return decode


def _moment(places: int, *, is_day: bool) -> _Decode:
    def decode(data: bytes, at: int) -> tuple[bytes, int]:
        size = data[at]
        parts = data[at + 1 : at + 1 + size].ljust(11, b"\0")  # zeros at the end are not sent
        year, month, day, hour, minute, second, micro = struct.unpack("<HBBBBBI", parts)
        text = f"{year:04}-{month:02}-{day:02}"
        if not is_day:
            text += f" {hour:02}:{minute:02}:{second:02}{_fraction(micro, places)}"
        return text.encode(), at + 1 + size

    return decode


def _clock(places: int) -> _Decode:
    def decode(data: bytes, at: int) -> tuple[bytes, int]:
        size = data[at]
        parts = data[at + 1 : at + 1 + size].ljust(12, b"\0")
        is_negative, days, hour, minute, second, micro = struct.unpack("<BIBBBI", parts)
        sign = "-" if is_negative else ""
        text = f"{sign}{days * 24 + hour:02}:{minute:02}:{second:02}{_fraction(micro, places)}"
        return text.encode(), at + 1 + size

    return decode


def _fraction(micro: int, places: int) -> str:
    return f".{micro:06}"[: places + 1] if places else ""


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    size = data[at]
    at += 1
    if size in _LENGTHS:
        width = _LENGTHS[size]
        size = int.from_bytes(data[at : at + width], "little")
        at += width
    return data[at : at + size], at + size
