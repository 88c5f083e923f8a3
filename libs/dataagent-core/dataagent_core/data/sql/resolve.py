"""Resolves the names of a query against the catalogue, with no change of meaning.

The tree learns which table each column is of. The text changes only where the engine would not find
what the statement means: a table gets the catalogue's spelling, and a name of another case the
existing one. Only the catalogue passed in is visible, so no error can mention anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.sql.expressions import Clause, Expressions
from dataagent_core.data.sql.from_clause import FromClause, values_columns
from dataagent_core.data.sql.names import (
    CatalogueKey,
    Ctes,
    Scope,
    StarColumn,
    caseless_key,
    lookup_of,
    parts,
    spell_table,
    star_columns_of,
    unknown_name,
)
from dataagent_core.data.sql.refusals import MAX_OUTPUTS, refusal, too_many
from dataagent_core.data.sql.render import SelectItems, write
from dataagent_core.data.sql.statement import ParsedStatement, too_deep
from dataagent_core.data.types import Catalogue


class SelectList:
    """Resolves SELECT lists in place."""

    def __init__(
        self, dialect: Dialect, expressions: Expressions, label_of: Callable[[exp.Expr], str]
    ) -> None:
        self._dialect = dialect
        self._expressions = expressions
        self._label_of = label_of

    def note_aliases(self, node: exp.Select, scope: Scope) -> None:
        """Tell the scope which names the list gives, for ORDER BY and its like."""
        for each in node.expressions:
            if isinstance(each, exp.Alias):
                name = self._dialect.stored_name(each.args["alias"])
                scope.aliases.setdefault(self._dialect.column_key(name), name)
                scope.aliases.setdefault(caseless_key(name), name)
            elif isinstance(each, exp.Column):
                scope.plain.add(self._dialect.column_key(self._dialect.stored_name(each.this)))

    def resolve(self, node: exp.Select, scope: Scope) -> list[str]:
        """Resolve the list; the names of its outputs."""
        names: list[str] = []
        for each in node.expressions:
            star = _star_of(each)
            names += [self._one(each, scope)] if star is None else self._star(each, star, scope)
            if error := too_many(len(names), MAX_OUTPUTS, "columns"):
                raise error
        return names

    def _one(self, node: exp.Expr, scope: Scope) -> str:
        if isinstance(node, exp.Alias):
            self._expressions.resolve(node, scope, clause="select")
            return self._dialect.stored_name(node.args["alias"])
        label = "" if isinstance(node, exp.Column) else self._label_of(node)
        holder = exp.Tuple(expressions=[])
        node.replace(holder)  # resolving may put a field of a column, or a text, in its place
        holder.append("expressions", node)
        self._expressions.resolve(node, scope, clause="select")
        resolved = cast(exp.Expr, holder.expressions[0])
        holder.replace(resolved)
        if isinstance(resolved, exp.Column):
            return self._dialect.stored_name(resolved.this)
        if isinstance(resolved, exp.Dot):
            return self._dialect.stored_name(resolved.expression)
        if isinstance(resolved, exp.Subquery) and resolved.args.get("alias"):
            return self._dialect.stored_name(resolved.args["alias"].this)
        return label

    def _star(self, node: exp.Expr, star: exp.Star, scope: Scope) -> list[str]:
        flow = self._flow(node, scope)
        skipped = self._named(star.args.get("except_"), flow)
        renamed = self._renamed(star, flow)
        self._replaced(star, flow, scope)
        key = self._dialect.column_key
        names: list[str] = []
        for one in flow:
            if one.name == "*" and one.source:
                names += one.source.columns
            elif key(one.name) not in skipped:
                names.append(renamed.get(key(one.name), one.name))
        if not names:
            raise refusal(
                "node_not_allowed", "The star stands for no column.", hint="Name the columns."
            )
        return names

    def _flow(self, node: exp.Expr, scope: Scope) -> list[StarColumn]:
        table = node.args.get("table") if isinstance(node, exp.Column) else None
        if table is None:
            return scope.flow
        source = scope.source(self._dialect.stored_name(table))
        if source is None:
            known = [one.name for one in scope.sources]
            raise unknown_name("table", table.name, known, where="or alias in this FROM")
        table.replace(spell_table(self._dialect, table, source.name))
        return star_columns_of(source)

    def _named(self, nodes: list[exp.Expr] | None, flow: list[StarColumn]) -> set[str]:
        key = self._dialect.column_key
        known = {key(one.name) for one in flow}
        keys: set[str] = set()
        for node in nodes or []:
            if key(node.name) not in known:
                raise unknown_name(
                    "column", node.name, [one.name for one in flow], where="in the star"
                )
            keys.add(key(node.name))
        return keys

    def _renamed(self, star: exp.Star, flow: list[StarColumn]) -> dict[str, str]:
        aliases: list[exp.Alias] = star.args.get("rename") or []
        self._named([one.this for one in aliases], flow)
        return {self._dialect.column_key(one.this.name): one.alias for one in aliases}

    def _replaced(self, star: exp.Star, flow: list[StarColumn], scope: Scope) -> None:
        aliases: list[exp.Alias] = star.args.get("replace") or []
        self._named([one.args["alias"] for one in aliases], flow)
        for one in aliases:
            self._expressions.resolve(one, scope, clause="select")


def _star_of(node: exp.Expr) -> exp.Star | None:
    if isinstance(node, exp.Star):
        return node
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return node.this
    return None


_CLAUSES: tuple[Clause, ...] = (
    *("where", "group", "having", "qualify"),
    *("order", "limit", "offset"),
)
_TAIL: tuple[Clause, ...] = ("order", "limit", "offset")


def resolve(statement: ParsedStatement, catalogue: Catalogue) -> ParsedStatement:
    """The statement with all names resolved. Raises `UnknownName`, with the nearest names."""
    try:
        tree = statement.tree.copy()
        walker = _Walker(replace(statement, tree=tree), catalogue)
        walker.query(tree, ctes={}, outer=None)
    except RecursionError:
        raise too_deep() from None
    return replace(statement, tree=tree, notes=tuple(walker.notes))


class _Walker:
    """Goes through the queries of a tree from the inside out, and knows what each one gives."""

    def __init__(self, statement: ParsedStatement, catalogue: Catalogue) -> None:
        self._dialect = statement.dialect
        self._expressions = Expressions(self._dialect, statement.text, self._subquery)
        self._outputs = SelectList(self._dialect, self._expressions, _Labels(statement).of)
        tables = lookup_of(CatalogueKey(catalogue), statement.dialect)
        self._from_clause = FromClause(self._dialect, tables, self._expressions, self.query)

    @property
    def notes(self) -> list[str]:
        """What the reader should know about how names were read."""
        return list(self._expressions.notes)

    def query(self, node: exp.Expr, *, ctes: Ctes, outer: Scope | None) -> list[str]:
        """Resolve a query in place; the names of its outputs."""
        visible = self._with(node, ctes, outer)
        if isinstance(node, exp.Select):
            return self._select(node, visible, outer)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, visible, outer)
        if isinstance(node, exp.Subquery):
            names = self.query(node.this, ctes=visible, outer=outer)
            self._tail(node, names, visible, outer)
            return names
        if isinstance(node, exp.Values):
            scope = Scope(self._dialect, visible, outer)
            for row in node.expressions:
                self._expressions.resolve(row, scope, clause="value")
            names = values_columns(node, self._dialect)
            self._tail(node, names, visible, outer)
            return names
        raise refusal(
            "node_not_allowed",
            f"{type(node).__name__} stands where a query should.",
            hint="Write it as SELECT … FROM ….",
        )

    def _subquery(self, node: exp.Expr, scope: Scope) -> None:
        self.query(node, ctes=scope.ctes, outer=scope)

    def _select(self, node: exp.Select, ctes: Ctes, outer: Scope | None) -> list[str]:
        scope = Scope(self._dialect, ctes, outer)
        from_ = node.args.get("from_")
        if from_ and not self._is_dual(node, from_.this):
            self._from_clause.add(from_.this, scope)
        self._from_clause.join(parts(node, "joins"), scope)
        self._outputs.note_aliases(node, scope)
        for clause in _CLAUSES:
            self._expressions.resolve(node.args.get(clause), scope, clause=clause)
        for window in parts(node, "windows"):
            self._expressions.resolve(window, scope, clause="window")
        distinct = node.args.get("distinct")
        self._expressions.resolve(distinct, scope, clause="order")
        return self._outputs.resolve(node, scope)

    def _is_dual(self, node: exp.Select, table: exp.Expr) -> bool:
        """`FROM DUAL` where that is no FROM at all; the tree has none then."""
        if not self._dialect.has_dual or not isinstance(table, exp.Table):
            return False
        if caseless_key(table.name) != "dual" or table.db or node.args.get("joins"):
            return False
        node.set("from_", None)
        return True

    def _set_operation(self, node: exp.SetOperation, ctes: Ctes, outer: Scope | None) -> list[str]:
        arms, nodes = _arms(node)
        named = [self.query(arm, ctes=ctes, outer=outer) for arm in arms]
        names = named[0]
        if any(each.args.get("by_name") for each in nodes):
            names = list(dict.fromkeys(name for each in named for name in each))
        is_by_every_arm = self._dialect.orders_by_every_arm
        ordered = [name for each in named for name in each] if is_by_every_arm else names
        for each in nodes:
            self._tail(each, ordered, ctes, outer)
        return names

    def _tail(self, node: exp.Expr, names: list[str], ctes: Ctes, outer: Scope | None) -> None:
        """ORDER BY and LIMIT after a whole query: they see its outputs alone."""
        scope = Scope(self._dialect, ctes, outer)
        for name in names:
            scope.aliases.setdefault(self._dialect.column_key(name), name)
            scope.aliases.setdefault(caseless_key(name), name)
        for clause in _TAIL:
            self._expressions.resolve(node.args.get(clause), scope, clause=clause)

    def _with(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> Ctes:
        with_ = node.args.get("with_")
        if not with_:
            return ctes
        visible = dict(ctes)
        is_recursive = bool(with_.args.get("recursive")) or self._dialect.recurses_without_word
        later = {self._cte_key(cte) for cte in with_.expressions} if is_recursive else set[str]()
        for cte in with_.expressions:
            later.discard(self._cte_key(cte))
            self._check_order(cte, later)
            names = self._cte(cte, visible, outer, is_recursive=is_recursive)
            visible[self._cte_key(cte)] = names
        return visible

    def _cte(
        self, cte: exp.CTE, ctes: dict[str, list[str]], outer: Scope | None, *, is_recursive: bool
    ) -> list[str]:
        given = [self._dialect.stored_name(one) for one in cte.args["alias"].columns]
        body = cte.this
        if is_recursive and isinstance(body, exp.SetOperation):
            return self._recursive(cte, body, given, ctes, outer)
        names = self.query(body, ctes=ctes, outer=outer)
        return [*given, *names[len(given) :]]

    def _recursive(
        self,
        cte: exp.CTE,
        body: exp.SetOperation,
        given: list[str],
        ctes: dict[str, list[str]],
        outer: Scope | None,
    ) -> list[str]:
        """The first arm gives the columns that the others may read under the query's own name."""
        arms, nodes = _arms(body)
        inner = self._with(body, ctes, outer)
        names = self.query(arms[0], ctes=inner, outer=outer)
        names = [*given, *names[len(given) :]]
        inner = {**inner, self._cte_key(cte): names}
        for arm in arms[1:]:
            self.query(arm, ctes=inner, outer=outer)
        for each in nodes:
            self._tail(each, names, inner, outer)
        own = caseless_key(cte.alias)
        if (
            any(caseless_key(table.name) == own for table in body.find_all(exp.Table))
            and cte.parent
        ):
            cte.parent.set("recursive", True)  # SQLite does not ask for the word; readers do
        return names

    def _check_order(self, cte: exp.CTE, later: set[str]) -> None:
        """Engines differ on a WITH query that names a later one: it is not left to them."""
        for table in cte.find_all(exp.Table) if later else ():
            if not table.db and isinstance(table.this, exp.Identifier):
                key = self._dialect.table_key(self._dialect.stored_name(table.this))
                if key in later:
                    hint = " It is defined later: put its WITH query first."
                    raise unknown_name("table", table.name, (), where="at this place", hint=hint)

    def _cte_key(self, cte: exp.CTE) -> str:
        return self._dialect.table_key(self._dialect.stored_name(cte.args["alias"].this))


class _Labels:
    """The names that an engine gives to the outputs of a statement."""

    def __init__(self, statement: ParsedStatement) -> None:
        self._statement = statement
        self._items: SelectItems | None = None  # most statements never ask

    def of(self, node: exp.Expr) -> str:
        """The name that the dialect gives it, or else the expression as written."""
        dialect = self._statement.dialect
        label = dialect.label(node, lambda each: write(each, dialect))
        if label is not None:
            return label
        self._items = self._items or SelectItems(self._statement)
        place = self._items.place(node)
        if place is None:
            return write(node, dialect)
        return self._statement.text[place[0] : place[1] + 1]


def _arms(node: exp.SetOperation) -> tuple[list[exp.Expr], list[exp.SetOperation]]:
    """The queries a set operation combines, from left to right, and its own nodes."""
    arms: list[exp.Expr] = []
    nodes: list[exp.SetOperation] = []
    stack: list[exp.Expr] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, exp.SetOperation) and (each is node or not each.args.get("with_")):
            nodes.append(each)
            stack += [each.expression, each.this]
        else:
            arms.append(each)
    return arms, nodes
