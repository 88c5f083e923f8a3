"""The SELECT list: stars become columns, and each output keeps the name the query gives it."""

from __future__ import annotations

from typing import Literal, cast

from sqlglot import exp

from dataagent_core.data.guard.expressions import Expressions
from dataagent_core.data.guard.labels import label_of
from dataagent_core.data.guard.names import Naming, caseless, quoted, unknown
from dataagent_core.data.guard.refusals import MAX_OUTPUTS, refusal, too_many
from dataagent_core.data.guard.scope import Flow, Scope, Source, flow_of

Shown = Literal["result", "inner", "none"]
"""Who sees the names of outputs: the reader, a query around, or no one."""


class Outputs:
    """Resolves SELECT lists in place."""

    def __init__(self, naming: Naming, expressions: Expressions) -> None:
        self._naming = naming
        self._expressions = expressions

    def note_aliases(self, node: exp.Select, scope: Scope) -> None:
        """Tell the scope which names the list gives, for ORDER BY and its like."""
        for each in node.expressions:
            if isinstance(each, exp.Alias):
                name = self._naming.stored(each.args["alias"])
                scope.aliases.setdefault(self._naming.column_key(name), name)
                scope.aliases.setdefault(caseless(name), name)
            elif isinstance(each, exp.Column):
                scope.plain.add(self._naming.column_key(self._naming.stored(each.this)))

    def resolve(self, node: exp.Select, scope: Scope, *, shown: Shown) -> list[str]:
        """Resolve the list; the names of its outputs."""
        outputs: list[exp.Expr] = []
        names: list[str] = []
        for each in node.expressions:
            star = _star_of(each)
            if star is None:
                output, name = self._one(each, scope, shown=shown)
                outputs.append(output)
                names.append(name)
            else:
                for output, given in self._star(each, star, scope):
                    outputs.append(output)
                    names += given
            if error := too_many(len(names), MAX_OUTPUTS, "columns"):
                raise error
        node.set("expressions", outputs)
        return names

    def _one(self, node: exp.Expr, scope: Scope, *, shown: Shown) -> tuple[exp.Expr, str]:
        if isinstance(node, exp.Alias):
            self._expressions.resolve(node, scope, clause="select")
            return node, self._naming.stored(node.args["alias"])
        written = node.name if isinstance(node, exp.Column) else ""
        label = "" if shown == "none" else label_of(node, self._naming.dialect)
        holder = exp.Paren(this=node)
        self._expressions.resolve(node, scope, clause="select")
        resolved = cast(exp.Expr, holder.this)
        if isinstance(resolved, exp.Column):
            return self._plain(resolved, written, shown)
        if isinstance(resolved, exp.Dot):
            return resolved, resolved.name
        if isinstance(resolved, exp.Subquery) and resolved.args.get("alias"):
            return resolved, resolved.alias
        if shown == "none" or (shown == "result" and self._naming.dialect == "postgres"):
            return resolved, label
        return exp.alias_(resolved, quoted(label), copy=False), label

    def _plain(self, node: exp.Column, written: str, shown: Shown) -> tuple[exp.Expr, str]:
        """A bare column: an output is called as it was where the engine calls it so."""
        name = node.name
        is_own = self._naming.dialect == "mysql" or (
            self._naming.dialect == "sqlite" and shown == "inner"
        )
        if written and written != name and is_own:
            return exp.alias_(node, quoted(written), copy=False), written
        return node, name

    def _star(
        self, node: exp.Expr, star: exp.Star, scope: Scope
    ) -> list[tuple[exp.Expr, list[str]]]:
        flow = self._flow(node, scope)
        skipped = self._named(star.args.get("except_"), flow)
        renamed = self._renamed(star, flow)
        replaced = self._replaced(star, flow, scope)
        key = self._naming.column_key
        listed: list[tuple[exp.Expr, list[str]]] = []
        for one in flow:
            if one.name == "*" and one.source:
                listed.append((_all_of(one.source), one.source.columns))
                continue
            if key(one.name) in skipped:
                continue
            name = renamed.get(key(one.name), one.name)
            replacement = replaced.get(key(one.name))
            column = replacement.copy() if replacement else _column(one)
            if replacement or name != one.name:
                column = exp.alias_(column, quoted(name), copy=False)
            listed.append((column, [name]))
        if not listed:
            raise refusal(
                "node_not_allowed", "The star stands for no column.", hint="Name the columns."
            )
        return listed

    def _flow(self, node: exp.Expr, scope: Scope) -> list[Flow]:
        table = node.args.get("table") if isinstance(node, exp.Column) else None
        if table is None:
            return scope.flow
        source = scope.source(self._naming.stored(table))
        if source is None:
            known = [one.name for one in scope.sources]
            raise unknown("table", table.name, known, where="or alias in this FROM")
        return flow_of(source)

    def _named(self, nodes: list[exp.Expr] | None, flow: list[Flow]) -> set[str]:
        key = self._naming.column_key
        known = {key(one.name) for one in flow}
        keys: set[str] = set()
        for node in nodes or []:
            if key(node.name) not in known:
                raise unknown("column", node.name, [one.name for one in flow], where="in the star")
            keys.add(key(node.name))
        return keys

    def _renamed(self, star: exp.Star, flow: list[Flow]) -> dict[str, str]:
        aliases: list[exp.Alias] = star.args.get("rename") or []
        self._named([one.this for one in aliases], flow)
        return {self._naming.column_key(one.this.name): one.alias for one in aliases}

    def _replaced(self, star: exp.Star, flow: list[Flow], scope: Scope) -> dict[str, exp.Expr]:
        aliases: list[exp.Alias] = star.args.get("replace") or []
        self._named([one.args["alias"] for one in aliases], flow)
        for one in aliases:
            self._expressions.resolve(one, scope, clause="select")
        return {self._naming.column_key(one.alias): cast(exp.Expr, one.this) for one in aliases}


def _star_of(node: exp.Expr) -> exp.Star | None:
    if isinstance(node, exp.Star):
        return node
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return node.this
    return None


def _column(one: Flow) -> exp.Expr:
    table = quoted(one.source.name) if one.source else None
    return exp.Column(this=quoted(one.name), table=table)


def _all_of(source: Source) -> exp.Expr:
    """`x.*` as it is, where two columns of `x` have one name: neither could be named alone."""
    return exp.Column(this=exp.Star(), table=quoted(source.name))
