"""The databases tests run on: SQLite files, and PostgreSQL, MySQL/MariaDB and Redis servers.

Each helper makes a database (or a prefix of keys) of its own and removes it at the end. A service
that does not answer fails the test: a store that was not tested is not tested.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import psycopg
import pymysql
import redis
from psycopg import sql
from sqlalchemy import make_url

from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate
from tests.times import count_start


def postgres_url() -> str:
    """Where PostgreSQL is; its user may create databases."""
    return os.environ.get(
        "DATAAGENT_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
    )


def mysql_url() -> str:
    """Where MySQL or MariaDB is; its user may create databases."""
    return os.environ.get("DATAAGENT_TEST_MYSQL_URL", "mysql://root@127.0.0.1:3306/mysql")


def redis_url() -> str:
    """Where Redis is."""
    return os.environ.get("DATAAGENT_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")


@contextmanager
def fresh_database(kind: str, folder: Path) -> Generator[str]:
    """The URL of an empty database: sqlite (a file in `folder`), postgres or mysql."""
    count_start(f"{kind} database")
    match kind:
        case "sqlite":
            yield f"sqlite:///{folder / f'{_fresh_name()}.db'}"
        case "postgres":
            with _postgres_database() as url:
                yield url
        case "mysql":
            with _mysql_database() as url:
                yield url
        case _:
            raise ValueError(kind)


@contextmanager
def migrated_database(kind: str, folder: Path) -> Generator[str]:
    """As `fresh_database`, with our tables in it. Not for use inside a running event loop."""
    with fresh_database(kind, folder) as url:
        asyncio.run(_migrate(url))
        yield url


async def _migrate(url: str) -> None:
    database = open_database(url)
    try:
        await migrate(database)
    finally:
        await database.close()


@contextmanager
def fresh_redis_prefix() -> Generator[str]:
    """A prefix no one else uses; its keys are removed at the end."""
    prefix = f"{_fresh_name()}:"
    try:
        yield prefix
    finally:
        clear_redis(prefix)


def clear_redis(prefix: str) -> None:
    """Remove all keys that start with the prefix."""
    redis_client = cast(Any, redis.Redis)  # it leaves its options untyped
    with redis_client.from_url(redis_url()) as client:
        for key in client.scan_iter(match=f"{prefix}*", count=1000):
            client.unlink(key)


@contextmanager
def store_options(kind: str, folder: Path) -> Generator[dict[str, Any]]:
    """An empty place for the stores of a kind, as what their constructors take."""
    if kind == "redis":
        with fresh_redis_prefix() as prefix:
            yield {"url": redis_url(), "prefix": prefix}
        return
    with fresh_database(kind, folder) as address:
        url = make_url(address)
        if kind == "sqlite":
            yield {"path": url.database}
        else:
            port = url.port or {"mysql": 3306, "postgres": 5432}[kind]
            login = {"user": url.username, "password": url.password or ""}
            yield {"host": url.host, "port": port, **login, "database": url.database}


def _fresh_name() -> str:
    return f"dataagent_test_{uuid4().hex[:12]}"


@contextmanager
def _postgres_database() -> Generator[str]:
    url = make_url(postgres_url()).set(drivername="postgresql")
    database = _fresh_name()
    name = sql.Identifier(database)
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield url.set(database=database).render_as_string(hide_password=False)
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@contextmanager
def _mysql_database() -> Generator[str]:
    url = make_url(mysql_url()).set(drivername="mysql")
    name = _fresh_name()
    _mysql(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        _mysql(f"DROP DATABASE {name}")


def _mysql(statement: str) -> None:
    url = make_url(mysql_url())
    server = pymysql.connect(
        host=url.host,
        port=url.port or 3306,
        user=url.username,
        password=url.password or "",
    )
    with server, server.cursor() as cursor:
        cursor.execute(statement)
