"""A table put into a query of its visible columns: what stands for a row then shows no more.

For the places where a query speaks of a whole row (`SELECT t FROM t`, `row_to_json(t)`) or renames
columns by position (`FROM t AS x(a, b)`): there the engine would count columns the catalogue hides.
"""

from __future__ import annotations

from sqlglot import exp

from dataagent_core.data.guard.names import quoted
from dataagent_core.data.guard.refusals import refusal
from dataagent_core.data.guard.scope import Source


def with_visible_columns_only(source: Source, *, names: list[str] | None = None) -> None:
    """Replace a table's node by `(SELECT its columns FROM it) AS alias`, once."""
    table, node = source.table, source.node
    if table is None or not isinstance(node, exp.Table):
        return
    if node.args.get("joins") or node.args.get("sample"):
        raise refusal(
            "node_not_allowed",
            f"The whole row of {source.name} is used where it is joined or sampled.",
            hint="Name the columns one by one.",
        )
    inner = node.copy()
    inner.set("alias", exp.TableAlias(this=quoted(source.name)))
    given = names or [column.name for column in table.columns]
    columns = [
        exp.alias_(
            exp.Column(this=quoted(column.name), table=quoted(source.name)),
            quoted(name),
            copy=False,
        )
        for column, name in zip(table.columns, given, strict=True)
    ]
    query = exp.Subquery(
        this=exp.Select(expressions=columns, from_=exp.From(this=inner)),
        alias=exp.TableAlias(this=quoted(source.name)),
    )
    node.replace(query)
    source.node, source.table = query, None
