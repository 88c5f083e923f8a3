"""A data room over real sources: SQLite and DuckDB files, PostgreSQL and MariaDB databases."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
from pydantic import SecretStr
from sqlalchemy import make_url

from dataagent_core.config import Settings
from dataagent_core.data.runtime import DataRuntime, open_standalone_runtime
from dataagent_core.data.service import DataService, QueryContext
from dataagent_core.data.sources import EVERYONE, NewSource, Source
from dataagent_core.data.types import Reader
from tests.homes import prepared_home
from tests.services import fresh_database

ENGINES = ("sqlite", "duckdb", "postgres", "mysql")
Execute = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Place:
    """A real database: where it is, and a door for its owner past all guards."""

    kind: str
    url: str
    execute: Execute


@contextmanager
def place(kind: str, folder: Path) -> Generator[Place]:
    """A fresh database of the kind, removed at the end."""
    if kind == "duckdb":
        path = folder / "source.duckdb"
        duckdb.connect(str(path)).close()

        def run_duckdb(sql: str) -> list[tuple[Any, ...]]:
            with duckdb.connect(str(path)) as connection:
                return connection.execute(sql).fetchall()

        yield Place(kind, f"duckdb:///{path}", run_duckdb)
        return
    with fresh_database(kind, folder) as url:
        yield Place(kind, url, _executor(kind, url))


def _executor(kind: str, url: str) -> Execute:
    def run(sql: str) -> list[tuple[Any, ...]]:
        connection = _connected(kind, url)
        try:
            cursor = connection.cursor()
            cursor.execute(sql)
            rows: list[Any] = cursor.fetchall() if cursor.description else []
            connection.commit()
            return list(rows)
        finally:
            connection.close()

    return run


def _connected(kind: str, url: str) -> Any:
    parts = make_url(url)
    match kind:
        case "sqlite":
            return sqlite3.connect(parts.database or "")
        case "postgres":
            return psycopg.connect(url.replace("+asyncpg", ""))
        case _:
            return pymysql.connect(
                host=parts.host or "127.0.0.1",
                port=parts.port or 3306,
                user=parts.username or "root",
                password=parts.password or "",
                database=parts.database,
            )


@pytest.fixture
async def data(tmp_path: Path) -> AsyncGenerator[DataRuntime]:
    async with open_standalone_runtime(
        Settings(home=prepared_home(tmp_path / "home"), sample_data=False)
    ) as room:
        yield room


@pytest.fixture
def service(data: DataRuntime) -> DataService:
    return data.service


@pytest.fixture
def register(service: DataService) -> Callable[..., Awaitable[Source]]:
    """Registers a database as a source for everyone."""

    async def register(url: str, name: str = "shop", **more: Any) -> Source:
        new = NewSource(name, url=SecretStr(url), grants=(EVERYONE,), **more)
        return await service.sources.create(new)

    return register


@pytest.fixture
def asked() -> QueryContext:
    return QueryContext(Reader("anna"), session_id="s1", run_id="r1")


@pytest.fixture(params=ENGINES)
def source_place(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Place]:
    """A fresh database of each kind."""
    with place(request.param, tmp_path) as made:
        yield made
