"""Where a schema keeps money and units: the columns that `sales` and `units sold` can mean.

A total at the head of a document (`Invoice.Total`) may be summed as long as no row of it repeats;
below it, price times quantity of the lines. Both are found by name and keys, in any schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dataagent_offline.data.joins import Joins
from dataagent_offline.data.schema import SchemaColumn, SchemaTable, SourceSchema
from dataagent_offline.data.words import keys

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
