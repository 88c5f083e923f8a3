"""A catalogue from an engine: comments, samples, a hash of the structure, and what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from dataagent_core.data.catalogue import Comments, build, drift, structure_hash
from dataagent_core.data.sources import Source
from dataagent_core.data.types import Catalogue, Column, ForeignKey, QueryLimits, Table
from dataagent_core.errors import QueryFailed, SourceUnavailable

if TYPE_CHECKING:
    from .conftest import FakeEngine

MakeCatalogue = Callable[..., Catalogue]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
SOURCE = Source(
    source_id="source-1",
    name="shop",
    kind="database",
    description="",
    dialect=None,
    owner_id=None,
    is_sample=False,
    is_from_config=False,
    default_policy="allow",
    time_zone="UTC",
    limits=QueryLimits(),
    grants=(),
    has_credentials=False,
    address="",
    folder=None,
    files=(),
    address_changed_at=MOMENT,
    created_at=MOMENT,
    updated_at=MOMENT,
)


def table_of(catalogue: Catalogue, key: str) -> Table:
    return next(table for table in catalogue.tables if table.key == key)


def test_a_catalogue_has_what_the_engine_says_in_a_fixed_order(engine: FakeEngine) -> None:
    built = build(engine, SOURCE)
    assert [table.key for table in built.tables] == ["Customer", "Invoice"]
    assert (built.source_id, built.dialect) == ("source-1", "sqlite")
    assert built.hash == structure_hash(engine.tables)


def test_comments_we_know_join_the_sources_own(engine: FakeEngine) -> None:
    comments: Comments = {
        "customer": ("顾客", {"COUNTRY": "国家", "Nothing": "?"}),
        "Invoice": ("what was sold", {"Total": "金额"}),
        "Nothing": ("?", {}),
    }
    built = build(engine, SOURCE, comments=comments)
    customer, invoice = table_of(built, "Customer"), table_of(built, "Invoice")
    assert (customer.comment, invoice.comment) == ("顾客", "what was sold")
    assert customer.columns[1].comment == "where they live · 国家"
    assert [column.comment for column in invoice.columns] == [None, None, "金额"]


def test_samples_say_whether_there_are_more(engine: FakeEngine) -> None:
    engine.values = {
        "Country": (("Germany", "x" * 200, "a\x00b"), False),
        "CustomerId": (("1", "2"), True),
    }
    columns = {
        column.name: column for column in table_of(build(engine, SOURCE), "Customer").columns
    }
    assert columns["Country"].samples == ("Germany", "x" * 79 + "…", "a\ufffdb")
    assert not columns["Country"].are_samples_truncated
    assert columns["CustomerId"].are_samples_truncated
    few = table_of(build(engine, SOURCE, sample_limit=1), "Customer").columns[1]
    assert (few.samples, few.are_samples_truncated) == (("Germany",), True)


def test_credentials_and_bytes_are_never_sampled(engine: FakeEngine) -> None:
    engine.values = {"PasswordHash": (("hunter2",), False), "Photo": (("…",), False)}
    built = build(engine, SOURCE)
    assert engine.sampled["Customer"] == ("CustomerId", "Country")
    assert "hunter2" not in str(built)


def test_a_table_that_cannot_be_sampled_is_there_all_the_same(engine: FakeEngine) -> None:
    engine.sample_error = QueryFailed("no right to read it")
    assert build(engine, SOURCE).hash == structure_hash(engine.tables)


def test_a_source_that_is_down_says_so(engine: FakeEngine) -> None:
    engine.error = SourceUnavailable("down")
    with pytest.raises(SourceUnavailable):
        build(engine, SOURCE)
    engine.error, engine.sample_error = None, SourceUnavailable("gone in between")
    with pytest.raises(SourceUnavailable):
        build(engine, SOURCE)


def test_the_hash_is_of_the_structure_alone(engine: FakeEngine) -> None:
    plain = build(engine, SOURCE)
    engine.values = {"Country": (("Peru",), True)}
    engine.tables = [replace(table, row_count=1, comment="new") for table in engine.tables[::-1]]
    assert build(engine, SOURCE).hash == plain.hash


CUSTOMER = Table("Customer", (Column("Id", "INTEGER"), Column("Name", "TEXT")), primary_key=("Id",))
INVOICE = Table(
    "Invoice",
    (Column("Id", "INTEGER"), Column("CustomerId", "INTEGER")),
    foreign_keys=(ForeignKey(("CustomerId",), "Customer", ("Id",)),),
)
CHANGES: dict[str, tuple[Table, list[str]]] = {
    "a column came": (
        replace(CUSTOMER, columns=(*CUSTOMER.columns, Column("City", "TEXT"))),
        ["Column Customer.City was added (TEXT)."],
    ),
    "a column went": (
        replace(CUSTOMER, columns=CUSTOMER.columns[:1]),
        ["Column Customer.Name is gone."],
    ),
    "a column was renamed": (
        replace(CUSTOMER, columns=(CUSTOMER.columns[0], Column("FullName", "TEXT"))),
        ["Column Customer.FullName was added (TEXT).", "Column Customer.Name is gone."],
    ),
    "a type changed": (
        replace(CUSTOMER, columns=(Column("Id", "BIGINT"), CUSTOMER.columns[1])),
        ["Column Customer.Id is BIGINT now, not INTEGER."],
    ),
    "NULL is no longer allowed": (
        replace(
            CUSTOMER, columns=(Column("Id", "INTEGER", is_nullable=False), CUSTOMER.columns[1])
        ),
        ["Column Customer.Id may no longer be NULL."],
    ),
    "the order changed": (
        replace(CUSTOMER, columns=CUSTOMER.columns[::-1]),
        ["The columns of Customer stand in another order."],
    ),
    "the primary key changed": (
        replace(CUSTOMER, primary_key=("Id", "Name")),
        ["The primary key of Customer is (Id, Name) now."],
    ),
    "it is a view": (replace(CUSTOMER, is_view=True), ["Customer is a view now."]),
    "it is in another schema": (
        replace(CUSTOMER, schema="crm"),
        ["Table crm.Customer was added (2 columns).", "Table Customer is gone."],
    ),
    "a key came": (
        replace(CUSTOMER, foreign_keys=(ForeignKey(("Name",), "Invoice", ("Id",)),)),
        ["Customer now points from (Name) to Invoice (Id)."],
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_drift_is_told_and_changes_the_hash(case: str, catalogue_of: MakeCatalogue) -> None:
    changed, sentences = CHANGES[case]
    old, new = catalogue_of(CUSTOMER, INVOICE), catalogue_of(changed, INVOICE)
    assert drift(old, new) == sentences
    assert old.hash != new.hash
    assert drift(new, old) != []


def test_tables_that_came_and_went_are_told(catalogue_of: MakeCatalogue) -> None:
    both, one = catalogue_of(CUSTOMER, INVOICE), catalogue_of(CUSTOMER)
    assert drift(both, one) == ["Table Invoice is gone."]
    assert drift(one, both) == ["Table Invoice was added (2 columns)."]
    lost_key = catalogue_of(CUSTOMER, replace(INVOICE, foreign_keys=()))
    assert drift(both, lost_key) == ["Invoice no longer points from (CustomerId) to Customer (Id)."]


def test_what_is_no_drift_is_not_told(catalogue_of: MakeCatalogue) -> None:
    old = catalogue_of(CUSTOMER, INVOICE)
    name = replace(CUSTOMER.columns[1], comment="c", samples=("x",), are_samples_truncated=True)
    full = replace(CUSTOMER, row_count=5, comment="c", columns=(CUSTOMER.columns[0], name))
    new = catalogue_of(INVOICE, full)
    assert drift(old, new) == []
    assert old.hash == new.hash
    assert drift(old, replace(new, dialect="duckdb")) == [
        "The source speaks duckdb now, not sqlite."
    ]
