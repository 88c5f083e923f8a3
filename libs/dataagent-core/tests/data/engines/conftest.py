"""A database of each kind, filled through its own driver and read through its engine."""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
from sqlalchemy import make_url

from dataagent_core.data.engines import Engine, EngineOptions, open_engine
from tests.services import fresh_database

KINDS = ("sqlite", "duckdb", "postgres", "mysql")


@dataclass
class Database:
    """An empty database of its own. `run` is its owner at work; `engine` is what we offer."""

    kind: str
    url: str
    options: EngineOptions = field(default_factory=EngineOptions)
    _engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = open_engine(self.url, options=self.options)
        return self._engine

    def limit(self, **options: Any) -> Engine:
        """The engine, opened anew with these options."""
        self.close()
        self.options = EngineOptions(**options)
        return self.engine

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements with all rights; the rows of the last one."""
        if self.kind == "duckdb":
            self.close()  # DuckDB lets one side in at a time
        with closing(self._owner()) as owner, closing(owner.cursor()) as cursor:
            rows: Any = ()
            for statement in statements:
                cursor.execute(statement)
                rows = cursor.fetchall() if cursor.description else ()
            owner.commit()
            return [tuple(row) for row in rows]

    def read(
        self, sql: str, timeout_seconds: float = 60, time_zone: str = "UTC"
    ) -> list[tuple[Any, ...]]:
        """All rows of a statement, through the engine."""
        with self.engine.statement(
            sql, timeout_seconds=timeout_seconds, time_zone=time_zone
        ) as statement:
            rows: list[tuple[Any, ...]] = []

            def consume(batches: Iterator[Any]) -> None:
                rows.clear()
                for batch in batches:
                    columns = [column.to_pylist() for column in batch.columns]
                    rows.extend(zip(*columns, strict=True))

            statement.read(consume)
            return rows

    def schema(self, sql: str) -> list[tuple[str, str]]:
        """Names and types of a result, after all of it was read."""
        with self.engine.statement(sql, timeout_seconds=60) as statement:
            batches = statement.read(list)
        assert len({batch.schema for batch in batches}) == 1
        return [(part.name, str(part.type)) for part in batches[0].schema]

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _owner(self) -> Any:
        url = make_url(self.url)
        match self.kind:
            case "sqlite":
                return sqlite3.connect(str(url.database))
            case "duckdb":
                return duckdb.connect(str(url.database))
            case "postgres":
                return psycopg.connect(self.url)
            case _:
                return pymysql.connect(
                    host=url.host,
                    port=url.port or 3306,
                    user=url.username,
                    password=url.password or "",
                    database=url.database,
                    charset="utf8mb4",
                )


class Servers:
    """One database on each server, made when first asked for, empty for each test."""

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._folder = folder
        self._urls: dict[str, str] = {}

    def url(self, kind: str) -> str:
        if kind not in self._urls:
            self._urls[kind] = self._stack.enter_context(fresh_database(kind, self._folder))
        return self._urls[kind]

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Generator[Servers]:
    """The databases of this module's tests."""
    made = Servers(tmp_path_factory.mktemp("servers"))
    yield made
    made.close()


@contextmanager
def _fresh(kind: str, folder: Path, servers: Servers) -> Generator[Database]:
    if kind in ("postgres", "mysql"):
        database = Database(kind, servers.url(kind))
        database.run(*_emptying(database))
    else:
        database = Database(kind, f"{kind}:///{folder / f'test.{kind}'}")
        database.run("CREATE TABLE first (x INTEGER)", "DROP TABLE first")
    yield database
    database.close()


def _emptying(database: Database) -> list[str]:
    if database.kind == "postgres":
        found = database.run(
            "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"
        )
        return [*(f"DROP SCHEMA {name} CASCADE" for (name,) in found), "CREATE SCHEMA public"]
    found = database.run(
        "SELECT IF(TABLE_TYPE = 'VIEW', 'VIEW', 'TABLE'), TABLE_NAME "
        "FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
    )
    drops = [f"DROP {kind} `{name}`" for kind, name in found]
    return ["SET foreign_key_checks = 0", *drops]


@pytest.fixture(params=KINDS)
def database(
    request: pytest.FixtureRequest, tmp_path: Path, servers: Servers
) -> Generator[Database]:
    """One of each kind in turn."""
    with _fresh(request.param, tmp_path, servers) as fresh:
        yield fresh


@pytest.fixture
def make_database(tmp_path: Path, servers: Servers) -> Generator[Callable[[str], Database]]:
    """A database of the kind that a test is about."""
    with ExitStack() as stack:
        yield lambda kind: stack.enter_context(_fresh(kind, tmp_path, servers))
