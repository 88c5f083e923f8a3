"""Statements that must not pass, and why each does not."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
import yaml

from dataagent_core.data.sql import Reason, parse, render, resolve
from dataagent_core.errors import QueryRefused, UnknownName

from .chinook import catalogue

HOSTILE: list[tuple[str, str, str]] = [
    (dialect, entry["reason"], entry["sql"])
    for entry in yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text("utf-8"))
    for dialect in entry["dialects"]
]


def reason_of(sql: str, dialect: str) -> str | None:
    """Why the guard refuses it, or None and then it would have run."""
    try:
        render(resolve(parse(sql, dialect), catalogue(dialect)))
    except QueryRefused as error:
        return str((error.details or {})["reason"])
    except UnknownName as error:
        return error.code
    return None


@pytest.mark.parametrize(("dialect", "reason", "sql"), HOSTILE)
def test_it_is_refused_for_its_reason(
    dialect: str, reason: str, sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert reason_of(sql, dialect) == reason
    assert caplog.records == []  # the parser's library writes what it could not read into the log


def test_there_are_enough_of_them_in_each_dialect() -> None:
    for dialect in ("sqlite", "postgres", "mysql", "duckdb"):
        assert len({sql for at, _, sql in HOSTILE if at == dialect}) >= 30


def test_every_reason_is_one_that_clients_may_test_for() -> None:
    assert {reason for _, reason, _ in HOSTILE} - {"unknown_name"} <= set(get_args(Reason))


DEEP = {
    "brackets": "SELECT " + "(" * 200 + "1" + ")" * 200,
    "queries": "SELECT " + "(SELECT " * 60 + "1" + ")" * 60,
    "calls": "SELECT " + "abs(" * 100 + "1" + ")" * 100,
    "cases": "SELECT " + "CASE WHEN 1 = 1 THEN " * 80 + "1" + " END" * 80,
    "casts": "SELECT 1" + "::int" * 3000,
    "nots": "SELECT " + "NOT " * 3000 + "1",
    "minuses": "SELECT " + "- " * 3000 + "1",
    "dots": "SELECT a" + ".b" * 3000,
    "indexes": "SELECT a" + "[1]" * 3000,
    "lists": "SELECT " + "[" * 300 + "1" + "]" * 300,
}


@pytest.mark.parametrize("shape", DEEP)
@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql", "duckdb"])
def test_a_deep_statement_is_refused_and_nothing_overflows(shape: str, dialect: str) -> None:
    assert reason_of(DEEP[shape], dialect) in {
        *(
            "too_long",
            "too_deep",
            "not_parsable",
            "node_not_allowed",
            "unknown_name",
            "function_not_allowed",
        )
    }


@pytest.mark.parametrize("shape", ["brackets", "queries", "calls", "cases"])
def test_nesting_is_named_as_the_reason(shape: str) -> None:
    assert reason_of(DEEP[shape], "postgres") == "too_deep"


def test_a_long_statement_is_refused() -> None:
    assert reason_of("SELECT '" + "x" * 100_000 + "'", "sqlite") == "too_long"
    assert reason_of("SELECT " + "+".join("1" * 6_000), "sqlite") == "too_long"
    assert reason_of("SELECT a" + "[1]" * 201, "duckdb") == "too_long"


def test_a_wide_statement_is_refused_before_it_grows() -> None:
    chain = "".join(
        f", c{n} AS (SELECT a.*, b.* FROM c{n - 1} a, c{n - 1} b)" for n in range(1, 60)
    )
    assert reason_of(f"WITH c0 AS (SELECT * FROM Track){chain} SELECT 1", "sqlite") == "too_large"
    assert reason_of("SELECT " + ", ".join("*" * 1000) + " FROM Track", "sqlite") == "too_large"
    items = ", ".join(f"Genre g{number}" for number in range(101))
    assert reason_of(f"SELECT 1 FROM {items}", "sqlite") == "too_large"


def test_half_of_a_character_is_refused() -> None:
    assert reason_of("SELECT '\ud800'", "sqlite") == "bad_text"


def test_a_function_that_is_not_allowed_comes_with_near_ones_that_are() -> None:
    with pytest.raises(QueryRefused, match="Nearest that are: date_diff") as refused:
        parse("SELECT date_dif('day', a, b)", "duckdb")
    assert str((refused.value.details or {})["hint"]) in refused.value.message
