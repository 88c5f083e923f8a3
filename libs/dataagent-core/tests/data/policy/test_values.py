"""Which values may be kept outside a source: those that no policy keeps from anyone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dataagent_core.data.policy import CLOSED, OPEN, policies_from_dict, without_protected_values
from dataagent_core.data.types import Catalogue, Column, Table

PEOPLE = Table(
    "People",
    (Column("Name", "TEXT", samples=("Ana",)), Column("Email", "TEXT", samples=("a@x",))),
    row_count=2,
)
ORDERS = Table("orders", (Column("kind", "TEXT", samples=("new",), are_samples_truncated=True),))
VIEW = Table("seen", (Column("what", "TEXT", samples=("x",)),), is_view=True)
CATALOGUE = Catalogue(
    "s", "sqlite", (PEOPLE, ORDERS, VIEW), "0" * 64, datetime(2026, 1, 2, tzinfo=UTC)
)
ALL = {"Ana", "a@x", "new", "x"}
TO_ONE: dict[str, Any] = {"users": ["ana"]}


def left(*policies: dict[str, Any], default: str = "allow") -> set[str]:
    named = [{"name": str(number), **one} for number, one in enumerate(policies)]
    made = policies_from_dict({"default": default, "policies": named})
    kept = without_protected_values(CATALOGUE, made)
    return {v for table in kept.tables for column in table.columns for v in column.samples}


@pytest.mark.parametrize("subjects", ["everyone", TO_ONE, {"roles": ["analyst"]}])
@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"people": {"deny_columns": ["EMAIL"]}}, {"Ana", "new"}),
        ({"people": {"masks": {"email": "partial"}}}, {"Ana", "new"}),
        ({"people": {"row_filter": "Name = 'Ana'"}}, {"new"}),
        ({"People": {"grant": False}}, {"new"}),
        ({"main.people": {"grant": False}}, {"new"}),
        ({"*": {"deny_columns": ["email", "kind"]}}, {"Ana"}),
        ({"*": {"row_filter": "kind = 'new'"}}, set[str]()),
        ({"*": {"row_filter": "kind = 'new'"}, "people": {"row_filter": "TRUE"}}, {"Ana", "a@x"}),
        ({"*": {"grant": False}, "orders": {"grant": True}}, {"new"}),
        ({"seen": {"grant": True}, "people": {"masks": {"email": "null"}}}, {"Ana", "new"}),
        ({"people": {"grant": True}}, ALL),
    ],
)
def test_values_stay_where_no_rule_takes_anything_from_anyone(
    subjects: Any, tables: dict[str, Any], expected: set[str]
) -> None:
    assert left({"subjects": subjects, "tables": tables}) == expected


def test_rules_of_all_policies_count() -> None:
    one = {"subjects": TO_ONE, "tables": {"people": {"deny_columns": ["email"]}}}
    other = {"subjects": "everyone", "tables": {"orders": {"grant": False}}}
    assert left(one, other) == {"Ana"}


def test_tables_closed_by_default_keep_values_only_when_granted_to_everyone() -> None:
    grant = {"tables": {"people": {"grant": True}}}
    assert left(default="deny") == set()
    assert left({"subjects": TO_ONE, **grant}, default="deny") == set()
    assert left({"subjects": "everyone", **grant}, default="deny") == {"Ana", "a@x"}


def test_nothing_but_values_changes_and_nothing_at_all_without_policies() -> None:
    assert without_protected_values(CATALOGUE, OPEN) is CATALOGUE
    closed = without_protected_values(CATALOGUE, CLOSED)
    assert without_protected_values(closed, CLOSED) is closed
    assert closed.tables[1] == Table("orders", (Column("kind", "TEXT"),))
    assert (closed.hash, closed.tables[0].row_count) == (CATALOGUE.hash, 2)
