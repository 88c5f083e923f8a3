"""Chooses the column a word stands for, seen from the table the question is about.

The better name wins, then the path on which no row repeats, then the shorter path. Two that are as
good are a `QuestionError`: the user is asked, nothing is guessed. Money and units (`sales`,
`units sold`) are found by name and keys, in any schema: a total at the head of a document
(`Invoice.Total`) may be summed as long as no row of it repeats; below it, price times quantity of
the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dataagent_offline.data.intent import ValueFilter
from dataagent_offline.data.lexicon import is_number_of
from dataagent_offline.data.plan import Condition, Group, Joins, Path, Ref, repeats_rows
from dataagent_offline.data.schema import SchemaColumn, SchemaTable, SourceSchema, label_columns
from dataagent_offline.data.terms import Noun, QuestionError
from dataagent_offline.data.vocabulary import keys

_AMOUNT_NAMES: Final = (
    "total, amount, total amount, sales, sale amount, sales amount, revenue, grand total,"
    " price total, total price, line total, order total, order amount, invoice total, net amount,"
    " total sales, 销售额, 金额, 总额, 总金额, 订单金额, 销售金额, 成交金额, 实付金额, 营收, 收入"
)
_AMOUNTS: Final = frozenset(keys(name) for name in _AMOUNT_NAMES.split(","))
_PRICES: Final = frozenset(
    keys(name) for name in ("unit price", "price", "单价", "价格", "售价", "sale price", "成交单价")
)
_QUANTITIES: Final = frozenset(
    keys(name)
    for name in ("quantity", "qty", "units", "数量", "件数", "销量", "units sold", "销售数量")
)
_DISCOUNTS: Final = frozenset(keys(name) for name in ("discount", "折扣", "优惠"))


@dataclass(frozen=True, slots=True)
class Fact:
    """Columns of a table whose product is summed."""

    table: str
    columns: tuple[str, ...]
    is_line: bool = False
    head: str | None = None
    """The table of the documents these lines belong to."""


def sales_facts(schema: SourceSchema, joins: Joins) -> list[Fact]:
    """What `sales` can mean: totals first, then lines."""
    lines = {fact.table: fact for fact in _lines(schema, joins)}
    heads = {fact.head for fact in lines.values()}
    totals = [
        Fact(table.name, (column.name,))
        for table in schema.tables.values()
        for column in _named(table, _AMOUNTS)[:1]
    ]
    if any(fact.table in heads for fact in totals):
        totals = [fact for fact in totals if fact.table in heads or fact.table in lines]
    own = {fact.table for fact in totals}
    return [*totals, *(fact for name, fact in lines.items() if name not in own)]


def unit_facts(schema: SourceSchema, joins: Joins) -> list[Fact]:
    """What `units sold` can mean."""
    found: list[Fact] = []
    for table in schema.tables.values():
        for column in _named(table, _QUANTITIES)[:1]:
            if _named(table, _PRICES) or _named(table, _AMOUNTS):
                found.append(Fact(table.name, (column.name,), True, _head(table, joins, schema)))
    return found


def is_amount(column: SchemaColumn) -> bool:
    """Whether adding up the column is what is meant when no aggregate is named."""
    return column.kind == "number" and _has_name(column, _AMOUNTS | _QUANTITIES)


def head_of(table: str, schema: SourceSchema, joins: Joins) -> str | None:
    """The table of documents of which this table holds the lines, if it does."""
    known = schema.tables[table]
    is_line = bool(_named(known, _QUANTITIES)) or any(
        len(keys(table)) > len(keys(parent)) and keys(table)[: len(keys(parent))] == keys(parent)
        for parent in joins.parents(table)
    )
    return _head(known, joins, schema) if is_line else None


def _lines(schema: SourceSchema, joins: Joins) -> Iterator[Fact]:
    for table in schema.tables.values():
        prices, quantities = _named(table, _PRICES), _named(table, _QUANTITIES)
        if prices and quantities and not _named(table, _DISCOUNTS):
            columns = (prices[0].name, quantities[0].name)
            yield Fact(table.name, columns, True, _head(table, joins, schema))


def _head(table: SchemaTable, joins: Joins, schema: SourceSchema) -> str | None:
    """The parent that has a date of its own: a document, not a product."""
    parents = [
        parent
        for parent in joins.parents(table.name)
        if any(column.kind == "date" for column in schema.tables[parent].columns.values())
    ]
    named = [each for each in parents if keys(table.name)[: len(keys(each))] == keys(each)]
    total = [each for each in parents if _named(schema.tables[each], _AMOUNTS)]
    for choice in (named, total, parents):
        if len(choice) == 1:
            return choice[0]
    return None


def _named(table: SchemaTable, phrases: frozenset[tuple[str, ...]]) -> list[SchemaColumn]:
    return [
        column
        for column in table.columns.values()
        if column.kind == "number" and not table.is_key(column.name) and _has_name(column, phrases)
    ]


def _has_name(column: SchemaColumn, phrases: frozenset[tuple[str, ...]]) -> bool:
    return keys(column.name) in phrases or any(
        keys(part) in phrases for part in column.comment.split()
    )


_Scored: TypeAlias = tuple[tuple[int, ...], Ref, Path]


@dataclass(slots=True)
class JoinContext:
    """One table in the middle, and the ways from it that are in use."""

    schema: SourceSchema
    joins: Joins
    base: str
    verb: str = ""
    mentioned: frozenset[str] = frozenset()
    """Tables the question names."""
    is_summed: bool = False
    """Whether amounts are added up, and not rows counted."""
    paths: list[Path] = field(default_factory=list[Path])
    quality: int = 0

    def path_to(self, table: str) -> Path | None:
        """The path to a table; one that repeats rows only as a last resort."""
        path = self.joins.path_without_repeats(self.base, table)
        return self.joins.any(self.base, table) if path is None else path

    def use_path(self, path: Path) -> None:
        """Use a way."""
        self.paths.append(path)


def choose_group(context: JoinContext, noun: Noun) -> Group:
    """The grouping a noun stands for: a column, or the rows of a table by their name."""
    found: list[_Scored] = []
    for term in noun.tables:
        found.extend(_scored(context, Ref(term.table, ""), (term.quality, 1)))
    named = [term for term in noun.columns if not is_number_of(term.column)]
    for term in named or noun.columns:
        if target := _linked_table(context, term.table, term.column):
            found.extend(_scored(context, Ref(target, ""), (min(term.quality, 3), 0)))
        else:
            found.extend(_scored(context, Ref(term.table, term.column), (term.quality, 0)))
    ref, path, quality = _best(context, noun.text, found)
    if (
        repeats_rows(path)
        and not context.verb
        and not _is_near(path, 2 if context.is_summed else 3)
    ):
        raise QuestionError("unreachable", noun.text, context.base)
    context.use_path(path)
    context.quality += quality
    if ref.column:
        return Group((ref,))
    table = context.schema.tables[ref.table]
    shown = tuple(Ref(ref.table, name) for name in label_columns(table))
    known = table.primary_key or (path[-1].target_columns if path and path[-1].is_one else ())
    extra = tuple(Ref(ref.table, name) for name in known)
    return Group(shown, tuple(each for each in extra if each not in shown))


def choose_column(context: JoinContext, noun: Noun) -> Ref:
    """The column a noun stands for, on a way that repeats no row."""
    found = [
        scored
        for term in noun.columns
        for scored in _scored(context, Ref(term.table, term.column), (term.quality, 0))
        if not repeats_rows(scored[2])
    ]
    ref, path, quality = _best(context, noun.text, found)
    context.use_path(path)
    context.quality += quality
    return ref


def choose_value(context: JoinContext, value: ValueFilter) -> Condition:
    """The condition a value stands for."""
    found: list[_Scored] = []
    for table, column in sorted(value.places):
        path = context.path_to(table)
        if path is None or not _may_filter(context, value, table, column, path):
            continue
        score = (
            int(not repeats_rows(path)),
            int(table in context.mentioned),
            -len(keys(column)),
            -_rows_named(context.schema.tables[table], column),
            -len(path),
        )
        found.append((score, Ref(table, column), path))
    if not found:
        raise QuestionError("value_unreachable", value.text, context.base, *_places(value))
    ref, path, _ = _best(context, value.text, found)
    if value.is_negated and repeats_rows(path):  # rows without it are not those that lack it
        raise QuestionError("absence", value.text)
    context.use_path(path)
    stored = {term.value for term in value.terms if (term.table, term.column) == _pair(ref)}
    return Condition(ref, "not_in" if value.is_negated else "in", tuple(sorted(stored)))


def choose_date(context: JoinContext, noun: Noun | None) -> Ref:
    """The date that a time is of: the named one, the table's own, or its document's."""
    if noun is not None:
        return choose_column(context, noun)
    tables = [context.base]
    if head := head_of(context.base, context.schema, context.joins):
        tables.append(head)
    if context.verb:
        facts = sales_facts(context.schema, context.joins)
        tables.extend(fact.table for fact in facts)
    for table in tables:
        dates = [c for c in context.schema.tables[table].columns.values() if c.kind == "date"]
        path = context.path_to(table)
        if dates and path is not None:
            ref = Ref(table, _own_date(table, dates).name)
            context.use_path(path)
            return ref
    raise QuestionError("no_date", context.base)


def _own_date(table: str, dates: Sequence[SchemaColumn]) -> SchemaColumn:
    """The only date, or the one that carries the table's name: `order_date` of `orders`."""
    if len(dates) == 1:
        return dates[0]
    own = [date for date in dates if keys(date.name)[0] in keys(table)]
    if len(own) != 1:
        raise QuestionError("which_date", table, *(date.name for date in dates))
    return own[0]


