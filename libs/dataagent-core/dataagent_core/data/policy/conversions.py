"""Conversions that MySQL and MariaDB warn of, with the value of the row, instead of failing.

`name = 0` makes a number of every name, and the warning quotes the first that is none. An engine
that merges a policy's sub-query into the query around it does this on hidden rows, too, so such a
condition is as telling as one that fails (`fences.py`).

What a column holds is known by its name alone, from the tables that the query reads. A name that
two of them use for different things, or that the query gives to something itself, holds anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from sqlglot import exp

from dataagent_core.data.policy.reading import OpenTable

Kind = Literal["text", "number", "constant", "any"]
"""Numbers and dates convert to each other without a word; a text alone is converted once."""

_NUMBERS = re.compile(
    r"(?:tiny|small|medium|big)?int|integer|dec|numeric|fixed|float|double|real|bit|bool"
    r"|date|time|year",
    re.IGNORECASE,
)
_TEXTS = re.compile(r"(?:national )?(?:var)?char|(?:tiny|medium|long)?text", re.IGNORECASE)
_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Between, exp.In, exp.Nullif),
)
_LOGIC = (exp.And, exp.Or, exp.Not, exp.If)
_TEXT_FUNCTIONS = frozenset({"lower", "upper", "trim", "ltrim", "rtrim"})
_NUMBER_FUNCTIONS = frozenset({"length", "char_length", "year", "quarter", "month", "day"})
_OF_DATES = frozenset({"year", "quarter", "month", "day"})


def kinds_of(nodes: Iterable[exp.Expr], tables: Iterable[OpenTable]) -> dict[str, Kind]:
    """What the columns of some tables hold, by name, in a query of these nodes."""
    kinds: dict[str, Kind] = {}
    for seen in tables:
        for column in seen.columns:
            mask = seen.masks.get(column.name)
            is_text = mask is not None and mask.kind != "null"
            kind: Kind = "text" if is_text else _of_type(column.type)
            name = column.name.casefold()
            kinds[name] = kind if kinds.get(name, kind) == kind else "any"
    for node in nodes:
        given = node.columns if isinstance(node, exp.TableAlias) else []
        for one in [node.args["alias"]] if isinstance(node, exp.Alias) else given:
            kinds[one.name.casefold()] = "any"
    return kinds


def warns(condition: exp.Expr, kinds: Mapping[str, Kind], *, is_asked: bool) -> bool:
    """Whether a conversion in it may be warned of; `is_asked`: its own value is true or false."""
    if is_asked and not _is_truth(condition, kinds):
        return True
    return any(_converts(node, kinds) for node in condition.walk())


def _converts(node: exp.Expr, kinds: Mapping[str, Kind]) -> bool:
    match node:
        case exp.Is():
            is_null = isinstance(node.expression, exp.Null)
            return not is_null and not _is_truth(node.this, kinds)
        case exp.Case():
            values = [one.this for one in node.args["ifs"]]
            return node.this is not None and not _are_alike([node.this, *values], kinds)
        case exp.Anonymous() if node.name.lower() in ("nullif", *_OF_DATES, "if"):
            return _call_converts(node, kinds)
        case exp.In():
            query = node.args.get("query")
            return not _are_alike([node.this, *node.expressions, *_selected(query)], kinds)
        case _ if isinstance(node, _COMPARISONS):
            return not _are_alike(list(node.iter_expressions()), kinds)
        case _ if isinstance(node, _LOGIC):
            asked = [node.this] if isinstance(node, exp.If) else node.iter_expressions()
            is_value = isinstance(node.parent, exp.Case) and node.parent.this is not None
            return not is_value and not all(_is_truth(one, kinds) for one in asked)
        case _:
            return False


def _call_converts(call: exp.Anonymous, kinds: Mapping[str, Kind]) -> bool:
    arguments = call.expressions
    match call.name.lower():
        case "nullif":
            return not _are_alike(arguments, kinds)
        case "if":
            return not all(_is_truth(one, kinds) for one in arguments[:1])
        case _:  # a part of a date
            return any(_kind(one, kinds) in ("text", "any") for one in arguments)


def _selected(query: exp.Expr | None) -> list[exp.Expr]:
    """What a query after IN gives; a whole set operation for its arms."""
    inner = query.unnest() if query is not None else None
    if isinstance(inner, exp.Select):
        return [one.unalias() for one in inner.expressions]
    return [] if inner is None else [inner]


def _are_alike(values: list[exp.Expr], kinds: Mapping[str, Kind]) -> bool:
    found = {_kind(one, kinds) for one in values} - {"constant"}
    return len(found) <= 1 and "any" not in found


def _is_truth(value: exp.Expr, kinds: Mapping[str, Kind]) -> bool:
    """Whether it is true or false without being made a number of a text."""
    inner = value.unnest()
    if isinstance(inner, exp.Column | exp.Anonymous | exp.Coalesce | exp.Case):
        return _kind(inner, kinds) in ("number", "constant")
    return True


def _kind(value: exp.Expr, kinds: Mapping[str, Kind]) -> Kind:
    match value.unnest():
        case exp.Column() as column:
            return kinds.get(column.name.casefold(), "any")
        case exp.Literal() as literal:
            return "constant" if literal.is_string else "number"
        case exp.Null() | exp.Boolean() | exp.CurrentDate() | exp.CurrentTimestamp() | exp.Neg():
            return "number"
        case exp.Cast() | exp.AggFunc() | exp.Window():
            return "constant"  # of a literal, or of rows that passed the filter
        case exp.Lower() | exp.Upper():
            return "text"
        case exp.Length():
            return "number"
        case exp.Anonymous() as call:
            return _kind_of_call(call, kinds)
        case _:
            return "any"


def _kind_of_call(call: exp.Anonymous, kinds: Mapping[str, Kind]) -> Kind:
    name = call.name.lower()
    if name in _TEXT_FUNCTIONS:
        return "text"
    if name in _NUMBER_FUNCTIONS:
        return "number"
    if name in ("count", "sum", "avg", "min", "max"):
        return "constant"  # of rows that passed the filter
    if name in ("coalesce", "ifnull"):
        found: set[Kind] = {_kind(one, kinds) for one in call.expressions}
        found.discard("constant")
        return found.pop() if len(found) == 1 else "any"
    return "any"


def _of_type(written: str) -> Kind:
    if _TEXTS.match(written):
        return "text"
    return "number" if _NUMBERS.match(written) else "any"
