"""A condition that fails on a hidden row must not tell of it, whatever the planner does."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
from sqlglot import exp

from dataagent_core.data.policy import compile_in, policies_from_dict, visible_catalogue
from dataagent_core.data.sql import ParsedStatement, render
from dataagent_core.data.types import Catalogue, Column, Reader, Table

Connect = Callable[[str, Path], AbstractContextManager[Any]]
ENGINES = ("sqlite", "duckdb", "postgres", "mysql")
CANARY = "CANARY-91c4"
POLICIES = policies_from_dict(
    {
        "policies": [
            {
                "name": "eu",
                "subjects": "everyone",
                "tables": {"staff": {"row_filter": "UPPER(TRIM(region)) = 'EU'"}},
            }
        ]
    }
)
CONDITIONS = {
    "sqlite": "ABS(s.pay) > 0",  # of the least integer: an error
    "duckdb": "CAST(s.note AS INTEGER) > 0",
    "postgres": "CAST(s.note AS INTEGER) > 0",
    "mysql": "EXP(s.pay) > 0",
}


@pytest.fixture(params=ENGINES)
def engine(
    request: pytest.FixtureRequest, tmp_path: Path, connect: Connect
) -> Generator[tuple[str, Callable[[str], list[Any]]]]:
    """Staff: one row of the EU, and one beyond it on which conditions fail."""
    kind: str = request.param
    with connect(kind, tmp_path) as connection:

        def run(sql: str) -> list[Any]:
            with closing(connection.cursor()) as cursor:
                cursor.execute(sql)
                return [tuple(row) for row in cursor.fetchall()]

        with closing(connection.cursor()) as cursor:
            columns = "id INT, region VARCHAR(9), pay BIGINT, note TEXT, born DATE"
            cursor.execute(f"CREATE TABLE staff ({columns})")
            cursor.execute("INSERT INTO staff VALUES (1, 'EU', 5, '7', '1990-01-01')")
            low = 9000 if kind == "mysql" else "-9223372036854775807 - 1"
            cursor.execute(f"INSERT INTO staff VALUES (2, 'US', {low}, '{CANARY}', '1990-01-02')")
        yield kind, run


def _catalogue(dialect: str) -> Catalogue:
    columns = (
        Column("id", "INTEGER"),
        Column("region", "VARCHAR(9)"),
        Column("pay", "BIGINT"),
        Column("note", "TEXT"),
        Column("born", "DATE"),
    )
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return Catalogue("s", dialect, (Table("staff", columns),), "h", when)


Prepare = Callable[[str, Catalogue], ParsedStatement]


def _compiled(kind: str, sql: str, prepare: Prepare) -> ParsedStatement:
    catalogue, reader = _catalogue(kind), Reader("ana")
    tree = prepare(sql, visible_catalogue(catalogue, POLICIES, reader))
    return compile_in(tree, POLICIES, reader, catalogue).statement


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT s.id FROM staff AS s WHERE {}",
        "SELECT s.id FROM staff AS s JOIN staff AS t ON t.id = s.id AND {}",
        "SELECT s.id FROM staff AS s LEFT JOIN staff AS t ON {} WHERE s.id > 0",
        "SELECT s.id FROM staff AS s WHERE EXISTS (SELECT 1 FROM staff AS t WHERE {})",
        "WITH s AS (SELECT * FROM staff) SELECT s.id FROM s WHERE {}",
        "SELECT s.id FROM (SELECT id, pay, note FROM staff) AS s WHERE {} AND s.id < 9",
        "SELECT q.id FROM (SELECT s.id, CASE WHEN {} THEN 1 END AS x FROM staff AS s) AS q "
        "WHERE q.x = 1",
        "WITH q AS (SELECT s.id, CASE WHEN {} THEN 1 END AS x FROM staff AS s) "
        "SELECT q.id FROM q WHERE q.x = 1",
        "SELECT s.pay, MIN(s.id) FROM staff AS s GROUP BY s.pay, s.note HAVING {}",
    ],
)
def test_a_condition_that_fails_on_hidden_rows_only_does_not_fail(
    engine: tuple[str, Callable[[str], list[Any]]], sql: str, prepare: Prepare
) -> None:
    kind, run = engine
    tree = _compiled(kind, sql.format(CONDITIONS[kind]), prepare)

    rows = run(render(tree))

    assert [row[-1] for row in rows] == [1]


@pytest.mark.parametrize("engine", ["postgres", "mysql"], indirect=True)
def test_without_the_fence_the_condition_would_tell(
    engine: tuple[str, Callable[[str], list[Any]]], prepare: Prepare
) -> None:
    kind, run = engine
    tree = _compiled(kind, f"SELECT s.id FROM staff AS s WHERE {CONDITIONS[kind]}", prepare)

    with pytest.raises((psycopg.Error, pymysql.Error)):
        run(render(_without_fences(tree)))


def _without_fences(statement: ParsedStatement) -> ParsedStatement:
    for select in statement.tree.find_all(exp.Select):
        select.set("offset", None)
        select.set("limit", None)
    return statement


@pytest.mark.parametrize(
    "condition",
    [
        "-s.pay > 0",
        "EXTRACT(HOUR FROM s.born) > 0",
        "DATE_TRUNC('fortnight', s.born) IS NULL",
        "DATE_TRUNC('day', s.born, 'Nowhere/None') IS NULL",
    ],
)
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_what_fails_on_any_row_does_not_tell_whether_a_hidden_one_is_there(
    engine: tuple[str, Callable[[str], list[Any]]], condition: str, prepare: Prepare
) -> None:
    kind, run = engine
    sql = f"SELECT s.id FROM staff AS s WHERE s.id = 2 AND {condition}"
    with pytest.raises(psycopg.Error):
        run(sql)

    with pytest.raises(psycopg.Error):  # it is the fence that keeps it
        run(render(_without_fences(_compiled(kind, sql, prepare))))

    assert run(render(_compiled(kind, sql, prepare))) == []


@pytest.mark.parametrize("comparison", ["s.note = 7", "s.id = s.note", "s.note IN (1, 7)"])
@pytest.mark.parametrize("engine", ["duckdb"], indirect=True)
def test_a_comparison_that_converts_text_does_not_fail_on_hidden_rows(
    engine: tuple[str, Callable[[str], list[Any]]], comparison: str, prepare: Prepare
) -> None:
    kind, run = engine
    sql = f"SELECT s.id FROM staff AS s WHERE {comparison}"
    with pytest.raises(duckdb.ConversionException):
        run(sql)

    assert CANARY not in str(run(render(_compiled(kind, sql, prepare))))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql"])
@pytest.mark.parametrize(
    ("condition", "is_fenced"),
    [
        ("s.id = 3 AND s.region IN ('EU', 'US') OR s.pay BETWEEN 1 AND 2", False),
        ("s.region LIKE 'E%' AND NOT s.note IS NULL", False),
        ("LOWER(s.region) = 'eu' AND COALESCE(s.pay, 0) > 1", False),
        ("ABS(s.pay) > 1", True),
        ("s.pay > -1", False),
        ("-s.pay > 1", True),
        ("s.id IN (SELECT t.id FROM staff AS t WHERE t.pay > 3)", False),
        ("s.id IN (SELECT MAX(t.id + 1) FROM staff AS t)", False),
        ("s.pay / s.id > 1", True),
        ("s.pay + 1 > 1", True),
        ("CAST(s.note AS INTEGER) = 1", True),
        ("s.id = (SELECT t.id FROM staff AS t WHERE t.pay = s.pay)", True),
        ("s.id IN (SELECT t.pay / s.id FROM staff AS t)", True),
        ("s.region LIKE s.note", True),
    ],
)
def test_a_fence_stands_only_where_a_condition_can_fail(
    dialect: str, condition: str, is_fenced: bool, prepare: Prepare
) -> None:
    tree = _compiled(dialect, f"SELECT s.id FROM staff AS s WHERE {condition}", prepare).tree

    fences = {
        str(select.args.get("offset") or select.args.get("limit") or "")
        for select in tree.find_all(exp.Select)
        if any(isinstance(source, exp.Table) for source in [select.args["from_"].this])
    }
    assert (fences != {""}) is is_fenced
