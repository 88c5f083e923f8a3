"""Policies compiled into a parsed query: what runs can reach only what its reader may see.

Every reference to a table, wherever it stands (joins, CTEs, sub-queries, EXISTS and IN, set
operations, laterals, a self-join twice), becomes a sub-query of the table's visible columns, masks
applied, under the row filters. What stands around it therefore sees a table in which the forbidden
rows and columns do not exist, and nothing else about the query changes. Tables without a rule are
left as they are. The input is a query that `sql/` has parsed and resolved, and the whole catalogue;
the output is a new tree whose replaced tables `sql/render.py` writes into the text. Functions that
read tables by themselves are refused by `sql/` before.

**Fences.** An engine may merge the sub-query of a policy into the query around it and then try
conditions in any order. A condition that can fail (`CAST(notes AS INTEGER) = 1`,
`1 / (salary - 100) > 0`) would then fail on a hidden row, and the error says that the row exists,
or even quotes it. PostgreSQL and MariaDB do this readily. A fence is a clause that means nothing
and that the engine does not optimise across (`Dialect.with_barrier`). It costs the engine its index
on the reader's own conditions, so it is added only when some condition of the query could fail:
when it is made of more than comparisons, NULL tests, text matching and functions that take every
value, or rests on a column that an inner query computes in such a way; and always where a plain
comparison converts text (`Dialect.comparisons_can_fail`).

Covered: errors raised by conditions of WHERE, ON, HAVING and QUALIFY, at any depth. Aggregates,
ORDER BY and the outermost select list are computed on rows that passed the filter. Not covered: how
long a statement takes, what the engine's planner knows about hidden rows (EXPLAIN is not open to
readers), and dialects without a barrier.

A primary key in GROUP BY stands for all columns of its table, but not of a sub-query, so the other
columns are named as well. A hash mask is an HMAC-SHA256 with a secret of the source: equal values
have equal hashes, and hashing guesses finds none.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.policy.names import resolve_ctes
from dataagent_core.data.policy.rights import ReaderRights, VisibleTable
from dataagent_core.data.policy.rules import Mask, PolicySet
from dataagent_core.data.sql.edits import GROUPED_TOO, PLACE, SAMPLED_INSIDE, place_of, rewrite
from dataagent_core.data.sql.statement import ParsedStatement
from dataagent_core.data.types import Catalogue, Reader
from dataagent_core.errors import DataDenied

_QUIET: tuple[type[exp.Expr], ...] = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Star),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Exists),
    *(exp.Lower, exp.Upper, exp.Length, exp.Coalesce, exp.Nullif, exp.Case, exp.If),
    *(exp.Distinct, exp.CurrentDate, exp.CurrentTimestamp),
    *(exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Table, exp.TableAlias, exp.Alias),
    *(exp.DataType, exp.DataTypeParam),
)
_QUIET_FUNCTIONS = frozenset(
    (
        *("lower", "upper", "length", "char_length", "trim", "ltrim", "rtrim"),
        *("coalesce", "ifnull", "nullif"),
        *("year", "quarter", "month", "day"),
    )
)
_AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
_UNITS = frozenset(
    (
        *("microseconds", "milliseconds", "second", "minute", "hour", "day"),
        *("month", "quarter", "year", "decade", "century", "millennium"),
    )
)
"""What `date_trunc` takes of every kind of time; PostgreSQL fails on others row by row."""
_CONDITIONS = (exp.Where, exp.Having, exp.Qualify)


def can_fail(nodes: Iterable[exp.Expr], dialect: Dialect) -> bool:
    """Whether some condition among a query's nodes could raise an error for some value."""
    if dialect.comparisons_can_fail:
        return True
    return any(not _is_quiet(each) for node in nodes for each in _conditions(node))


def _conditions(node: exp.Expr) -> list[exp.Expr]:
    """What of a node an engine may try on rows: conditions, and what inner queries compute."""
    if isinstance(node, _CONDITIONS):
        return [node.this]
    if isinstance(node, exp.Join):
        return [node.args["on"]] if node.args.get("on") else []
    return node.expressions if isinstance(node, exp.Select) and node.parent else []


def _is_quiet(condition: exp.Expr) -> bool:
    """Aggregates and window functions are closed to it: they wait for the filter."""
    return all(
        _is_of_many_rows(node) or _takes_every_value(node)
        for node in condition.walk(prune=_is_of_many_rows)
    )


def _is_of_many_rows(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _AGGREGATES
    return isinstance(node, exp.AggFunc | exp.Window)


def _takes_every_value(node: exp.Expr) -> bool:
    match node:
        case exp.Cast() | exp.Neg():  # the least integer has no opposite
            return isinstance(node.this, exp.Literal)
        case exp.Like() | exp.ILike():
            pattern = node.expression
            return isinstance(pattern, exp.Literal) and not pattern.name.endswith("\\")
        case exp.Subquery():  # as a value it fails when it has two rows
            return isinstance(node.parent, exp.In | exp.From | exp.Join)
        case exp.Anonymous():
            return _is_quiet_function(node)
        case _:
            return isinstance(node, _QUIET)


def _is_quiet_function(call: exp.Anonymous) -> bool:
    name = call.name.lower()
    if name == "date_trunc":
        unit, *rest = call.expressions or [call]
        is_known = isinstance(unit, exp.Literal) and unit.name.lower() in _UNITS
        return is_known and len(rest) == 1  # a third would be a zone, which need not exist
    if name == "strftime":
        return any(isinstance(each, exp.Literal) for each in call.expressions)
    return name in _QUIET_FUNCTIONS


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


HIDDEN = "***"
SHOWN_CHARACTERS = 4
LEAST_LENGTH = 8  # a shorter value would be shown half or more


def mask_expression(
    column: exp.Column, mask: Mask, dialect: Dialect, key: bytes | None = None
) -> exp.Expr:
    """What is selected in the column's place; `key` is the source's secret."""
    match mask.kind:
        case "null":
            return _null(column)
        case "constant":
            return exp.Literal.string(mask.text or "")
        case "hash":
            hmac_sha256 = dialect.hmac_sha256(_text_literal(column), *_pads(key)) if key else None
            return _null(column) if hmac_sha256 is None else hmac_sha256
        case "partial":
            return _partial(column)


def _null(column: exp.Column) -> exp.Expr:
    """NULL of the column's own type, without naming the type."""
    return exp.Case(ifs=[exp.If(this=exp.false(), true=column)])


def _text_literal(column: exp.Column) -> exp.Expr:
    return exp.cast(column.copy(), exp.DataType.Type.TEXT)


def _partial(column: exp.Column) -> exp.Expr:
    length = exp.Length(this=_text_literal(column))
    start = exp.Sub(this=length.copy(), expression=exp.Literal.number(SHOWN_CHARACTERS - 1))
    end = exp.Substring(this=_text_literal(column), start=start)
    shown = exp.Concat(expressions=[exp.Literal.string(HIDDEN), end], safe=False, coalesce=False)
    is_long = exp.GTE(this=length, expression=exp.Literal.number(LEAST_LENGTH))
    is_null = exp.Is(this=column, expression=exp.null())
    return exp.Case(
        ifs=[exp.If(this=is_null, true=exp.null()), exp.If(this=is_long, true=shown)],
        default=exp.Literal.string(HIDDEN),
    )


def _pads(key: bytes) -> tuple[exp.Expr, exp.Expr]:
    """HMAC's inner and outer key, as hexadecimal texts. `key` is at most 64 bytes."""
    block = key.ljust(64, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block).hex() for pad in (0x36, 0x5C))
    return exp.Literal.string(inner), exp.Literal.string(outer)


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
