"""Masks as expressions of the source's own SQL.

A hash is an HMAC-SHA256 with a secret of the source: equal values have equal hashes, and nobody who
has only the hashes can find a value by hashing guesses.
"""

from __future__ import annotations

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.policy.rules import Mask

HIDDEN = "***"
SHOWN_CHARACTERS = 4
LEAST_LENGTH = 8  # a shorter value would be shown half or more


def mask_expression(
    column: exp.Column, mask: Mask, dialect: Dialect, key: bytes | None = None
) -> exp.Expr:
    """What is selected in the column's place; `key` is the source's secret."""
    match mask.kind:
        case "null":
            return _null(column)
        case "constant":
            return exp.Literal.string(mask.text or "")
        case "hash":
            hmac_sha256 = dialect.hmac_sha256(_text(column), *_pads(key)) if key else None
            return _null(column) if hmac_sha256 is None else hmac_sha256
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


def _pads(key: bytes) -> tuple[exp.Expr, exp.Expr]:
    """HMAC's inner and outer key, as hexadecimal texts. `key` is at most 64 bytes."""
    block = key.ljust(64, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block).hex() for pad in (0x36, 0x5C))
    return exp.Literal.string(inner), exp.Literal.string(outer)
