"""Checks whether a policy fits a source, when it is saved and when someone asks why it closes."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from dataagent_core.data.policy.filters import bind_filter, find_column, parse_filter
from dataagent_core.data.policy.names import TableIndex
from dataagent_core.data.policy.rules import ANY_TABLE, Policy, TableRule
from dataagent_core.data.types import Catalogue, Reader, Table
from dataagent_core.errors import BadInput


def check_policy(policy: Policy, catalogue: Catalogue) -> None:
    """See that every table, column and filter of the policy fits the whole catalogue.

    Raises:
        BadInput: one message with every problem and its place; `details["problems"]` lists them.
    """
    names = TableIndex(catalogue)
    problems = [
        f"policy {policy.name!r}, table {name!r}: {problem}"
        for name, rule in policy.tables.items()
        for problem in _problems(name, rule, names, catalogue)
    ]
    if problems:
        raise BadInput(" ".join(problems), details={"problems": problems})


def _problems(name: str, rule: TableRule, names: TableIndex, catalogue: Catalogue) -> Iterator[str]:
    if name == ANY_TABLE:
        yield from _general_problems(rule, catalogue)
        return
    tables = names.tables(name)
    if not tables:
        nearest = get_close_matches(name, [table.key for table in catalogue.tables], n=3)
        yield f"there is no such table.{_hint(nearest)}"
    for table in tables:
        yield from _column_problems(rule, table)
        yield from _filter_problems(rule, [table], catalogue.dialect)


def _general_problems(rule: TableRule, catalogue: Catalogue) -> Iterator[str]:
    for column in (*rule.deny_columns, *rule.masks):
        if not any(find_column(table, column) for table in catalogue.tables):
            yield f"no table has a column {column!r}."
    yield from _filter_problems(rule, list(catalogue.tables), catalogue.dialect)


def _column_problems(rule: TableRule, table: Table) -> Iterator[str]:
    for column in (*rule.deny_columns, *rule.masks):
        if find_column(table, column) is None:
            nearest = get_close_matches(column, [each.name for each in table.columns], n=3)
            yield f"there is no column {column!r}.{_hint(nearest)}"


def _filter_problems(rule: TableRule, tables: list[Table], dialect: str) -> Iterator[str]:
    """A filter must fit one of the tables: the one that is named, or any for `*`."""
    if rule.row_filter is None:
        return
    try:
        parse_filter(rule.row_filter, dialect)
    except BadInput as error:
        yield error.message
        return
    problems: list[str] = []
    for table in tables:
        try:
            bind_filter(rule.row_filter, table, Reader(user_id=""), dialect)
        except BadInput as error:
            problems.append(error.message)
        else:
            return
    yield from problems[:1]


def _hint(nearest: list[str]) -> str:
    return f" Did you mean {' or '.join(nearest)}?" if nearest else ""
