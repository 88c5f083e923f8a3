"""Policies compiled into a parsed query: what runs can reach only what its reader may see.

Every reference to a table, wherever it stands (joins, CTEs, sub-queries, EXISTS and IN, set
operations, laterals, a self-join twice), becomes a sub-query of the table's visible columns, masks
applied, under the row filters. What stands around it therefore sees a table in which the forbidden
rows and columns do not exist, and nothing else about the query changes. Tables without a rule are
left as they are.

Taken in: a query that `guard/` has parsed and resolved (each column knows its table). The whole
catalogue, not the visible one. Given back: a tree whose replaced tables `guard/` writes into the
text; the tree taken in is not changed. Functions that read tables by themselves,
table functions among them, are the guard's to refuse. What an engine may do with a filter, see
`fences.py`.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.guard.edits import PLACE, SAMPLED_INSIDE, place_of, rewrite
from dataagent_core.data.guard.statement import ParsedStatement
from dataagent_core.data.policy.barriers import can_fail
from dataagent_core.data.policy.grouping import complete_groups
from dataagent_core.data.policy.masks import mask_expression
from dataagent_core.data.policy.names import resolve_ctes
from dataagent_core.data.policy.rights import ReaderRights, VisibleTable
from dataagent_core.data.policy.rules import PolicySet
from dataagent_core.data.types import Catalogue, Reader
from dataagent_core.errors import DataDenied

_HIDDEN_FILTER = "only rows that a policy opens to you"


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query with its reader's policies in it, and a sentence for each rule that applied."""

    statement: ParsedStatement
    sentences: tuple[str, ...] = ()


def compile_in(
    statement: ParsedStatement, policies: PolicySet, reader: Reader, catalogue: Catalogue
) -> CompiledQuery:
    """The query as this reader may run it; the same statement when no rule concerns the reader.

    Raises:
        DataDenied: it reads something that is not open to the reader, or is not there.
    """
    rights = ReaderRights(policies, reader, catalogue)
    if rights.is_unrestricted:
        return CompiledQuery(statement)
    dialect = statement.dialect
    compiled = replace(statement, tree=statement.tree.copy())
    nodes = list(compiled.tree.walk())
    restricted = _restricted(nodes, rights, dialect)
    if not restricted:
        return CompiledQuery(compiled)
    applied = _sentences(nodes, [seen for _, seen in restricted])
    has_barrier = can_fail(nodes, dialect)
    complete_groups(restricted, dialect)
    for node, seen in restricted:
        _replace(node, seen, policies.mask_key, has_barrier=has_barrier, dialect=dialect)
    for node in nodes:
        if isinstance(node, exp.Column) and node.args.get("db"):
            rewrite(node, place_of(node.parts))  # a sub-query has an alias, and no schema
            node.set("db", None)
    return CompiledQuery(compiled, applied)


def _restricted(
    nodes: list[exp.Expr], rights: ReaderRights, dialect: Dialect
) -> list[tuple[exp.Table, VisibleTable]]:
    """The references to tables of which the reader sees a part."""
    if not dialect.in_takes_a_column and any(
        isinstance(node, exp.In) and node.args.get("field") for node in nodes
    ):
        raise _denied("x IN name")  # it may mean a table of that name, as in SQLite
    restricted: list[tuple[exp.Table, VisibleTable]] = []
    for node in resolve_ctes(nodes, dialect):
        table = rights.names.table(node, dialect)
        seen = rights.table(table) if table else None
        if table is None or seen is None:
            raise _denied(node.sql(dialect.name))
        if PLACE not in node.meta:  # the guard did not see it, so nothing can be put in its place
            raise _denied(node.sql(dialect.name))
        if not seen.is_unrestricted:
            restricted.append((node, seen))
    return restricted


def _denied(written: str) -> DataDenied:
    return DataDenied(
        f"{written}: nothing of that name is open to you in this data source. "
        "List the tables to see what is."
    )


def _replace(
    node: exp.Table,
    seen: VisibleTable,
    mask_key: bytes | None,
    *,
    has_barrier: bool,
    dialect: Dialect,
) -> None:
    """Put a sub-query in the table's place; alias, joins and sample stay around it."""
    inner = exp.Table(
        this=exp.to_identifier(seen.table.name, quoted=True),
        db=exp.to_identifier(seen.table.schema, quoted=True),
    )
    query = exp.Select(
        expressions=[_selected(seen, column.name, dialect, mask_key) for column in seen.columns]
    )
    query.set("from_", exp.From(this=inner))
    if seen.filters:
        conditions = [each.condition.copy() for each in seen.filters]
        query.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    if seen.filters and has_barrier:
        dialect.with_barrier(query)
    around = {name: value for name, value in node.args.items() if name not in ("this", "db")}
    if not around.get("alias"):
        around["alias"] = exp.TableAlias(this=exp.to_identifier(node.name, quoted=True))
    if around.get("sample") and not dialect.samples_subqueries:
        inner.set("sample", around.pop("sample"))
        subquery = exp.Subquery(this=query, **around)
        subquery.meta[SAMPLED_INSIDE] = True
    else:
        subquery = exp.Subquery(this=query, **around)
    rewrite(subquery, node.meta.get(PLACE))
    node.replace(subquery)


def _selected(seen: VisibleTable, name: str, dialect: Dialect, mask_key: bytes | None) -> exp.Expr:
    identifier = exp.Identifier(this=name, quoted=True)
    column = exp.Column(this=identifier, table=exp.Identifier(this=seen.table.name, quoted=True))
    mask = seen.masks.get(name)
    if mask is None:
        return column
    return exp.Alias(this=mask_expression(column, mask, dialect, mask_key), alias=identifier.copy())


def _sentences(nodes: list[exp.Expr], tables: list[VisibleTable]) -> tuple[str, ...]:
    used = {node.name.casefold() for node in nodes if isinstance(node, exp.Column)}
    is_all_used = any(
        isinstance(node, exp.Star) and isinstance(node.parent, exp.Select | exp.Column)
        for node in nodes
    )
    found: dict[str, None] = {}
    for seen in {each.table.key: each for each in tables}.values():
        names = {column.name.casefold() for column in seen.columns} if is_all_used else used
        found.update(dict.fromkeys(_sentences_on(seen, names)))
    return tuple(found)


def _sentences_on(seen: VisibleTable, columns: Container[str]) -> list[str]:
    """One for each rule on the table; masks only of the columns (in lower case) that are used.

    A sentence shows the reader's own attributes and the rule, never a column that is hidden from
    the reader, nor a value that only names what is kept away.
    """
    key = seen.table.key
    shown = {column.name for column in seen.columns if column.name not in seen.masks}
    found = [
        f"{key}: {each.sentence if each.columns <= shown else _HIDDEN_FILTER}"
        for each in seen.filters
    ]
    found += [f"{key}.{name}: masked" for name in seen.masks if name.casefold() in columns]
    return found
