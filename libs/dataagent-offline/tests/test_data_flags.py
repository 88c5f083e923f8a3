"""`How many are active?`: a column that says yes or no is a condition, whatever stands for yes."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import pytest

from .data_player import Player, Source
from .data_sources import sqlite_source

STORED: dict[str, tuple[str, list[Any]]] = {
    "BOOLEAN": ("active BOOLEAN", [True, False, None, True, True]),
    "text": ("active VARCHAR", ["Y", "N", None, "Y", "Y"]),
    "words": ("active VARCHAR", ["yes", "no", None, "Yes", "yes"]),
    "number": ("active INTEGER", [1, 0, None, 1, 1]),
    "question": ("is_active INTEGER", [1, 0, None, 1, 1]),
}
COUNTRIES = ["DE", "FR", "DE", "DE", "FR"]


def customers(column: str, values: list[Any], *, is_sampled: bool = True) -> Source:
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE customers (id BIGINT, name VARCHAR, country VARCHAR, {column})"
    )
    rows = [
        (number, f"c{number}", country, value)
        for number, (country, value) in enumerate(zip(COUNTRIES, values, strict=True))
    ]
    connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", rows)
    described = connection.execute("DESCRIBE customers").fetchall()
    table = {
        "name": "customers",
        "comment": None,
        "primary_key": ["id"],
        "foreign_keys": [],
        "columns": [{"name": row[0], "type": row[1], "comment": None} for row in described],
    }

    def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql)
        return [each[0] for each in cursor.description or ()], cursor.fetchall()

    source = Source("shop", "duckdb", [table], run)
    if not is_sampled:  # as engines do with numbers
        source.sampled["customers"] = {**table, "row_count": len(rows)}
    return source


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many are active?", 3),
        ("How many customers are active?", 3),
        ("How many active customers are there?", 3),
        ("How many active customers are there in Germany?", 2),
        ("How many customers are not active?", 2),
        ("有多少活跃客户", 3),
        ("有多少客户是启用的", 3),
        ("有多少是启用的", 3),
    ],
)
def test_a_yes_is_counted(kind: str, question: str, count: int) -> None:
    source = customers(*STORED[kind])
    source.run("UPDATE customers SET country = 'Germany' WHERE country = 'DE'")
    player = Player(source)
    text = player.ask(question)
    assert player.was_answered, text
    assert player.rows == [[count]], player.sql
    assert f"**{count}**" in text


def test_a_chinese_column_is_understood() -> None:
    source = customers('"是否启用" VARCHAR', ["是", "否", None, "是", "否"])
    player = Player(source)
    player.ask("有多少是启用的")
    assert player.rows == [[2]], player.sql


def test_a_number_that_is_more_than_yes_or_no_is_not_counted_as_one() -> None:
    player = Player(customers("active INTEGER", [57, 0, None, 1, 1], is_sampled=False))
    player.ask("How many are active?")
    assert not player.was_answered
    player = Player(customers(*STORED["number"], is_sampled=False))
    player.ask("How many are active?")
    assert player.rows == [[3]]


def test_sqlite_keeps_its_truth_as_numbers() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, active BOOLEAN)")
    connection.executemany("INSERT INTO products VALUES (?, ?, ?)", [(1, "a", 1), (2, "b", 0)])
    player = Player(sqlite_source("shop", connection, {}))
    player.ask("How many are active?")
    assert player.rows == [[1]], player.sql


def test_what_two_tables_have_is_asked_back_and_a_talk_says_which() -> None:
    connection = sqlite3.connect(":memory:")
    for table in ("customers", "products"):
        connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, active BOOLEAN)")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(1, 1), (2, 0), (3, 1)])
    connection.execute("DELETE FROM products WHERE id = 3")
    source = sqlite_source("shop", connection, {})
    player = Player(source)
    player.ask("How many are active?")
    assert not player.was_answered
    player.ask("How many customers are there?")
    player.ask("How many are active?")
    assert player.rows == [[2]], player.sql


def test_groups_by_yes_and_no_are_still_groups() -> None:
    player = Player(customers(*STORED["BOOLEAN"]))
    player.ask("number of customers by active")
    assert {tuple(row) for row in player.rows} == {(True, 3), (False, 1), (None, 1)}
