"""Resolves columns inside expressions: each is found in its scope and given its table.

A column is rewritten only where the engine would not find it under the name that was written.
Expressions are walked without recursion; a query inside one goes back to the resolver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.sql.edits import place_of, quoted, rewrite
from dataagent_core.data.sql.names import (
    FromItem,
    Scope,
    ambiguous_column,
    caseless_key,
    nearest,
    spell_column,
    spell_table,
    unknown_name,
)
from dataagent_core.data.sql.refusals import refusal

Clause = Literal[
    "select",
    "where",
    "group",
    "having",
    "qualify",
    "order",
    "limit",
    "offset",
    "window",
    "on",
    "value",
    "from",
]
_Bound = frozenset[str]

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_COLUMNS_FIRST = {"select", "where", "window"}  # an alias counts if no column is so called
_OPERATIONS = (exp.Binary, exp.In, exp.Between, exp.Func, exp.Paren, exp.Not)
"""Where a text may stand; a plain output or an item of ORDER BY is none of these."""
_NEARLY_A_COLUMN = 0.85
_STRING_HINT = " If it is a text, write it in single quotes."


class Expressions:
    """Resolves the columns of expressions in place."""

    def __init__(
        self, dialect: Dialect, text: str, subquery: Callable[[exp.Expr, Scope], None]
    ) -> None:
        self._dialect = dialect
        self._text = text
        self._subquery = subquery
        self.notes: dict[str, None] = {}  # in order, each once

    def resolve(self, root: exp.Expr | None, scope: Scope, *, clause: Clause) -> None:
        """Give each column in the expression its table. Raises `UnknownName`."""
        if root is None:
            return
        stack: list[tuple[exp.Expr, _Bound]] = [(root, frozenset())]
        while stack:
            node, bound = stack.pop()
            if isinstance(node, exp.Column):
                self._column(node, scope, clause, bound)
            elif isinstance(node, _QUERIES):
                self._subquery(node, scope)
            elif isinstance(node, exp.Table | exp.Star):
                _check_place(node)
            else:
                inner = self._bound(node, bound)
                stack += [(child, inner) for child in node.iter_expressions()]

    def _bound(self, node: exp.Expr, bound: _Bound) -> _Bound:
        """The names that a lambda or comprehension gives to its inside."""
        if isinstance(node, exp.Lambda):
            return bound | {self._key(one) for one in node.expressions}
        if isinstance(node, exp.Comprehension):
            names = (node.args.get("expression"), node.args.get("position"))
            return bound | {self._key(one) for one in names if one is not None}
        return bound

    def _key(self, node: exp.Expr) -> str:
        return self._dialect.column_key(node.name)

    def _column(self, node: exp.Column, scope: Scope, clause: Clause, bound: _Bound) -> None:
        first = node.parts[0]
        if bound and self._key(first) in bound:
            return
        if isinstance(node.this, exp.Star):
            _check_place(node)
            self._row(node.args.get("table"), scope)
        elif not node.args.get("table"):
            self._bare(node, scope, clause)
        elif not self._dotted(node, scope):
            self._field(node, scope, clause)

    def _row(self, table: exp.Identifier | None, scope: Scope) -> None:
        """`t.*` as a value: the whole row."""
        source = scope.source(self._dialect.stored_name(table)) if table else None
        if source is None or table is None:
            raise self._no_source(table.name if table else "*", scope)
        table.replace(spell_table(self._dialect, table, source.name))

    def _bare(self, node: exp.Column, scope: Scope, clause: Clause) -> None:
        identifier = node.this
        name = self._dialect.stored_name(identifier)
        alias = scope.alias(name) if clause in self._dialect.alias_clauses else None
        owner = scope.owners(name)
        if owner and owner[0] is scope and clause in _COLUMNS_FIRST:
            alias = None
        if alias is not None:  # the engine decides, where it could also be a column
            node.set("this", spell_column(self._dialect, identifier, alias))
        elif owner:
            self._owned(node, owner, is_output=clause in self._dialect.output_clauses)
        elif name.lower() in self._dialect.row_ids and scope.has_table():
            pass  # each row has one, and a policy's sub-query has none
        elif (row := self._whole_row(name, scope)) is not None:
            node.set("this", spell_table(self._dialect, identifier, row.name))
        elif self._is_text(node, scope):
            self._take_as_text(node)
        else:
            raise self._no_column(identifier, name, scope)

    def _is_text(self, node: exp.Column, scope: Scope) -> bool:
        """Whether the engine takes a name in double quotes for a text, and its author meant one.

        It does where no column has the name. A word that is nearly a column's name, or that stands
        alone in a list, is more likely a slip.
        """
        start = node.this.meta.get("start")
        return (
            self._dialect.reads_names_as_text
            and start is not None
            and self._text[start] == '"'
            and isinstance(node.parent, _OPERATIONS)
            and not nearest(node.name, scope.column_names(), cutoff=_NEARLY_A_COLUMN)
        )

    def _take_as_text(self, node: exp.Column) -> None:
        literal = exp.Literal.string(node.name)
        rewrite(literal, place_of([node.this]))
        node.replace(literal)
        self.notes[f'"{node.name[:60]}" was read as a text: no column has that name.'] = None

    def _owned(
        self, node: exp.Column, owner: tuple[Scope, str, list[FromItem]], *, is_output: bool
    ) -> None:
        scope, name, sources = owner
        node.set("this", spell_column(self._dialect, node.this, name))
        seen = [one for one in sources if not one.is_hidden] or sources
        key = self._dialect.column_key(name)
        if key in scope.merged:
            return
        if len(seen) > 1 and is_output and key in scope.plain:
            return  # ORDER BY names an output
        if len(seen) > 1:
            raise ambiguous_column(name, [one.name for one in seen])
        node.set("table", quoted(seen[0].name))

    def _whole_row(self, name: str, scope: Scope) -> FromItem | None:
        if not self._dialect.has_row_values:
            return None
        return scope.source(name)

    def _dotted(self, node: exp.Column, scope: Scope) -> bool:
        """`table.column` or `schema.table.column`; whether the table is there."""
        table = node.args["table"]
        source = scope.source(self._dialect.stored_name(table))
        if node.args.get("db"):
            source = self._of_schema(node, scope)
        if source is None:
            return False
        name = self._dialect.stored_name(node.this)
        column = scope.column_of(source, name)
        if column is None and source.table and name.lower() in self._dialect.row_ids:
            column = name
        if column is None:
            where = f"in {source.table.key if source.table else source.name}"
            raise unknown_name("column", name, source.columns, where=where)
        node.set("this", spell_column(self._dialect, node.this, column))
        node.set("table", spell_table(self._dialect, table, source.name))
        return True

    def _of_schema(self, node: exp.Column, scope: Scope) -> FromItem | None:
        schema = self._dialect.stored_name(node.args["db"])
        source = scope.source(self._dialect.stored_name(node.args["table"]))
        if source is None or source.table is None:
            return None
        own = source.table.schema
        expected = caseless_key(own) if own else self._dialect.default_schema
        return source if caseless_key(schema) == expected else None

    def _field(self, node: exp.Column, scope: Scope, clause: Clause) -> None:
        """`column.field` of a structure, where the dialect has them."""
        first, *rest = node.parts
        name = self._dialect.stored_name(first) if isinstance(first, exp.Identifier) else first.name
        if not self._dialect.has_fields:
            raise self._no_source(name, scope)
        source = scope.source(name)
        if source is not None and len(rest) > 1:
            root = exp.Column(this=rest[0].copy(), table=first.copy())
            rest = rest[1:]
        elif scope.owners(name) or scope.alias(name):
            root = exp.Column(this=first.copy())
        else:
            raise self._no_source(name, scope)
        holder = exp.Paren(this=root)
        self._column(root, scope, clause, frozenset())
        node.replace(exp.Dot.build([holder.this, *[part.copy() for part in rest]]))

    def _no_column(self, identifier: exp.Expr, name: str, scope: Scope) -> Exception:
        hint = _STRING_HINT if identifier.args.get("quoted") else ""
        known = [*scope.column_names(), *scope.aliases.values()]
        tables = [one.name for one in scope.sources]
        where = f"in {', '.join(tables[:5])}" if tables else "here"
        return unknown_name("column", name, known, where=where, hint=hint)

    def _no_source(self, name: str, scope: Scope) -> Exception:
        known = [source.name for each in scope.around() for source in each.sources]
        return unknown_name("table", name, known, where="or alias at this place of the statement")


def _check_place(node: exp.Expr) -> None:
    """A table has no place in an expression; a star has one in `count(*)`, and as a row's value."""
    parent = node.parent
    is_call = isinstance(parent, exp.Anonymous)
    if isinstance(node, exp.Star) and is_call and parent.name.lower() == "count":
        return
    if isinstance(node, exp.Column) and (is_call or isinstance(parent, exp.Is)):
        return
    raise refusal(
        "node_not_allowed",
        f"{node.name[:60] or '*'} stands inside an expression.",
        hint="Name the columns there, or write (SELECT … FROM …).",
    )
