"""Search and words: what counts as the same word, what joins, what a hit says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.data.catalogue import search
from dataagent_core.data.catalogue.search import synonyms, words
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table

from .company import company_catalogue

MakeCatalogue = Callable[..., Catalogue]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CustomerId", ["customer", "id"]),
        ("customer_ids", ["customer", "ids"]),
        ("HTTPServerLog2024", ["http", "server", "log", "2024"]),
        ("invoices invoiced invoicing invoice", ["invoic"] * 4),
        ("categories category", ["category"] * 2),
        ("shipping shipped ships", ["ship"] * 3),
        ("addresses address", ["address"] * 2),
        ("the total of all the orders", ["total", "order"]),
        ("销售额", ["销", "售", "额", "销售", "售额"]),
        ("订单Total金额", ["订", "单", "订单", "total", "金", "额", "金额"]),
        ("Größe", ["größe"]),
        ("１２３ ＡＢＣ", ["123", "abc"]),
        ("", []),
        ("?!… 🎉", []),
    ],
)
def test_words_are_split_and_stemmed(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_related_words_cross_the_languages() -> None:
    assert {"客户", "buyer"} <= synonyms("our customers")
    assert {"customer", "顾客"} <= synonyms("每个客户")
    assert synonyms("zebra") == set()


def test_a_value_finds_its_column(catalogue_of: MakeCatalogue) -> None:
    place = Table("place", (Column("id", "INT"), Column("c", "TEXT", samples=("Germany", "北京"))))
    other = Table("thing", (Column("id", "INT"), Column("d", "TEXT", samples=("France",))))
    catalogue = catalogue_of(other, place)
    for query in ("germany", "北京有多少"):
        (hit,) = search(catalogue, query)
        assert (hit.table_key, hit.columns[0]) == ("place", "c")
        assert hit.why.startswith("value: ")


def test_the_table_between_two_hits_is_found(catalogue_of: MakeCatalogue) -> None:
    student = Table("student", (Column("id", "INT"), Column("name", "TEXT")), primary_key=("id",))
    course = Table("course", (Column("id", "INT"), Column("title", "TEXT")), primary_key=("id",))
    between = Table(
        "x17",
        (Column("a", "INT"), Column("b", "INT")),
        foreign_keys=(
            ForeignKey(("a",), "student", ("id",)),
            ForeignKey(("b",), "course", ("id",)),
        ),
    )
    noise = [Table(f"noise{n}", (Column("name", "TEXT"),)) for n in range(20)]
    hits = search(catalogue_of(*noise, between, course, student), "student course", 3)
    assert {hit.table_key for hit in hits} == {"student", "course", "x17"}
    (joining,) = [hit for hit in hits if hit.table_key == "x17"]
    assert joining.why in ("joins student, course", "joins course, student")


def test_a_wide_table_gives_what_fits_best_and_its_keys(catalogue_of: MakeCatalogue) -> None:
    columns = [Column(f"c{n}", "TEXT") for n in range(300)]
    columns[250] = Column("shoe_size", "TEXT", comment="鞋码")
    wide = Table("wide", tuple(columns), primary_key=("c299",))
    for query in ("shoe sizes", "鞋码"):
        (hit,) = search(catalogue_of(wide), query, max_columns=10)
        assert hit.columns[0] == "shoe_size"
        assert "c299" in hit.columns
        assert len(hit.columns) == 10


def test_tables_alike_take_one_place(catalogue_of: MakeCatalogue) -> None:
    columns = (Column("visitor", "TEXT"), Column("page", "TEXT"))
    days = [Table(f"visits_2024_{month:02}", columns) for month in range(1, 13)]
    catalogue = catalogue_of(*days, Table("visitors", (Column("visitor", "TEXT"),)))
    hits = search(catalogue, "visitors of a page", 3)
    assert [hit.table_key for hit in hits] == ["visits_2024_12", "visitors"]
    assert hits[0].why.startswith("one of 12 alike, visits_2024_01 … visits_2024_12")
    assert search(catalogue, "visits in 2024_03")[0].table_key == "visits_2024_03"


def test_nothing_in_common_finds_nothing(catalogue_of: MakeCatalogue) -> None:
    catalogue = catalogue_of(Table("t", (Column("a", "TEXT"),)))
    assert search(catalogue, "zebra") == search(catalogue, "") == search(catalogue, "t", 0) == []
    assert search(catalogue_of(), "zebra") == []


def test_readers_of_the_same_source_do_not_share_what_they_may_see() -> None:
    """A policy may hide values and leave the structure, and so the hash, as it is."""
    full = company_catalogue()
    hidden = replace(
        full,
        tables=tuple(
            replace(t, columns=tuple(replace(c, samples=()) for c in t.columns))
            for t in full.tables
        ),
    )
    assert full.hash == hidden.hash
    assert [hit.table_key for hit in search(full, "TikTok", 1)] == ["campaigns"]
    assert search(hidden, "TikTok", 1) == []


@given(st.text(max_size=60), st.integers(0, 12), st.integers(1, 30))
def test_any_question_gets_a_bounded_answer(query: str, limit: int, max_columns: int) -> None:
    catalogue = company_catalogue()
    hits = search(catalogue, query, limit, max_columns=max_columns)
    known = {table.key: {c.name for c in table.columns} for table in catalogue.tables}
    assert len(hits) <= limit
    assert len({hit.table_key for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert set(hit.columns) <= known[hit.table_key]
        assert 0 < len(hit.columns) == len(set(hit.columns)) <= max_columns
        assert hit.why
    assert hits == search(catalogue, query, limit, max_columns=max_columns)