def _scored(context: JoinContext, ref: Ref, names: tuple[int, int]) -> Iterable[_Scored]:
    path = context.path_to(ref.table)
    if path is None:
        return
    quality, is_table = names
    is_mentioned = int(ref.table in context.mentioned and bool(ref.column))
    yield (quality, is_mentioned, int(not repeats_rows(path)), -len(path), is_table), ref, path


def _best(context: JoinContext, text: str, found: list[_Scored]) -> tuple[Ref, Path, int]:
    if not found:
        raise QuestionError("unreachable", text, context.base)
    found.sort(key=lambda each: each[0], reverse=True)
    score, ref, path = found[0]
    same = [each for each in found if each[0] == score]
    if len({str(each[1]) for each in same}) > 1:
        raise QuestionError("ambiguous", text, *(str(each[1]).rstrip(".") for each in same))
    return ref, path, score[0]


def _linked_table(context: JoinContext, table: str, column: str) -> str | None:
    """The table that a key column points at: to group by `dept_id` is to group by departments."""
    for link in context.schema.tables[table].links:
        if (
            link.columns == (column,)
            and link.table in context.schema.tables
            and link.table != table
        ):
            return link.table
    return None


def _is_near(path: Path, most: int) -> bool:
    """Whether a way that repeats rows is short enough to be meant without a verb.

    Tracks are on playlists; but a department has no budget because its people work on a project.
    """
    return len(path) <= most and sum(not hop.is_one for hop in path) <= 2


