"""Row filters: from an administrator's text to a condition for one reader.

A filter is a plain boolean condition over the columns of its table: comparisons, AND, OR, NOT, IN,
BETWEEN, LIKE, IS NULL, arithmetic, CASE and a few functions that cannot read anything else. No
sub-queries. The reader's attributes (`:user.NAME`; also `:user.user_id`, `:user.role` and
`:user.tenant_id`, which no attribute can stand in for) enter the tree as literals, never as text to
be parsed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from dataagent_core.data.types import Column, Reader, Table
from dataagent_core.errors import BadInput

_PLAIN: tuple[type[exp.Expr], ...] = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike),
    *(exp.Escape, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Case, exp.If),
    *(exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Coalesce, exp.Nullif, exp.Abs, exp.Round),
    *(exp.Substring, exp.Left, exp.Right, exp.Concat, exp.DPipe, exp.StartsWith),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var),
    *(exp.CurrentDate, exp.CurrentTimestamp, exp.Extract, exp.Year, exp.Month, exp.Day, exp.Date),
)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_NEGATIVE = (exp.Not, exp.NEQ, exp.NullSafeNEQ, exp.Case, exp.If)
_TEXT_TYPE = re.compile(r"char|text|clob|string|uuid|enum", re.IGNORECASE)
_NUMBER_TYPE = re.compile(r"int|num|dec|real|float|double|serial", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_OWN = "own"  # marks a literal that is the reader's own attribute


@dataclass(frozen=True, slots=True)
class BoundFilter:
    """A filter for one reader: the condition and its columns. Copy the condition to use it."""

    condition: exp.Expr
    columns: frozenset[str]
    dialect: str
    reason: str | None = None  # why no row passes, if that is so

    @property
    def sentence(self) -> str:
        """What a sentence may say of it."""
        return self.reason or _in_words(self.condition, self.dialect)


class _NoRows(Exception):
    """The reader has no value that fits; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_filter(text: str, dialect: str) -> exp.Expr:
    """The filter's tree, to be copied before use.

    Raises:
        BadInput: the text is not one plain boolean condition; the message says what is in the way.
    """
    return _parsed(text, dialect)


@lru_cache(maxsize=1024)
def _parsed(text: str, dialect: str) -> exp.Expr:
    try:
        _refuse_queries(text, dialect)
        return _checked(sqlglot.parse(text, dialect=dialect), text)
    except (SqlglotError, RecursionError) as error:
        raise BadInput(f"The row filter {text!r} cannot be read as SQL.") from error


def _refuse_queries(text: str, dialect: str) -> None:
    """Before the parser sees it: joins without conditions cost it twice as much each."""
    for token in Dialect.get_or_raise(dialect).tokenize(text):
        if token.token_type in (TokenType.SELECT, TokenType.JOIN):
            raise _not_allowed(text, token.text.upper())


def _not_allowed(text: str, what: str) -> BadInput:
    return BadInput(
        f"The row filter {text!r} may not use {what}: it must be a plain condition "
        "over the table's columns, without sub-queries and with simple functions only."
    )


def _checked(statements: Sequence[exp.Expr | None], text: str) -> exp.Expr:
    tree = statements[0] if len(statements) == 1 else None
    if not isinstance(tree, exp.Expr):
        raise BadInput(f"The row filter {text!r} must be exactly one condition.")
    for node in tree.walk():
        _check_node(node, text)
    if not _is_boolean(tree):
        raise BadInput(f"The row filter {text!r} is not a condition: it must be true or false.")
    return tree


def _check_node(node: exp.Expr, text: str) -> None:
    if isinstance(node, exp.Dot | exp.Placeholder):
        if _attribute(node) is None and _attribute(node.parent) is None:
            raise BadInput(f"The row filter {text!r}: only :user.NAME may stand for a value.")
        return
    if not isinstance(node, _PLAIN):
        raise _not_allowed(text, node.key.upper())
    if (
        isinstance(node, exp.In)
        and node.args.get("field")
        and _attribute(node.args["field"]) is None
    ):
        raise BadInput(f"The row filter {text!r}: IN needs a list in brackets, or :user.NAME.")


def _is_boolean(node: object) -> bool:
    match node:
        case exp.And() | exp.Or():
            return _is_boolean(node.this) and _is_boolean(node.expression)
        case exp.Not() | exp.Paren():
            return _is_boolean(node.this)
        case _:
            return isinstance(node, exp.Predicate | exp.Boolean | exp.Column | exp.In | exp.Is)


def _attribute(node: object) -> str | None:
    if (
        isinstance(node, exp.Dot)
        and isinstance(node.this, exp.Placeholder)
        and node.this.name == "user"
        and isinstance(node.expression, exp.Identifier)
    ):
        return node.expression.name
    return None


