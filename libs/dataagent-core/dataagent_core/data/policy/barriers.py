"""Keeping an engine from trying the reader's conditions on rows the policy keeps away.

An engine may merge the sub-query of a policy into the query around it and then try conditions in
any order. A condition that can fail (`CAST(notes AS INTEGER) = 1`, `1 / (salary - 100) > 0`) would
then fail on a hidden row, and the error says that the row is there, or even quotes it. PostgreSQL
and MariaDB do this readily. A fence is a clause that means nothing and that the engine does not
optimise across: `OFFSET 0` (PostgreSQL, DuckDB), `LIMIT -1` (SQLite), the largest LIMIT (MySQL and
MariaDB). It costs the engine its index on the reader's own conditions, so it is put up only when
some condition of the query could fail: when it is made of more than comparisons, NULL tests, text
matching and functions that take every value, or rests on a column that an inner query computes in
such a way. DuckDB converts text within a plain comparison, and fails there, so it always gets one.

Covered: errors raised by conditions of WHERE, ON, HAVING and QUALIFY, at any depth, on these four
engines. Aggregates, ORDER BY and the outermost select list are computed on rows that passed the
filter. Not covered: how long a statement takes, what the engine's planner knows about hidden rows
(EXPLAIN is not open to readers), and other engines, which get the filter without a fence.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from dataagent_core.data.dialects import Dialect

_QUIET: tuple[type[exp.Expr], ...] = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Star),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Exists),
    *(exp.Lower, exp.Upper, exp.Length, exp.Coalesce, exp.Nullif, exp.Case, exp.If),
    *(exp.Distinct, exp.CurrentDate, exp.CurrentTimestamp),
    *(exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Table, exp.TableAlias, exp.Alias),
    *(exp.DataType, exp.DataTypeParam),
)
_QUIET_FUNCTIONS = frozenset(
    (
        *("lower", "upper", "length", "char_length", "trim", "ltrim", "rtrim"),
        *("coalesce", "ifnull", "nullif"),
        *("year", "quarter", "month", "day"),
    )
)
_AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
_UNITS = frozenset(
    (
        *("microseconds", "milliseconds", "second", "minute", "hour", "day"),
        *("month", "quarter", "year", "decade", "century", "millennium"),
    )
)
"""What `date_trunc` takes of every kind of time; PostgreSQL fails on others row by row."""
_CONDITIONS = (exp.Where, exp.Having, exp.Qualify)


def can_fail(nodes: Iterable[exp.Expr], dialect: Dialect) -> bool:
    """Whether some condition among a query's nodes could raise an error for some value."""
    if dialect.comparisons_can_fail:
        return True
    return any(not _is_quiet(each) for node in nodes for each in _conditions(node))


def _conditions(node: exp.Expr) -> list[exp.Expr]:
    """What of a node an engine may try on rows: conditions, and what inner queries compute."""
    if isinstance(node, _CONDITIONS):
        return [node.this]
    if isinstance(node, exp.Join):
        return [node.args["on"]] if node.args.get("on") else []
    return node.expressions if isinstance(node, exp.Select) and node.parent else []


def _is_quiet(condition: exp.Expr) -> bool:
    """Aggregates and window functions are closed to it: they wait for the filter."""
    return all(
        _is_of_many_rows(node) or _takes_every_value(node)
        for node in condition.walk(prune=_is_of_many_rows)
    )


def _is_of_many_rows(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _AGGREGATES
    return isinstance(node, exp.AggFunc | exp.Window)


def _takes_every_value(node: exp.Expr) -> bool:
    match node:
        case exp.Cast() | exp.Neg():  # the least integer has no opposite
            return isinstance(node.this, exp.Literal)
        case exp.Like() | exp.ILike():
            pattern = node.expression
            return isinstance(pattern, exp.Literal) and not pattern.name.endswith("\\")
        case exp.Subquery():  # as a value it fails when it has two rows
            return isinstance(node.parent, exp.In | exp.From | exp.Join)
        case exp.Anonymous():
            return _is_quiet_function(node)
        case _:
            return isinstance(node, _QUIET)


def _is_quiet_function(call: exp.Anonymous) -> bool:
    name = call.name.lower()
    if name == "date_trunc":
        unit, *rest = call.expressions or [call]
        is_known = isinstance(unit, exp.Literal) and unit.name.lower() in _UNITS
        return is_known and len(rest) == 1  # a third would be a zone, which need not exist
    if name == "strftime":
        return any(isinstance(each, exp.Literal) for each in call.expressions)
    return name in _QUIET_FUNCTIONS
