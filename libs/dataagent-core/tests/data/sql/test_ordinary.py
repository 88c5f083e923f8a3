"""Ordinary analytic statements pass, and give on the real engine what they gave before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dataagent_core.data.sql import parse, resolve, tables_of

from .chinook import TABLES, catalogue
from .engines import DIALECTS, Engine, guarded

FOLDER = Path(__file__).with_name("ordinary")


def statements_of(dialect: str) -> list[str]:
    """The statements of a dialect's file, which ends each with a semicolon and an empty line."""
    text = (FOLDER / f"{dialect}.sql").read_text("utf-8")
    return [one.strip() for one in re.split(r";\s*\n\s*(?:\n|\Z)", text) if one.strip()]


ALL = [(dialect, sql) for dialect in DIALECTS for sql in statements_of(dialect)]


@pytest.mark.parametrize(("dialect", "sql"), ALL)
def test_it_passes_and_gives_the_same_rows_under_the_same_names(
    dialect: str, sql: str, engines: dict[str, Engine]
) -> None:
    as_written = engines[dialect].answer(sql)
    as_guarded = engines[dialect].answer(guarded(sql, dialect))
    assert as_written.rows, "a statement that gives nothing compares nothing"
    assert as_guarded.rows == as_written.rows
    assert as_guarded.labels == as_written.labels


@pytest.mark.parametrize(("dialect", "sql"), ALL)
def test_guarding_twice_changes_no_more(dialect: str, sql: str) -> None:
    once = guarded(sql, dialect)
    assert guarded(once, dialect) == once


@pytest.mark.parametrize(("dialect", "sql"), ALL)
def test_its_tables_are_real(dialect: str, sql: str) -> None:
    tree = resolve(parse(sql, dialect), catalogue(dialect)).tree
    for table in tables_of(tree):
        assert table.name in TABLES


def test_there_are_enough_of_them() -> None:
    assert len(set(ALL)) >= 300
    assert all(len(set(statements_of(dialect))) >= 75 for dialect in DIALECTS)
