"""The items of FROM: tables, WITH queries, inner queries, functions; and how joins combine them.

Each becomes a `FromItem` of the scope, with its columns in order. Real tables are written in the
catalogue's spelling, under the name the statement has for them.
"""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.sql.edits import place_of, quoted, rewrite
from dataagent_core.data.sql.expressions import Expressions
from dataagent_core.data.sql.names import (
    Ctes,
    FromItem,
    Scope,
    StarColumn,
    TableLookup,
    caseless_key,
    duplicate_name,
    parts,
    single,
    spell_column,
    spell_table,
    star_columns_of,
    unknown_name,
)
from dataagent_core.data.sql.parse import name_of
from dataagent_core.data.sql.refusals import MAX_SOURCES, refusal, too_many


class QueryWalk(Protocol):
    """How an inner query is resolved: `resolve.py` passes itself down."""

    def __call__(self, node: exp.Expr, *, ctes: Ctes, outer: Scope | None) -> list[str]:
        """The names of its outputs."""
        ...


class FromClause:
    """Adds the items of a FROM clause to a scope."""

    def __init__(
        self,
        dialect: Dialect,
        tables: TableLookup,
        expressions: Expressions,
        query: QueryWalk,
    ) -> None:
        self._dialect = dialect
        self._tables = tables
        self._expressions = expressions
        self._query = query

    def join(self, joins: list[exp.Expr], scope: Scope) -> None:
        """Add joined items in order, each with its condition."""
        for join in joins:
            assert isinstance(join, exp.Join)  # noqa: S101 the parser puts nothing else there
            if _is_comma(join):
                scope.segment = len(scope.flow)  # USING after it looks no further back
            left = len(scope.flow)
            added = self.add(join.this, scope)
            if join.kind.upper() in {"SEMI", "ANTI"} or join.side.upper() in {"SEMI", "ANTI"}:
                del scope.flow[left:]
                for source in added:
                    source.is_hidden = True
            self._merge(join, scope, left, added)
            self._expressions.resolve(join.args.get("on"), scope, clause="on")

    def add(self, node: exp.Expr, scope: Scope) -> list[FromItem]:
        """Add one item; a bracket of joined tables adds several."""
        if _is_bracket(node):
            return self._bracket(node, scope)
        source = self._source(node, scope)
        self._check_name(source, scope)
        scope.sources.append(source)
        if error := too_many(len(scope.sources), MAX_SOURCES, "tables in one FROM"):
            raise error
        scope.flow += star_columns_of(source)
        added = [source]
        joins = parts(node, "joins")
        if joins:
            before = len(scope.sources)
            self.join(joins, scope)
            added += scope.sources[before:]
        return added

    def _bracket(self, node: exp.Expr, scope: Scope) -> list[FromItem]:
        before = len(scope.sources)
        start, scope.segment = scope.segment, len(scope.flow)
        self.add(node.this, scope)
        self.join(parts(node, "joins"), scope)
        scope.segment = start
        return scope.sources[before:]

    def _source(self, node: exp.Expr, scope: Scope) -> FromItem:
        if isinstance(node, exp.Table):
            if isinstance(node.this, exp.Identifier):
                return self._table(node, scope)
            return self._function(node, node.this, scope)
        if isinstance(node, exp.Lateral):
            return self._lateral(node, scope)
        if isinstance(node, exp.Unnest):
            return self._unnest(node, scope)
        if isinstance(node, exp.Subquery | exp.Values):
            outer = scope if self._dialect.is_every_subquery_lateral else scope.parent
            return self._derived(node, node, scope, outer)
        raise refusal(
            "node_not_allowed",
            f"{type(node).__name__} cannot stand in FROM.",
            hint="Name a table there, or a query in brackets.",
        )

    def _table(self, node: exp.Table, scope: Scope) -> FromItem:
        written = self._dialect.stored_name(node.this)
        name = self._alias(node) or written
        given = self._given(node)
        cte = None if node.args.get("db") else self._cte(written, scope)
        if cte:
            node.set("this", spell_table(self._dialect, node.this, cte[0]))
            return FromItem(name, _renamed(given, cte[1], name), node)
        table = self._tables.find(node)
        rewrite(node, place_of([node.this, node.args.get("db")]))
        node.set("this", quoted(table.name))
        schema = table.schema or (self._dialect.stored_name(node.args["db"]) if node.db else None)
        node.set("db", quoted(schema) if schema else None)  # without it a WITH query could be meant
        key = self._dialect.table_key
        if not node.args.get("alias") and key(table.name) != key(name):
            node.set("alias", exp.TableAlias(this=quoted(name)))
        columns = [column.name for column in table.columns]
        return FromItem(name, _renamed(given, columns, name), node, table)

    def _cte(self, name: str, scope: Scope) -> tuple[str, list[str]] | None:
        exact = scope.ctes.get(self._dialect.table_key(name))
        if exact is not None:
            return name, exact
        found = single(key for key in scope.ctes if caseless_key(key) == caseless_key(name))
        return (found, scope.ctes[found]) if found else None

    def _derived(
        self, node: exp.Expr, query: exp.Expr, scope: Scope, outer: Scope | None
    ) -> FromItem:
        inner = query.this if isinstance(query, exp.Subquery) else query
        names = (
            self._joined(query, scope.ctes, outer)
            if _is_joined(query)
            else self._query(inner, ctes=scope.ctes, outer=outer)
        )
        name = self._alias(node) or ""
        return FromItem(name, _renamed(self._given(node), names, name), node)

    def _joined(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> list[str]:
        """The columns of `(a JOIN b ON …) AS j`, whose inner names end at the bracket."""
        scope = Scope(self._dialect, ctes, outer)
        self.add(node.this, scope)
        return [one.name for one in scope.flow]

    def _lateral(self, node: exp.Lateral, scope: Scope) -> FromItem:
        inner = node.this
        if isinstance(inner, exp.Subquery):
            return self._derived(node, inner, scope, scope)
        if isinstance(inner, exp.Unnest):
            return self._unnest(inner, scope, holder=node)
        return self._function(node, inner, scope)

    def _unnest(
        self, node: exp.Unnest, scope: Scope, *, holder: exp.Expr | None = None
    ) -> FromItem:
        for each in node.expressions:
            self._expressions.resolve(each, scope, clause="from")
        holder = holder or node
        offset = node.args.get("offset")
        name = self._alias(holder) or "unnest"
        columns = self._given(holder) or [
            name if self._dialect.names_columns_after_alias else "unnest"
        ]
        if isinstance(offset, exp.Identifier):
            columns = [*columns, self._dialect.stored_name(offset)]
        elif offset:
            columns = [*columns, "ordinality"]
        return FromItem(name, columns, holder)

    def _function(self, node: exp.Expr, function: exp.Expr, scope: Scope) -> FromItem:
        for each in function.iter_expressions():
            if not isinstance(each, exp.JSONSchema):
                self._expressions.resolve(each, scope, clause="from")
        called = name_of(function) if isinstance(function, exp.Func) else function.name
        name = self._alias(node) or called
        columns = list(self._dialect.table_functions.get(called, ()))
        if isinstance(function, exp.JSONTable):
            columns = [one.name for one in function.find_all(exp.JSONColumnDef) if one.name]
        if not columns:
            columns = [name if self._dialect.names_columns_after_alias else called]
        if node.args.get("ordinality"):
            columns = [*columns, "ordinality"]
        return FromItem(name, _renamed(self._given(node), columns, name), node)

    def _given(self, node: exp.Expr) -> list[str]:
        """The columns that an alias names: `AS x(a, b)`."""
        alias = node.args.get("alias")
        columns: list[exp.Expr] = alias.columns if isinstance(alias, exp.TableAlias) else []
        identifiers = [one.this if isinstance(one, exp.ColumnDef) else one for one in columns]
        return [self._dialect.stored_name(one) for one in identifiers]

    def _alias(self, node: exp.Expr) -> str | None:
        alias = node.args.get("alias")
        name = alias.this if isinstance(alias, exp.TableAlias) else None
        return self._dialect.stored_name(name) if name else None

    def _check_name(self, source: FromItem, scope: Scope) -> None:
        key = self._dialect.table_key
        if source.name and any(key(one.name) == key(source.name) for one in scope.sources):
            raise duplicate_name(source.name)

    def _merge(self, join: exp.Join, scope: Scope, left: int, added: list[FromItem]) -> None:
        """USING and NATURAL: one column for two, which is then named without a table."""
        right = [(column, one) for one in added for column in one.columns]
        names = self._common(join, scope, left, [column for column, _ in right])
        if not names:
            return
        key = self._dialect.column_key
        keys = {key(name) for name in names}
        scope.merged |= keys
        if added and added[0].is_hidden:
            return
        before, segment = scope.flow[: scope.segment], scope.flow[scope.segment : left]
        rest = [one for one in scope.flow[left:] if key(one.name) not in keys]
        if self._dialect.merges_columns_first:
            first = [StarColumn(name, None) for name in names]
            others = [one for one in segment if key(one.name) not in keys]
        else:
            first = []
            others = [
                StarColumn(one.name, None) if key(one.name) in keys else one for one in segment
            ]
        scope.flow = [*before, *first, *others, *rest]

    def _same_case(self, name: str, ours: dict[str, str]) -> str:
        if self._dialect.column_key(name) in ours:
            return name
        found = single(one for one in ours.values() if caseless_key(one) == caseless_key(name))
        return found or name

    def _common(self, join: exp.Join, scope: Scope, left: int, right: list[str]) -> list[str]:
        """The merged columns, in the order `*` gives them."""
        key = self._dialect.column_key
        ours = {key(one.name): one.name for one in reversed(scope.flow[scope.segment : left])}
        theirs = {key(one) for one in right}
        if join.method.upper() == "NATURAL":
            names = [name for each, name in ours.items() if each in theirs]
            names.sort(key=[one.name for one in scope.flow[scope.segment : left]].index)
            return names
        names: list[str] = []
        for identifier in parts(join, "using"):
            name = self._same_case(self._dialect.stored_name(identifier), ours)
            if key(name) not in ours or key(name) not in theirs:
                raise unknown_name(
                    "column", name, [*ours.values(), *right], where="on both sides of USING"
                )
            names.append(ours[key(name)])
            identifier.replace(spell_column(self._dialect, identifier, ours[key(name)]))
        if self._dialect.merges_columns_in_table_order:
            names.sort(key=[one.name for one in scope.flow[scope.segment : left]].index)
        return names


def _renamed(given: list[str], columns: list[str], name: str) -> list[str]:
    """The columns under the names that an alias gives them: `AS x(a, b)`."""
    if len(given) > len(columns):
        raise refusal(
            "node_not_allowed",
            f"{name[:60]} has {len(columns)} columns, and its alias names {len(given)}.",
            hint="Name at most as many columns as there are.",
        )
    return [*given, *columns[len(given) :]]


def _is_comma(join: exp.Join) -> bool:
    condition = join.args.get("on") or join.args.get("using")
    return not (join.side or join.kind or join.method or condition)


def _is_bracket(node: exp.Expr) -> bool:
    """`(a JOIN b ON …)`: brackets around tables, not around a query, and with no name."""
    is_around = isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery)
    return is_around and not node.args.get("alias")


def _is_joined(node: exp.Expr) -> bool:
    """As `_is_bracket`, under a name of its own."""
    if not isinstance(node, exp.Subquery):
        return False
    inner = node.this
    return isinstance(inner, exp.Table) or (
        isinstance(inner, exp.Subquery) and bool(inner.args.get("alias") or inner.args.get("joins"))
    )


def values_columns(node: exp.Values, dialect: Dialect) -> list[str]:
    """What an engine calls the columns of VALUES without names."""
    first = next(iter(node.expressions), None)
    count = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    return dialect.values_columns(count)
