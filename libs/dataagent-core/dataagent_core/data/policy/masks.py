"""Masks as expressions of the source's own SQL.

A hash is an HMAC-SHA256 with a secret of the source: equal values have equal hashes, and nobody who
has only the hashes can find a value by hashing guesses.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dataagent_core.data.policy.rules import Mask

HIDDEN = "***"
SHOWN_CHARACTERS = 4
LEAST_LENGTH = 8  # a shorter value would be shown half or more


def masked(column: exp.Column, mask: Mask, dialect: str, key: bytes | None = None) -> exp.Expr:
    """What is selected in the column's place; `key` is the source's secret."""
    match mask.kind:
        case "null":
            return _null(column)
        case "constant":
            return exp.Literal.string(mask.text or "")
        case "hash":
            hashed = _HASHES.get(dialect)
            return hashed(_text(column), *_pads(key)) if hashed and key else _null(column)
        case "partial":
            return _partial(column)


def _null(column: exp.Column) -> exp.Expr:
    """NULL of the column's own type, without naming the type."""
    return exp.Case(ifs=[exp.If(this=exp.false(), true=column)])


def _text(column: exp.Column) -> exp.Expr:
    return exp.cast(column.copy(), exp.DataType.Type.TEXT)


def _partial(column: exp.Column) -> exp.Expr:
    length = exp.Length(this=_text(column))
    start = exp.Sub(this=length.copy(), expression=exp.Literal.number(SHOWN_CHARACTERS - 1))
    end = exp.Substring(this=_text(column), start=start)
    shown = exp.Concat(expressions=[exp.Literal.string(HIDDEN), end], safe=False, coalesce=False)
    is_long = exp.GTE(this=length, expression=exp.Literal.number(LEAST_LENGTH))
    is_null = exp.Is(this=column, expression=exp.null())
    return exp.Case(
        ifs=[exp.If(this=is_null, true=exp.null()), exp.If(this=is_long, true=shown)],
        default=exp.Literal.string(HIDDEN),
    )


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _pads(key: bytes) -> tuple[exp.Expr, exp.Expr]:
    """HMAC's inner and outer key, as hexadecimal texts. `key` is at most 64 bytes."""
    block = key.ljust(64, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block).hex() for pad in (0x36, 0x5C))
    return exp.Literal.string(inner), exp.Literal.string(outer)


def _postgres_hash(text: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> exp.Expr:
    hexadecimal = exp.Literal.string("hex")

    def keyed(pad: exp.Expr, value: exp.Expr) -> exp.Expr:
        start = _call("pg_catalog.decode", pad, hexadecimal.copy())
        return _call("pg_catalog.sha256", exp.DPipe(this=start, expression=value))

    value = _call("pg_catalog.convert_to", text, exp.Literal.string("UTF8"))
    return _call("pg_catalog.encode", keyed(outer, keyed(inner, value)), hexadecimal)


def _duckdb_hash(text: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> exp.Expr:
    def keyed(pad: exp.Expr, value: exp.Expr) -> exp.Expr:
        return _call("sha256", exp.DPipe(this=_call("unhex", pad), expression=value))

    return keyed(outer, _call("unhex", keyed(inner, _call("encode", text))))


def _mysql_hash(text: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> exp.Expr:
    def keyed(pad: exp.Expr, value: exp.Expr) -> exp.Expr:
        joined = _call("CONCAT", _call("UNHEX", pad), value)
        return _call("SHA2", joined, exp.Literal.number(256))

    return keyed(outer, _call("UNHEX", keyed(inner, text)))


_HASHES: dict[str, Callable[[exp.Expr, exp.Expr, exp.Expr], exp.Expr]] = {
    "postgres": _postgres_hash,
    "duckdb": _duckdb_hash,
    "mysql": _mysql_hash,
}
