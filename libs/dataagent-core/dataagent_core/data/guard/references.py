"""Which real tables a query reads: names that are not those of its own WITH clauses.

Structural: by the place of each name alone, so it holds before and after names are resolved and
policies compiled in.
"""

from __future__ import annotations

from sqlglot import exp

from dataagent_core.data.guard.names import caseless_key


def tables_of(tree: exp.Expr) -> list[exp.Table]:
    """The table nodes that stand for tables of the source, in the order of the text."""
    return [table for table in tree.find_all(exp.Table, bfs=False) if is_real(table)]


def is_real(table: exp.Table) -> bool:
    """Whether a table node names a table, not a function or an inner query of a WITH."""
    if not isinstance(table.this, exp.Identifier):
        return False
    return bool(table.db) or with_query_of(table) is None


def with_query_of(table: exp.Table) -> exp.CTE | None:
    """The WITH query that the name means, if one is visible where it stands."""
    wanted = caseless_key(table.name)
    inside: exp.Expr = table
    while (parent := inside.parent) is not None:
        if isinstance(parent, exp.With):
            found = _earlier(parent, inside, wanted)
            if found:
                return found
            inside = parent.parent or parent  # its query is what the WITH belongs to
            continue
        found = _in_with(parent, wanted)
        if found:
            return found
        inside = parent
    return None


def _in_with(query: exp.Expr, wanted: str) -> exp.CTE | None:
    with_ = query.args.get("with_")
    ctes: list[exp.CTE] = with_.expressions if isinstance(with_, exp.With) else []
    return next((cte for cte in ctes if caseless_key(cte.alias) == wanted), None)


def _earlier(with_: exp.With, inside: exp.Expr, wanted: str) -> exp.CTE | None:
    for cte in with_.expressions:
        is_itself = cte is inside
        if caseless_key(cte.alias) == wanted and (not is_itself or with_.args.get("recursive")):
            return cte
        if is_itself:
            return None
    return None
