"""Names of a query checked against the catalogue and spelled out, with no change of meaning.

Every table gets the catalogue's spelling and an alias, every column its table, every `*` over a
table becomes its columns. What the engine decides better than we do (an output's alias in ORDER BY,
a column merged by USING) stays a bare name that was found to exist. Only the catalogue passed in is
visible, so no error can tell of anything else. Above: the query service. Below: `sources.py` for
FROM, `expressions.py` for everything else, `outputs.py` for SELECT lists.
"""

from __future__ import annotations

from sqlglot import exp

from dataagent_core.data.guard.expressions import Clause, Expressions
from dataagent_core.data.guard.names import Naming, caseless, unknown
from dataagent_core.data.guard.outputs import Outputs, Shown
from dataagent_core.data.guard.parts import parts
from dataagent_core.data.guard.refusals import refusal
from dataagent_core.data.guard.scope import Ctes, Scope
from dataagent_core.data.guard.shelves import Handle, arranged
from dataagent_core.data.guard.sources import Sources, values_columns
from dataagent_core.data.guard.text import too_deep
from dataagent_core.data.types import Catalogue

_CLAUSES: tuple[Clause, ...] = (
    *("where", "group", "having", "qualify"),
    *("order", "limit", "offset"),
)
_TAIL: tuple[Clause, ...] = ("order", "limit", "offset")


def resolve(tree: exp.Query, dialect: str, catalogue: Catalogue) -> exp.Query:
    """A copy of the query with all names resolved. Raises `UnknownName`, with the nearest names."""
    try:
        copied = tree.copy()
        walker = _Walker(dialect, catalogue)
        walker.query(copied, ctes={}, outer=None, shown="result")
    except RecursionError:
        raise too_deep() from None
    return copied


class _Walker:
    """Goes through the queries of a tree from the inside out, and knows what each one gives."""

    def __init__(self, dialect: str, catalogue: Catalogue) -> None:
        self._naming = Naming(dialect)
        self._expressions = Expressions(self._naming, self._subquery)
        self._outputs = Outputs(self._naming, self._expressions)
        shelves = arranged(Handle(catalogue), dialect)
        self._sources = Sources(self._naming, shelves, self._expressions, self.query)

    def query(self, node: exp.Expr, *, ctes: Ctes, outer: Scope | None, shown: Shown) -> list[str]:
        """Resolve a query in place; the names of its outputs. `shown`: to whom they are."""
        visible = self._with(node, ctes, outer)
        if isinstance(node, exp.Select):
            return self._select(node, visible, outer, shown=shown)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, visible, outer, shown=shown)
        if isinstance(node, exp.Subquery):
            names = self.query(node.this, ctes=visible, outer=outer, shown=shown)
            self._tail(node, names, visible, outer)
            return names
        if isinstance(node, exp.Values):
            scope = Scope(self._naming, visible, outer)
            for row in node.expressions:
                self._expressions.resolve(row, scope, clause="value")
            names = values_columns(node, self._naming.dialect)
            self._tail(node, names, visible, outer)
            return names
        raise refusal(
            "node_not_allowed",
            f"{type(node).__name__} stands where a query should.",
            hint="Write it as SELECT … FROM ….",
        )

    def _subquery(self, node: exp.Expr, scope: Scope) -> None:
        self.query(node, ctes=scope.ctes, outer=scope, shown="none")

    def _select(
        self, node: exp.Select, ctes: Ctes, outer: Scope | None, *, shown: Shown
    ) -> list[str]:
        scope = Scope(self._naming, ctes, outer)
        from_ = node.args.get("from_")
        if from_ and not self._is_dual(node, from_.this):
            self._sources.add(from_.this, scope)
        self._sources.join(parts(node, "joins"), scope)
        self._outputs.note_aliases(node, scope)
        for clause in _CLAUSES:
            self._expressions.resolve(node.args.get(clause), scope, clause=clause)
        for window in parts(node, "windows"):
            self._expressions.resolve(window, scope, clause="window")
        distinct = node.args.get("distinct")
        self._expressions.resolve(distinct, scope, clause="order")
        return self._outputs.resolve(node, scope, shown=shown)

    def _is_dual(self, node: exp.Select, table: exp.Expr) -> bool:
        """MySQL's `FROM DUAL`, which is no FROM at all, is left out."""
        if self._naming.dialect != "mysql" or not isinstance(table, exp.Table):
            return False
        if caseless(table.name) != "dual" or table.db or node.args.get("joins"):
            return False
        node.set("from_", None)
        return True

    def _set_operation(
        self, node: exp.SetOperation, ctes: Ctes, outer: Scope | None, *, shown: Shown
    ) -> list[str]:
        arms, nodes = _arms(node)
        named = [
            self.query(arm, ctes=ctes, outer=outer, shown=shown if index == 0 else "none")
            for index, arm in enumerate(arms)
        ]
        names = named[0]
        if any(each.args.get("by_name") for each in nodes):
            names = list(dict.fromkeys(name for each in named for name in each))
        for each in nodes:
            self._tail(each, names, ctes, outer)
        return names

    def _tail(self, node: exp.Expr, names: list[str], ctes: Ctes, outer: Scope | None) -> None:
        """ORDER BY and LIMIT after a whole query: they see its outputs alone."""
        scope = Scope(self._naming, ctes, outer)
        for name in names:
            scope.aliases.setdefault(self._naming.column_key(name), name)
            scope.aliases.setdefault(caseless(name), name)
        for clause in _TAIL:
            self._expressions.resolve(node.args.get(clause), scope, clause=clause)

    def _with(self, node: exp.Expr, ctes: Ctes, outer: Scope | None) -> Ctes:
        with_ = node.args.get("with_")
        if not with_:
            return ctes
        visible = dict(ctes)
        is_recursive = bool(with_.args.get("recursive")) or self._naming.dialect == "sqlite"
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
        given = [self._naming.stored(one) for one in cte.args["alias"].columns]
        body = cte.this
        if is_recursive and isinstance(body, exp.SetOperation):
            return self._recursive(cte, body, given, ctes, outer)
        names = self.query(body, ctes=ctes, outer=outer, shown="none" if given else "inner")
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
        names = self.query(arms[0], ctes=inner, outer=outer, shown="none" if given else "inner")
        names = [*given, *names[len(given) :]]
        inner = {**inner, self._cte_key(cte): names}
        for arm in arms[1:]:
            self.query(arm, ctes=inner, outer=outer, shown="none")
        for each in nodes:
            self._tail(each, names, inner, outer)
        own = caseless(cte.alias)
        if any(caseless(table.name) == own for table in body.find_all(exp.Table)) and cte.parent:
            cte.parent.set("recursive", True)  # SQLite does not ask for the word; readers do
        return names

    def _check_order(self, cte: exp.CTE, later: set[str]) -> None:
        """Engines differ on a WITH query that names a later one: it is not left to them."""
        for table in cte.find_all(exp.Table) if later else ():
            if not table.db and isinstance(table.this, exp.Identifier):
                key = self._naming.table_key(self._naming.stored(table.this))
                if key in later:
                    hint = " It is defined later: put its WITH query first."
                    raise unknown("table", table.name, (), where="at this place", hint=hint)

    def _cte_key(self, cte: exp.CTE) -> str:
        return self._naming.table_key(self._naming.stored(cte.args["alias"].this))


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
