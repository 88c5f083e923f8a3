"""`dataagent schema`: tables, columns, and what fits some words."""

from __future__ import annotations

from .shell import dataagent


def test_without_words_the_tables_are_listed() -> None:
    done = dataagent("schema")
    assert done.code == 0
    assert [line.split()[0] for line in done.lines[2:5]] == ["Album", "Artist", "Customer"]
    assert "专辑" in done.out
    assert done.err.startswith("chinook (sqlite) · 11 tables · as of ")
    assert "hint: columns of a table: dataagent schema chinook Album\n" in done.err


def test_tables_are_shown_with_types_and_keys() -> None:
    done = dataagent("schema", "chinook", "invoiceline", "Genre")
    heading, _, names, _, key, foreign = done.lines[:6]
    assert heading.startswith("table InvoiceLine, 5,347 rows: ")
    assert names.split() == ["Column", "Type", "Key", "About"]
    assert key.split()[:3] == ["InvoiceLineId", "INTEGER", "primary"]
    assert foreign.split()[:6] == ["InvoiceId", "INTEGER", "not", "null", "→", "Invoice.InvoiceId"]
    assert "table Genre, 25 rows" in done.out


def test_words_find_the_tables_that_fit() -> None:
    done = dataagent("schema", "--search", "客户", "城市")
    assert done.lines[2].startswith("Customer ")
    nothing = dataagent("schema", "--search", "xyzzy")
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err == "no table matches 'xyzzy'\nhint: try other words.\n"


def test_what_is_not_there_is_an_error_with_a_hint() -> None:
    table = dataagent("schema", "chinook", "Custmer")
    assert table.code == 1
    assert table.err.startswith(
        "error: chinook: There is no table 'Custmer'. Did you mean: Customer?\n"
    )
    source = dataagent("schema", "Customer")
    assert source.code == 1
    assert "There are: 'chinook'." in source.err
