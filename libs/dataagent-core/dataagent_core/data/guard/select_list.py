"""The SELECT list: which columns a query gives, and under which names."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.guard.expressions import Expressions
from dataagent_core.data.guard.names import caseless_key, spell_table, unknown_name
from dataagent_core.data.guard.refusals import MAX_OUTPUTS, refusal, too_many
from dataagent_core.data.guard.scope import Scope, StarColumn, star_columns_of


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