def bind_filter(text: str, table: Table, reader: Reader, dialect: str) -> BoundFilter:
    """The filter with the reader's values and the table's own column names, each qualified.

    Raises:
        BadInput: it is no plain condition, or names a column that the table does not have.
    """
    tree = parse_filter(text, dialect).copy()
    names = _settle_columns(tree, table)
    try:
        tree = _with_values(tree, table, reader)
    except _NoRows as none:
        return BoundFilter(exp.false(), names, dialect, reason=none.reason)
    return BoundFilter(tree, names, dialect)


def _settle_columns(tree: exp.Expr, table: Table) -> frozenset[str]:
    found: set[str] = set()
    for node in list(tree.find_all(exp.Column)):
        column = find_column(table, node.name)
        if column is None or node.table.casefold() not in ("", table.name.casefold()):
            raise BadInput(f"Table {table.key!r} has no column {node.sql()!r}.")
        found.add(column.name)
        node.set("this", exp.Identifier(this=column.name, quoted=True))
        node.set("table", exp.Identifier(this=table.name, quoted=True))
    return frozenset(found)


def find_column(table: Table, name: str) -> Column | None:
    """The table's column of this name, exactly or but for its case."""
    folded: Column | None = None
    for column in table.columns:
        if column.name == name:
            return column
        if column.name.casefold() == name.casefold():
            folded = column
    return folded


def _with_values(tree: exp.Expr, table: Table, reader: Reader) -> exp.Expr:
    root = exp.paren(tree, copy=False)  # so that every node has a parent to be replaced in
    for node in list(root.find_all(exp.Dot)):
        name = _attribute(node)
        if name is None:
            continue
        parent = node.parent
        values = _values(name, reader)
        if isinstance(parent, exp.In) and node is not parent.this:
            column = _column_type(parent.this, table)
            literals = [_literal(value, name, column) for value in values]
            others = [each for each in parent.expressions if each is not node]
            parent.set("field", None)
            parent.set("expressions", [*others, *literals])
            continue
        if len(values) != 1 or isinstance(_raw(name, reader), list | tuple):
            raise _NoRows(f"no rows, because your attribute {name!r} is a list")
        assert parent is not None  # noqa: S101 a value stands in something
        other = parent.this if parent.expression is node else parent.expression
        kind = _column_type(other, table) if isinstance(parent, _COMPARISONS) else ""
        node.replace(_literal(values[0], name, kind))
    return cast("exp.Expr", root.this)  # what was put there


def _raw(name: str, reader: Reader) -> object:
    own: Mapping[str, object] = {
        **reader.attributes,
        "user_id": reader.user_id,
        "role": reader.role,
        "tenant_id": reader.tenant_id,
    }
    return own.get(name)


def _values(name: str, reader: Reader) -> list[object]:
    raw = _raw(name, reader)
    if raw is None:
        raise _NoRows(f"no rows, because you have no attribute {name!r}")
    if not isinstance(raw, list | tuple | set | frozenset):
        return [raw]
    values = list(cast("list[object]", raw))  # any list is one of objects
    if not values:
        raise _NoRows(f"no rows, because your attribute {name!r} is an empty list")
    return values


def _column_type(node: object, table: Table) -> str:
    column = find_column(table, node.name) if isinstance(node, exp.Column) else None
    return column.type if column else ""


def _literal(value: object, name: str, column_type: str) -> exp.Expr:
    """The value as a literal of the column's kind: engines that convert silently match too much."""
    literal = _fitting(value, column_type)
    if literal is None:
        raise _NoRows(f"no rows, because your attribute {name!r} does not fit")
    for node in literal.walk():
        node.meta[_OWN] = True
    return literal


def _fitting(value: object, column_type: str) -> exp.Expr | None:
    is_text_column = bool(_TEXT_TYPE.search(column_type))
    match value:
        case bool():
            return None if is_text_column else exp.convert(value)
        case int() | float():
            if not math.isfinite(value):
                return None
            return exp.Literal.string(str(value)) if is_text_column else exp.convert(value)
        case str():
            is_number_column = bool(_NUMBER_TYPE.search(column_type)) and not is_text_column
            return _number(value) if is_number_column else _text(value)
        case _:
            return None


def _number(text: str) -> exp.Expr | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = exp.Literal.number(text.lstrip("-"))
    return exp.Neg(this=number) if text.startswith("-") else number


def _text(text: str) -> exp.Expr | None:
    try:
        is_storable = b"\0" not in text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return exp.Literal.string(text) if is_storable else None


def _in_words(tree: exp.Expr, dialect: str) -> str:
    """The condition in words. Values that only name what is kept away are left out."""
    shown = exp.paren(tree, copy=True)
    for literal in list(shown.find_all(exp.Literal)):
        if literal.meta.get(_OWN):
            continue
        if literal.find_ancestor(*_NEGATIVE):
            literal.replace(exp.var("…"))
    for column in shown.find_all(exp.Column):
        column.set("table", None)
        column.this.set("quoted", not column.name.isidentifier())
    return f"only rows where {shown.this.sql(dialect)}"
