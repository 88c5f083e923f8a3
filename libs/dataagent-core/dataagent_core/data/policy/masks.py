"""Masks as expressions of the source's own SQL. Above: `compiling.py`. Below: sqlglot."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dataagent_core.data.policy.rules import Mask

HIDDEN = "***"
SHOWN_CHARACTERS = 4
LEAST_LENGTH = 8  # a shorter value would be shown half or more


def masked(column: exp.Column, mask: Mask, dialect: str) -> exp.Expr:
    """What is selected in the column's place."""
    match mask.kind:
        case "null":
            return _null(column)
        case "constant":
            return exp.Literal.string(mask.text or "")
        case "hash":
            hashed = _HASHES.get(dialect)
            return hashed(_text(column)) if hashed else _null(column)
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


def _postgres_hash(text: exp.Expr) -> exp.Expr:
    encoded = _call("CONVERT_TO", text, exp.Literal.string("UTF8"))
    return _call("ENCODE", _call("SHA256", encoded), exp.Literal.string("hex"))


_HASHES: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "postgres": _postgres_hash,
    "duckdb": lambda text: _call("SHA256", text),
    "mysql": lambda text: _call("SHA2", text, exp.Literal.number(256)),
}
