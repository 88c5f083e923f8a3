"""The four engines the guard's output is run on, each with the small Chinook in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
from sqlalchemy import make_url

from dataagent_core.data.sql import parse, render, resolve
from tests.services import fresh_database

from .chinook import catalogue, statements

DIALECTS = ("sqlite", "postgres", "mysql", "duckdb")


def guarded(sql: str, dialect: str) -> str:
    """The statement as the guard sends it."""
    return render(resolve(parse(sql, dialect), catalogue(dialect)))


@dataclass(frozen=True)
class Answer:
    """What a statement gave: labels, and rows whose order does not count."""

    labels: list[str]
    rows: list[str]


@dataclass(frozen=True)
class Engine:
    """An open database."""

    dialect: str
    _execute: Callable[[str], tuple[list[str], list[Any]]]

    def answer(self, sql: str) -> Answer:
        labels, rows = self._execute(sql)
        return Answer(labels, sorted(repr([_plain(cell) for cell in row]) for row in rows))


def _plain(cell: Any) -> Any:  # cells as four drivers give them
    if isinstance(cell, float):
        return f"{cell:.9g}"
    if isinstance(cell, Decimal):
        return f"{cell:.9f}"
    if isinstance(cell, list | tuple):
        # a driver's list
        return [_plain(one) for one in cell]  # pyright: ignore[reportUnknownVariableType]
    return cell


@contextmanager
def engine(dialect: str, folder: Path) -> Generator[Engine]:
    """An engine with the small Chinook in it; what was made is removed at the end."""
    opened = {"sqlite": _sqlite, "duckdb": _duckdb, "postgres": _postgres, "mysql": _mysql}
    with opened[dialect](folder) as one:
        yield one


@contextmanager
def _sqlite(folder: Path) -> Generator[Engine]:
    connection = sqlite3.connect(":memory:")

    def execute(sql: str) -> tuple[list[str], list[Any]]:
        cursor = connection.execute(sql)
        return [one[0] for one in cursor.description], cursor.fetchall()

    for sql, rows in statements("sqlite"):
        connection.executemany(sql, rows) if rows else connection.execute(sql)
    try:
        yield Engine("sqlite", execute)
    finally:
        connection.close()


@contextmanager
def _duckdb(folder: Path) -> Generator[Engine]:
    connection = duckdb.connect(":memory:")
    connection.execute("SET threads = 1")

    def execute(sql: str) -> tuple[list[str], list[Any]]:
        cursor = connection.execute(sql)
        return [one[0] for one in cursor.description or []], cursor.fetchall()

    for sql, rows in statements("duckdb"):
        connection.executemany(sql, rows) if rows else connection.execute(sql)
    try:
        yield Engine("duckdb", execute)
    finally:
        connection.close()


@contextmanager
def _postgres(folder: Path) -> Generator[Engine]:
    with fresh_database("postgres", folder) as url, psycopg.connect(url, autocommit=True) as server:

        def execute(sql: str) -> tuple[list[str], list[Any]]:
            cursor = server.execute(sql.encode())
            if cursor.description is None:
                return [], []
            return [one.name for one in cursor.description], cursor.fetchall()

        for sql, rows in statements("postgres"):
            with server.cursor() as cursor:
                cursor.executemany(sql.encode(), rows) if rows else cursor.execute(sql.encode())
        yield Engine("postgres", execute)


@contextmanager
def _mysql(folder: Path) -> Generator[Engine]:
    with fresh_database("mysql", folder) as url:
        place = make_url(url)
        server = pymysql.connect(
            host=place.host,
            port=place.port or 3306,
            user=place.username,
            password=place.password or "",
            database=place.database,
            autocommit=True,
        )

        def execute(sql: str) -> tuple[list[str], list[Any]]:
            with server.cursor() as cursor:
                cursor.execute(sql)
                return [one[0] for one in cursor.description or ()], list(cursor.fetchall())

        with server:
            for sql, rows in statements("mysql"):
                with server.cursor() as cursor:
                    cursor.executemany(sql, rows) if rows else cursor.execute(sql)
            yield Engine("mysql", execute)
