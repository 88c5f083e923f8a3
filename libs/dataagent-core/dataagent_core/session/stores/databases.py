"""Stores that open a SQL database of their own: SQLite, MySQL/MariaDB, PostgreSQL.

`async with` makes the tables and closes the connections at the end; `init_tables` and `close` do
the same one by one. The `messages` of a session store share its connections.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL

from dataagent_core.session.stores.sql import SqlMessageStore, SqlSessionStore
from dataagent_core.storage import Database, open_database


class SQLiteSessionStore(SqlSessionStore):
    """Sessions in a SQLite file."""

    def __init__(self, path: str | Path = "dataagent.db") -> None:
        super().__init__(_sqlite(path), is_own=True)


class SQLiteMessageStore(SqlMessageStore):
    """Messages in a SQLite file, of the sessions in the same file."""

    def __init__(self, path: str | Path = "dataagent.db") -> None:
        super().__init__(_sqlite(path), is_own=True)


class MySQLSessionStore(SqlSessionStore):
    """Sessions in a MySQL or MariaDB database, which has to exist."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 3306,
        user: str = "root",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("mysql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


class MySQLMessageStore(SqlMessageStore):
    """Messages in a MySQL or MariaDB database, of the sessions in the same database."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 3306,
        user: str = "root",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("mysql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


class PostgresSessionStore(SqlSessionStore):
    """Sessions in a PostgreSQL database, which has to exist."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 5432,
        user: str = "postgres",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("postgresql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


class PostgresMessageStore(SqlMessageStore):
    """Messages in a PostgreSQL database, of the sessions in the same database."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 5432,
        user: str = "postgres",
        password: str = "",
        database: str = "dataagent",
        pool_size: int = 10,
        max_overflow: int = 20,
    ) -> None:
        url = URL.create("postgresql", user, password or None, host, port, database)
        super().__init__(_server(url, pool_size, max_overflow), is_own=True)


def _sqlite(path: str | Path) -> Database:
    return open_database(URL.create("sqlite", database=str(path)))


def _server(url: URL, pool_size: int, max_overflow: int) -> Database:
    return open_database(url, pool_size=pool_size, max_overflow=max_overflow)
