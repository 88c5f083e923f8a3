"""A small shop as a catalogue, engines, queries prepared as the guard leaves them, random ones."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
from sqlalchemy import make_url

from dataagent_core.data.policy import PolicySet, compile_in, visible_catalogue
from dataagent_core.data.sql import ParsedStatement, parse, render, resolve
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Reader, Table
from tests.services import fresh_database

Run = Callable[..., tuple[str, tuple[str, ...]]]


TABLES = (
    Table(
        name="Customer",
        columns=(
            Column("Id", "INTEGER"),
            Column("Name", "TEXT", samples=("Ana", "Bo")),
            Column("Email", "TEXT", samples=("ana@example.org",)),
            Column("Region", "TEXT", samples=("EU", "US"), are_samples_truncated=True),
            Column("Salary", "INTEGER"),
        ),
        primary_key=("Id",),
        row_count=10,
    ),
    Table(
        name="Invoice",
        columns=(
            Column("Id", "INTEGER"),
            Column("CustomerId", "INTEGER"),
            Column("Total", "NUMERIC(10, 2)", samples=("9.50",)),
        ),
        primary_key=("Id",),
        foreign_keys=(ForeignKey(("CustomerId",), "Customer", ("Id",)),),
        row_count=20,
    ),
    Table(
        name="Secret",
        columns=(Column("Id", "INTEGER"), Column("InvoiceId", "INTEGER")),
        foreign_keys=(ForeignKey(("InvoiceId",), "Invoice", ("Id",)),),
        row_count=3,
    ),
    Table(name="BigSpender", columns=(Column("Name", "TEXT"),), is_view=True),
    Table(name="Ledger", schema="books", columns=(Column("Id", "INTEGER"),)),
)


def shop(dialect: str = "sqlite") -> Catalogue:
    """Customers with invoices, staff with bosses, a secret table and a view."""
    return Catalogue(
        source_id="shop",
        dialect=dialect,
        tables=TABLES,
        hash="h1",
        refreshed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def prepared(sql: str, known: Catalogue) -> ParsedStatement:
    """The statement as the policy gets it: parsed and resolved on what the reader sees."""
    return resolve(parse(sql, known.dialect), known)


@pytest.fixture
def prepare() -> Callable[[str, Catalogue], ParsedStatement]:
    return prepared


@pytest.fixture
def catalogue() -> Catalogue:
    return shop()


@pytest.fixture
def shop_in() -> Callable[[str], Catalogue]:
    return shop


@pytest.fixture
def run() -> Run:
    """A statement through guard and policy: the SQL for the driver, and the sentences."""

    def compiled(
        sql: str, policies: PolicySet, reader: Reader, catalogue: Catalogue
    ) -> tuple[str, tuple[str, ...]]:
        known = visible_catalogue(catalogue, policies, reader)
        result = compile_in(prepared(sql, known), policies, reader, catalogue)
        return render(result.statement), result.sentences

    return compiled


@pytest.fixture(scope="session")
def connect() -> Callable[[str, Path], AbstractContextManager[Any]]:
    """Opens an empty database of a kind; a folder is for what it needs on disk."""
    return connected


@contextmanager
def connected(kind: str, folder: Path) -> Generator[Any]:
    with ExitStack() as stack:
        if kind == "sqlite":
            yield stack.enter_context(closing(sqlite3.connect(":memory:")))
            return
        if kind == "duckdb":
            yield stack.enter_context(duckdb.connect(":memory:", config={"threads": 1}))
            return
        text = stack.enter_context(fresh_database(kind, folder))
        if kind == "postgres":
            yield stack.enter_context(psycopg.connect(text, autocommit=True))
            return
        url = make_url(text)
        yield stack.enter_context(
            pymysql.connect(
                host=url.host,
                port=url.port or 3306,
                user=url.username,
                password=url.password or "",
                database=url.database,
                charset="utf8mb4",
            )
        )


@pytest.fixture
def ask() -> Callable[[str, Catalogue], tuple[str, bool]]:
    """A query from a seed, over the tables of a catalogue; whether it orders by all it selects."""
    return lambda seed, known: Asking(random.Random(seed), known).query()


class Asking:
    """Random queries over the tables a reader sees."""

    def __init__(self, chance: random.Random, known: Catalogue) -> None:
        self.chance = chance
        self.tables = {
            table.name: {column.name: column.type for column in table.columns}
            for table in known.tables
        }
        self.engine = known.dialect

    def query(self) -> tuple[str, bool]:
        """The text, and whether it orders by all its columns."""
        made = self.chance.choice(
            [self._plain, self._plain, self._grouped, self._star, self._sets, self._windowed]
        )
        with_, scope = self._ctes()
        body, width = made(scope)
        if width and self.chance.random() < 0.4:
            order = ", ".join(str(place + 1) for place in range(width))
            limit = f" LIMIT {self.chance.randint(1, 9)}" if self.chance.random() < 0.5 else ""
            return f"{with_}SELECT * FROM ({body}) AS q ORDER BY {order}{limit}", True
        return f"{with_}{body}", False

    def _ctes(self) -> tuple[str, dict[str, dict[str, str]]]:
        scope = dict(self.tables)
        kind = self.chance.random()
        if kind > 0.35:
            return "", scope
        if kind < 0.1:
            text = (
                "WITH RECURSIVE n(k) AS (SELECT MIN(id) FROM staff UNION ALL "
                "SELECT n.k + 1 FROM n WHERE n.k < (SELECT MAX(id) FROM staff)) "
            )
            scope["n"] = {"k": "INTEGER"}
            return text, scope
        base = self.chance.choice(list(self.tables))
        name = self.chance.choice(["recent", *self.tables])  # may hide a real table
        depth = 1
        if self.engine == "sqlite":  # it has no table behind a CTE of the same name
            name, depth = ("recent" if name == base else name), 0
        where = self._condition({base: base}, depth)
        text = f"WITH {name} AS (SELECT * FROM {base} WHERE {where}) "
        scope[name] = self.tables[base]
        self.tables = dict(scope)
        return text, scope

    def _from(self, scope: dict[str, dict[str, str]]) -> tuple[str, dict[str, str]]:
        chance = self.chance
        aliases: dict[str, str] = {}
        text = ""
        for number in range(chance.choice([1, 1, 2, 2, 3])):
            table, alias = chance.choice(list(scope)), f"t{number}"
            source = table
            if chance.random() < 0.2:
                source = f"(SELECT * FROM {table} WHERE {self._condition({table: table}, 1)})"
            if not text:
                text = f"{source} AS {alias}"
            else:
                left = self._column(aliases, "INTEGER")
                right = self._column({alias: table}, "INTEGER")
                join = chance.choice(["JOIN", "LEFT JOIN", "JOIN", "FULL JOIN"])
                text += f" {join} {source} AS {alias} ON {left} = {right}"
            aliases[alias] = table
        return text, aliases

    def _columns(self, aliases: dict[str, str], kind: str | None = None) -> list[str]:
        return [
            f"{alias}.{column}"
            for alias, table in aliases.items()
            for column, type_ in self.tables.get(table, {"k": "INTEGER"}).items()
            if kind is None or type_ == kind
        ]

    def _column(self, aliases: dict[str, str], kind: str) -> str:
        return self.chance.choice(self._columns(aliases, kind))

    def _condition(self, aliases: dict[str, str], depth: int) -> str:
        chance = self.chance
        number = self._column(aliases, "INTEGER")
        simple = [
            f"{number} {chance.choice(['<', '>=', '=', '<>'])} {chance.randint(0, 30)}",
            f"{number} IN (1, 2, 3, 5, 8)",
            f"{number} % 3 = 1",
            f"{number} IS NOT NULL",
            f"{number} BETWEEN 2 AND {chance.randint(3, 40)}",
        ]
        if texts := self._columns(aliases, "TEXT"):
            text = chance.choice(texts)
            simple += [f"{text} LIKE '%a%'", f"{text} = 'EU'", f"{text} IS NULL", f"{text} < 'm'"]
        one = chance.choice(simple)
        kind = chance.random()
        if depth and kind < 0.3:
            two = self._condition(aliases, depth - 1)
            return f"({one} {chance.choice(['AND', 'OR'])} {two})"
        if depth and kind < 0.4:
            return f"NOT ({one})"
        if depth and kind < 0.6:
            return self._nested(aliases, number)
        return one

    def _nested(self, aliases: dict[str, str], number: str) -> str:
        table = self.chance.choice(list(self.tables))
        inner = self._column({"s": table}, "INTEGER")
        where = self._condition({"s": table}, 0)
        return self.chance.choice(
            [
                f"EXISTS (SELECT 1 FROM {table} AS s WHERE {inner} = {number} AND {where})",
                f"NOT EXISTS (SELECT 1 FROM {table} AS s WHERE {inner} = {number})",
                f"{number} IN (SELECT {inner} FROM {table} AS s WHERE {where})",
                f"{number} <= (SELECT MAX({inner}) FROM {table} AS s WHERE {where})",
            ]
        )

    def _where(self, aliases: dict[str, str]) -> str:
        return f" WHERE {self._condition(aliases, 2)}" if self.chance.random() < 0.7 else ""

    def _plain(self, scope: dict[str, dict[str, str]]) -> tuple[str, int]:
        text, aliases = self._from(scope)
        chosen = self.chance.sample(columns := self._columns(aliases), min(3, len(columns)))
        listed = ", ".join(f"{column} AS c{place}" for place, column in enumerate(chosen))
        distinct = self.chance.choice(["", "DISTINCT "])
        if self.chance.random() < 0.2:
            table = self.chance.choice(list(self.tables))
            inner = self._column({"s": table}, "INTEGER")
            outer = self._column(aliases, "INTEGER")
            listed += f", (SELECT COUNT(*) FROM {table} AS s WHERE {inner} = {outer}) AS cn"
            chosen.append("cn")
        return f"SELECT {distinct}{listed} FROM {text}{self._where(aliases)}", len(chosen)

    def _star(self, scope: dict[str, dict[str, str]]) -> tuple[str, int]:
        text, aliases = self._from(scope)
        star = self.chance.choice(["*", "t0.*"])
        return f"SELECT {star} FROM {text}{self._where(aliases)}", 0

    def _grouped(self, scope: dict[str, dict[str, str]]) -> tuple[str, int]:
        text, aliases = self._from(scope)
        key, other = self.chance.choice(self._columns(aliases)), self._column(aliases, "INTEGER")
        having = self.chance.choice(["", " HAVING COUNT(*) > 1", f" HAVING MAX({other}) > 4"])
        body = (
            f"SELECT {key} AS g, COUNT(*) AS n, SUM({other}) AS s, COUNT(DISTINCT {other}) AS d, "
            f"MIN({other}) AS lo FROM {text}{self._where(aliases)} GROUP BY {key}{having}"
        )
        return body, 5

    def _windowed(self, scope: dict[str, dict[str, str]]) -> tuple[str, int]:
        text, aliases = self._from(scope)
        key, other = self.chance.choice(self._columns(aliases)), self._column(aliases, "INTEGER")
        body = (
            f"SELECT {key} AS g, {other} AS o, RANK() OVER (PARTITION BY {key} ORDER BY {other}) "
            f"AS r, SUM({other}) OVER (PARTITION BY {key}) AS s FROM {text}{self._where(aliases)}"
        )
        return body, 4

    def _sets(self, scope: dict[str, dict[str, str]]) -> tuple[str, int]:
        arms: list[str] = []
        for _ in range(2):
            text, aliases = self._from(scope)
            one, two = (self._column(aliases, "INTEGER") for _ in range(2))
            arms.append(f"SELECT {one} AS a, {two} AS b FROM {text}{self._where(aliases)}")
        word = self.chance.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
        return f"{arms[0]} {word} {arms[1]}", 2
