"""The rule that a primary key in GROUP BY stands for all columns of its table.

The rule knows tables, not sub-queries, so a query that uses it would fail once its table is
replaced by one. Naming the other columns as well groups the same rows. Above: `compiling.py`.
"""

from __future__ import annotations

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.guard.edits import GROUPED_TOO
from dataagent_core.data.policy.rights import VisibleTable

_NOT_PLAIN = ("cube", "rollup", "grouping_sets", "totals", "all")


def complete_groups(tables: list[tuple[exp.Table, VisibleTable]], dialect: Dialect) -> None:
    """Add to each plain GROUP BY the used columns that a primary key in it determines."""
    if not dialect.groups_by_primary_key:
        return
    for node, seen in tables:
        select = node.find_ancestor(exp.Select)
        group = select.args.get("group") if select else None
        if select is None or group is None or any(group.args.get(each) for each in _NOT_PLAIN):
            continue
        grouped = {_name(each, node.alias_or_name) for each in group.expressions}
        key = seen.table.primary_key
        if key and grouped.issuperset(key) and not seen.masks.keys() & set(key):
            _add(select, group, node.alias_or_name, seen, grouped)


def _add(
    select: exp.Select, group: exp.Group, alias: str, seen: VisibleTable, grouped: set[str | None]
) -> None:
    names = {column.name for column in seen.columns}
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for clause in clauses:
        for column in clause.find_all(exp.Column) if clause else ():
            name = _name(column, alias)
            if name in names and name not in grouped:
                grouped.add(name)
                group.meta.setdefault(GROUPED_TOO, []).append(_plain(name, alias))


def _plain(name: str, alias: str) -> exp.Column:
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True)
    )


def _name(node: object, alias: str) -> str | None:
    return node.name if isinstance(node, exp.Column) and node.table == alias else None
