"""A catalogue in words: what stands in it, alike tables once, and never too long."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.catalogue import describe, fits, list_tables_text
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table
from dataagent_core.errors import UnknownName

from .company import company_catalogue

MakeCatalogue = Callable[..., Catalogue]

CUSTOMER = Table(
    "Customer",
    (
        Column("CustomerId", "INTEGER", is_nullable=False),
        Column(
            "Country",
            "VARCHAR(40)",
            comment="where they\n live 国家",
            samples=("Germany", "USA"),
            are_samples_truncated=True,
        ),
        Column("Kind", "TEXT", is_nullable=False, samples=tuple("abcdef")),
    ),
    comment="who buys",
    primary_key=("CustomerId",),
    row_count=1,
)
INVOICE = Table(
    "Invoice",
    (Column("CustomerId", "INTEGER"), Column("x" * 9, "TEXT", samples=("y" * 50,))),
    schema="crm",
    is_view=True,
    foreign_keys=(ForeignKey(("CustomerId",), "Customer", ("CustomerId",)),),
    row_count=1234567,
)
MONTHS = [
    Table(f"events_2024_{month}", (Column("id", "INT"), Column("what", "TEXT")), row_count=month)
    for month in range(12, 0, -1)
]


def test_a_description_has_all_there_is_to_know(catalogue_of: MakeCatalogue) -> None:
    assert (
        describe(catalogue_of(CUSTOMER, INVOICE))
        == """\
table Customer, 1 row: who buys
  CustomerId INTEGER primary key
  Country VARCHAR(40): where they live 国家 ['Germany', 'USA', … more]
  Kind TEXT not null ['a', 'b', 'c', 'd', 'e', … more]
view crm.Invoice, 1,234,567 rows
  CustomerId INTEGER → Customer.CustomerId
  xxxxxxxxx TEXT ['yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…']"""
    )


def test_tables_are_described_by_name_in_the_order_asked(catalogue_of: MakeCatalogue) -> None:
    catalogue = catalogue_of(CUSTOMER, INVOICE)
    text = describe(catalogue, ["CRM.invoice", '"Customer"'])
    assert text.splitlines()[0].startswith("view crm.Invoice")
    assert "table Customer" in text
    assert "Invoice" not in describe(catalogue, ["Customer"])


def test_an_unknown_table_is_told_with_the_nearest(catalogue_of: MakeCatalogue) -> None:
    with pytest.raises(UnknownName, match="Did you mean: Customer") as told:
        describe(catalogue_of(CUSTOMER, INVOICE), ["Custmers"])
    assert told.value.details == {"name": "Custmers", "nearest": ["Customer"]}
    with pytest.raises(UnknownName, match="List the tables"):
        describe(catalogue_of(CUSTOMER), ["zzz"])


def test_tables_alike_are_described_once(catalogue_of: MakeCatalogue) -> None:
    other = Table("events_2023_1", (Column("id", "INT"),))  # has other columns
    catalogue = catalogue_of(CUSTOMER, *MONTHS, other)
    assert list_tables_text(catalogue).splitlines() == [
        "table Customer, 1 row: who buys",
        "table events_2024_1 … events_2024_12 (12 tables alike), 78 rows",
        "table events_2023_1",
    ]
    assert describe(catalogue).count("what TEXT") == 1
    assert describe(catalogue, ["events_2024_5"]).startswith("table events_2024_5, 5 rows")


def test_two_tables_with_numbers_are_no_family(catalogue_of: MakeCatalogue) -> None:
    text = list_tables_text(catalogue_of(*MONTHS[:2]))
    assert text.splitlines() == ["table events_2024_12, 12 rows", "table events_2024_11, 11 rows"]


def test_what_does_not_fit_goes_in_order_of_what_it_tells(catalogue_of: MakeCatalogue) -> None:
    catalogue = catalogue_of(CUSTOMER, INVOICE)
    whole = describe(catalogue)
    without_samples = describe(catalogue, max_chars=len(whole) - 1)
    assert "Germany" not in without_samples
    assert "where they live" in without_samples
    terse = describe(catalogue, max_chars=len(without_samples) - 1)
    assert "where they live" not in terse
    assert "Country VARCHAR(40)" in terse
    cut = describe(catalogue, max_chars=len(terse) - 1)
    assert "table Customer" in cut
    assert cut.endswith("… 1 more tables are not shown. Search for what you need.")


def test_an_empty_source_is_said_to_be(catalogue_of: MakeCatalogue) -> None:
    catalogue = catalogue_of()
    assert describe(catalogue) == list_tables_text(catalogue) == "The source has no tables."
    assert fits(catalogue, 0)


def test_what_fits_is_estimated_from_what_would_be_said() -> None:
    company = company_catalogue()
    assert fits(company, 50_000)
    assert not fits(company, 5_000)


@given(st.integers(0, 60_000), st.lists(st.sampled_from(range(65)), max_size=8))
def test_no_description_is_longer_than_allowed(max_chars: int, chosen: list[int]) -> None:
    company = company_catalogue()
    names = [company.tables[number].key for number in chosen]
    assert len(describe(company, max_chars=max_chars)) <= max_chars
    assert len(describe(company, names, max_chars=max_chars)) <= max_chars
    assert len(list_tables_text(company, max_chars=max_chars)) <= max_chars