def _may_filter(
    context: JoinContext, value: ValueFilter, table: str, column: str, path: Path
) -> bool:
    """Whether a value of so distant a table can be meant.

    `employees in Germany` must not mean employees with customers in Germany; so a way that repeats
    rows needs a verb or a named table. And where a nearer table has a column of the same kind that
    does not hold the value, the farther one is not meant.
    """
    beyond = [hop.target for hop in path]
    if repeats_rows(path) and not context.verb and not context.mentioned & set(beyond):
        return False
    nearer = [context.base, *beyond[:-1]] if path else []
    return not any(_shadows(context, each, column, value) for each in nearer)


def _shadows(context: JoinContext, table: str, column: str, value: ValueFilter) -> bool:
    known = context.schema.tables[table]
    return any(
        other.kind == "text"
        and keys(name)[-1:] == keys(column)[-1:]
        and name not in label_columns(known)
        and (table, name) not in value.everywhere
        for name, other in known.columns.items()
    )


def _rows_named(table: SchemaTable, column: str) -> int:
    """Of two rows with the same name, the one of the smaller table is meant: `Rock` is a genre."""
    return (table.row_count or 0) if column in label_columns(table) else 0


def _places(value: ValueFilter) -> list[str]:
    return [f"{table}.{column}" for table, column in sorted(value.places)]


def _pair(ref: Ref) -> tuple[str, str]:
    return (ref.table, ref.column)
