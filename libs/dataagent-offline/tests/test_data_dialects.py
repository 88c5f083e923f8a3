"""The SQL for steps of time, ranks and filters runs on each engine, and gives what it should."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
from sqlalchemy import make_url

from tests.services import fresh_database

from .data_player import Player, Source, same_rows

ROWS = [
    (1, 1, "2022-12-31 23:59:59", 10),
    (2, 1, "2023-01-01 00:00:00", 20),
    (3, 2, "2023-03-31 12:00:00", 30),
    (4, 2, "2023-04-01 08:00:00", 40),
    (5, 3, "2023-12-31 23:59:59", 50),
    (6, 3, "2024-01-01 00:00:00", 60),
    (7, 3, None, 70),
]
QUESTIONS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("sales by year", [("2022", 10), ("2023", 140), ("2024", 60), (None, 70)]),
    ("sales by quarter in 2023", [("2023-Q1", 50), ("2023-Q2", 40), ("2023-Q4", 50)]),
    ("monthly sales in 2023",
     [("2023-01", 20), ("2023-03", 30), ("2023-04", 40), ("2023-12", 50)]),
    ("sales per day in January 2024", [("2024-01-01", 60)]),
    ("2023年第一季度的销售额", [(50,)]),
    ("sales on 2023-12-31", [(50,)]),
    ("which year had the highest sales?", [("2023", 140)]),
    ("top 2 clients by sales", [("Cy", 180), ("Bo's", 70)]),
    ("bottom 2 clients by sales", [("Al", 30), ("Bo's", 70)]),
    ('sales for "Bo\'s"', [(70,)]),
]  # fmt: skip
CLIENTS = [(1, "Al", "north"), (2, "Bo's", "north"), (3, "Cy", "south")]

Run = Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]


def tables(time_type: str) -> list[dict[str, Any]]:
    def table(
        name: str, columns: dict[str, str], key: str, *links: dict[str, Any]
    ) -> dict[str, Any]:
        described = [{"name": each, "type": kind} for each, kind in columns.items()]
        return {"name": name, "comment": "", "primary_key": [key], "foreign_keys": list(links),
                "columns": described}  # fmt: skip

    return [
        table("Client", {"ClientId": "INTEGER", "Name": "VARCHAR(40)", "group": "VARCHAR(40)"},
              "ClientId"),
        table("Order", {"OrderId": "INTEGER", "ClientId": "INTEGER", "OrderDate": time_type,
                        "Amount": "INTEGER"}, "OrderId",
              {"columns": ["ClientId"], "table": "Client", "target_columns": ["ClientId"]}),
    ]  # fmt: skip


def statements(quote: str, time_type: str, mark: str) -> tuple[list[str], str, str]:
    def name(text: str) -> str:
        return f"{quote}{text}{quote}"

    create = [
        f"CREATE TABLE {name('Client')} ({name('ClientId')} INTEGER PRIMARY KEY,"
        f" {name('Name')} VARCHAR(40), {name('group')} VARCHAR(40))",
        f"CREATE TABLE {name('Order')} ({name('OrderId')} INTEGER PRIMARY KEY,"
        f" {name('ClientId')} INTEGER, {name('OrderDate')} {time_type}, {name('Amount')} INTEGER)",
    ]
    clients = f"INSERT INTO {name('Client')} VALUES ({', '.join([mark] * 3)})"
    return create, clients, f"INSERT INTO {name('Order')} VALUES ({', '.join([mark] * 4)})"


@contextmanager
def duckdb_source(folder: Path, *, time_type: str = "TIMESTAMP") -> Generator[Source]:
    connection = duckdb.connect()
    create, clients, rows = statements('"', time_type, "?")
    for each in create:
        connection.execute(each)
    connection.executemany(clients, CLIENTS)
    connection.executemany(rows, ROWS)

    def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql)
        return [each[0] for each in cursor.description or ()], cursor.fetchall()

    yield Source("duck", "duckdb", tables(time_type), run)
    connection.close()


@contextmanager
def text_dates_source(folder: Path) -> Generator[Source]:
    with duckdb_source(folder, time_type="VARCHAR") as source:
        yield source


@contextmanager
def postgres_source(folder: Path) -> Generator[Source]:
    with fresh_database("postgres", folder) as url, psycopg.connect(url) as connection:
        create, clients, rows = statements('"', "TIMESTAMP", "%s")
        cursor = connection.cursor()
        for each in create:
            cursor.execute(each.encode())
        cursor.executemany(clients.encode(), CLIENTS)
        cursor.executemany(rows.encode(), ROWS)

        def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
            found = connection.execute(sql.encode())
            return [each.name for each in found.description or ()], found.fetchall()

        yield Source("post", "postgres", tables("timestamp without time zone"), run)


@contextmanager
def mysql_source(folder: Path) -> Generator[Source]:
    with fresh_database("mysql", folder) as text:
        url = make_url(text)
        connection = pymysql.connect(
            host=url.host, port=url.port or 3306, user=url.username, database=url.database,
            password=url.password or "",
        )  # fmt: skip
        create, clients, rows = statements("`", "DATETIME", "%s")
        with connection, connection.cursor() as cursor:
            for each in create:
                cursor.execute(each)
            cursor.executemany(clients, CLIENTS)
            cursor.executemany(rows, ROWS)

            def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
                cursor.execute(sql)
                return [each[0] for each in cursor.description or ()], list(cursor.fetchall())

            yield Source("my", "mysql", tables("DATETIME"), run)


ENGINES = {
    "duckdb": duckdb_source,
    "duckdb with dates as text": text_dates_source,
    "postgres": postgres_source,
    "mysql": mysql_source,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_of_time_ranks_and_filters_are_right_on_each_engine(
    engine: str, tmp_path: Path
) -> None:
    with ENGINES[engine](tmp_path) as source:
        for question, expected in QUESTIONS:
            player = Player(source)
            text = player.ask(question)
            assert player.was_answered, f"{question}: {text}"
            found = sorted(player.rows, key=lambda row: str(row[0] or "~"))
            wanted = sorted(expected, key=lambda row: str(row[0] or "~"))
            assert same_rows(found, wanted), f"{question}\n{player.sql}"
