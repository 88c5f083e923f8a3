"""From text to a statement that is one plain query, or a refusal that says why not.

Looks at form alone: which statement, which nodes, which functions, no system tables. Whether its
tables and columns exist is `resolve.py`'s question.
"""

from __future__ import annotations

from typing import cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from dataagent_core.data.dialects import Dialect, dialect_of
from dataagent_core.data.guard.edits import HAS_SCHEMA
from dataagent_core.data.guard.functions import check_function, name_of
from dataagent_core.data.guard.grammar import parser_of
from dataagent_core.data.guard.nodes import check_node, check_plain_words, is_writing
from dataagent_core.data.guard.refusals import refusal
from dataagent_core.data.guard.statement import (
    ParsedStatement,
    check_words,
    clean,
    tokenize,
    too_deep,
    unparsable,
)

MAX_DEPTH = 1_000  # of the tree; SQLite stops there, and others near it
_UNIT_NAMES = "MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR"
_UNITS = frozenset(_UNIT_NAMES.split())


def parse(sql: str, dialect_name: str) -> ParsedStatement:
    """The query in `sql`, read as the dialect reads it. Raises `QueryRefused` otherwise."""
    dialect = dialect_of(dialect_name)
    text, tokens, spaces = tokenize(clean(sql), dialect)
    try:
        tree = _only_query(_trees(tokens, text, dialect))
        _check_depth(tree)
        if dialect.function_schema:
            _drop_function_schema(tree, dialect.function_schema)
        for node in tree.walk():
            _check(node, dialect)
    except RecursionError:
        raise too_deep() from None
    check_words(text, tokens, tree)
    return ParsedStatement(text, dialect, tuple(tokens), tree, spaces=spaces)


def _trees(tokens: list[Token], text: str, dialect: Dialect) -> list[exp.Expr]:
    try:
        trees = parser_of(dialect).parse(dialect.tokens_to_parse(tokens), text)
    except SqlglotError as error:
        raise unparsable(str(error)) from error
    except (AttributeError, AssertionError, LookupError, TypeError, ValueError) as error:
        # the parser trips over its own feet on some texts that are no SQL
        raise unparsable("it is no SQL the parser knows.") from error
    return [one for one in trees if one is not None]


def _only_query(trees: list[exp.Expr]) -> exp.Query:
    if len(trees) != 1:
        raise refusal(
            "several_statements",
            f"There are {len(trees)} statements.",
            hint="Send one query at a time.",
        )
    tree = trees[0]
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Values | exp.Select | exp.SetOperation | exp.Subquery):
        return cast(exp.Query, tree)  # Values is a query in all but its class
    raise refusal(
        "statement_writes" if is_writing(tree) else "not_a_query",
        f"The statement is {type(tree).__name__}, not a query.",
        hint="Send one SELECT, WITH or VALUES query.",
    )


def _drop_function_schema(tree: exp.Expr, name: str) -> None:
    """Take `pg_catalog.lower(x)` for `lower(x)`, which is sent in that form anyway."""
    for node in list(tree.find_all(exp.Dot, exp.Column, exp.Table)):
        schema, called = (
            (node.this, node.expression)
            if isinstance(node, exp.Dot)
            else (node.args.get("table") or node.args.get("db"), node.this)
        )
        if not isinstance(schema, exp.Identifier) or schema.name != name:
            continue
        function = called.this if isinstance(called, exp.Filter | exp.WithinGroup) else called
        if isinstance(function, exp.Anonymous):
            function.meta[HAS_SCHEMA] = True
            if isinstance(node, exp.Table):
                node.set("db", None)
            else:
                node.replace(called)


def _check_depth(tree: exp.Expr) -> None:
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise too_deep()


def _check(node: exp.Expr, dialect: Dialect) -> None:
    if not isinstance(node, exp.Identifier | exp.Literal):
        check_plain_words(node)
    if isinstance(node, exp.Func):
        check_function(node, dialect)
        _unit_is_a_word(node, dialect)
        return
    check_node(node)
    if isinstance(node, exp.Table):
        _check_table(node, dialect)
    elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        raise refusal(
            "function_not_allowed",
            f"The function {node.expression.name[:60]} is called through a schema or value.",
            hint="Call a built-in function by its plain name.",
        )
    elif isinstance(node, exp.In) and node.args.get("field") and not dialect.in_takes_a_column:
        raise refusal(
            "node_not_allowed",
            "IN is followed by a bare name.",
            hint="Write IN (SELECT … FROM …) or IN (value, …).",
        )


def _unit_is_a_word(node: exp.Func, dialect: Dialect) -> None:
    """Some functions take a unit of time where others have a value: it is no column."""
    if dialect.unit_functions and name_of(node) in dialect.unit_functions:
        unit = next(iter(node.expressions), None)
        if isinstance(unit, exp.Column) and unit.name.upper() in _UNITS:
            unit.replace(exp.Var(this=unit.name.upper()))


def _check_table(node: exp.Table, dialect: Dialect) -> None:
    if not isinstance(node.this, exp.Identifier):
        return  # a function, checked as such
    name, schema = node.name.lower(), node.db.lower()
    names = dialect.system_tables
    if schema in dialect.system_schemas or (names and names.match(name)):
        raise refusal(
            "system_table",
            f"{node.name[:60]} is a system table.",
            hint="Ask the catalogue for tables and columns; query only those.",
        )
