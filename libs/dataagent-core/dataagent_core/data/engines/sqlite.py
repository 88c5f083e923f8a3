"""SQLite files, opened so that a statement can read and nothing else.

Three locks, each enough for most: the file is opened `mode=ro`, `query_only` is set, and an
authorizer allows only reading tables and calling functions: no ATTACH, no PRAGMA, no temporary
table, no look at SQLite's own tables. A progress handler stops what takes too long, limits of
length keep one step of the engine short. A connection of its own, which statements never get, reads
the schema and the declared types of a statement's columns.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from sqlalchemy.engine import URL

from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.engines.base import (
    Engine,
    EngineOptions,
    Statement,
    StatementOptions,
    file_of,
)
from dataagent_core.data.engines.column_builders import ValueColumn
from dataagent_core.data.engines.columns import Columns, adaptive_batches
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.data.engines.pool import Pool
from dataagent_core.data.engines.pooled_statement import PooledStatement
from dataagent_core.data.types import Column, ForeignKey, Table
from dataagent_core.errors import DataAgentError, QueryFailed, SourceUnavailable

_TABLES = """
    SELECT name, type FROM pragma_table_list
    WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%'
    ESCAPE '\\' ORDER BY name
"""
_HIDDEN = 1  # columns of a virtual table that `*` leaves out


def tables_of(connection: sqlite3.Connection) -> list[Table]:
    """Every table and view, without row counts."""
    listed = connection.execute(_TABLES).fetchall()
    return [
        table
        for name, kind in listed
        if (table := _table(connection, name, is_view=kind == "view")) is not None
    ]


def _table(connection: sqlite3.Connection, name: str, *, is_view: bool) -> Table | None:
    """One table; None for a view over something that is no longer there."""
    try:
        rows = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
    except sqlite3.OperationalError:
        return None
    columns = tuple(
        Column(name=row[1], type=row[2], is_nullable=not (row[3] or row[5]))
        for row in rows
        if row[6] != _HIDDEN
    )
    keyed = sorted((row[5], row[1]) for row in rows if row[5])
    return Table(
        name=name,
        columns=columns,
        is_view=is_view,
        primary_key=tuple(column for _, column in keyed),
        foreign_keys=() if is_view else _foreign_keys(connection, name),
    )


def _foreign_keys(connection: sqlite3.Connection, name: str) -> tuple[ForeignKey, ...]:
    rows = connection.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (name,)
    ).fetchall()
    grouped: dict[int, list[tuple[str, str, str | None]]] = defaultdict(list)
    for number, target, origin, to in rows:
        grouped[number].append((target, origin, to))
    return tuple(
        ForeignKey(
            columns=tuple(origin for _, origin, _ in parts),
            target_table=parts[0][0],
            target_columns=_targets(connection, parts),
        )
        for parts in grouped.values()
    )


def _targets(
    connection: sqlite3.Connection, parts: list[tuple[str, str, str | None]]
) -> tuple[str, ...]:
    """The columns pointed at; a key that names none points at the primary key."""
    named = tuple(to for _, _, to in parts if to is not None)
    if named:
        return named
    rows = connection.execute(
        "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (parts[0][0],)
    ).fetchall()
    return tuple(row[0] for row in rows)


_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_FORBIDDEN_FUNCTIONS = {
    "edit",
    "fts3_tokenizer",
    "load_extension",
    "readfile",
    "writefile",
}
_OWN_TABLES = ("sqlite_", "pragma_", "dbstat")
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 64 * 1024 * 1024,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 10_000,
}
_WIDE = re.compile(r"%[^a-zA-Z%]*(\*|\d{4})")  # a width from an argument, or of 1,000 and more
_STEPS_BETWEEN_LOOKS = 20_000
_LOST = (
    "unable to open database file",
    "disk i/o error",
    "database is locked",
    "image is malformed",
)
_COUNTED_ON_OPENING = "SELECT COUNT(*) FROM sqlite_master"


def open_source(url: URL, options: EngineOptions, _processes: DuckdbProcesses | None) -> Engine:
    """The engine of an address."""
    return SqliteEngine(file_of(url), options)


class SqliteEngine(Engine):
    """One SQLite file."""

    dialect: ClassVar[str] = "sqlite"

    def __init__(self, path: Path, options: EngineOptions) -> None:
        if not path.is_file():
            raise SourceUnavailable(
                f"There is no SQLite file {path.name!r}. Check the path in the source's address."
            )
        self._path = path
        self._options = options
        self._pool = Pool(
            self._guarded, size=options.max_connections, close=sqlite3.Connection.close
        )
        self._describer = self._open_connection()
        self._describing = threading.Lock()

    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        """A statement, not started. SQLite knows UTC alone: `time_zone` changes nothing."""
        settings = StatementOptions(timeout_seconds, time_zone, self._options)
        return closing(SqliteStatement(sql, self._pool, settings, declared=self._declared))

    def explain(self, sql: str, *, timeout_seconds: float) -> list[str]:
        """SQLite's query plan, each step below the one it belongs to."""
        depths: dict[int, int] = {0: -1}
        lines: list[str] = []
        rows = self.rows(f"EXPLAIN QUERY PLAN {sql}", timeout_seconds=timeout_seconds)
        for number, parent, _, detail in rows:
            depths[number] = depths.get(parent, -1) + 1
            lines.append(f"{'  ' * depths[number]}{detail}")
        return lines

    def introspect(self) -> list[Table]:
        """Tables and views, with exact row counts."""
        try:
            with closing(self._open_connection()) as connection:
                tables = tables_of(connection)
        except sqlite3.Error as error:
            raise _translated(error) from error
        return self.with_row_counts(tables)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
        with self._describing:
            self._describer.close()

    def _open_connection(self) -> sqlite3.Connection:
        uri = f"file:{quote(str(self._path))}?mode=ro"
        try:
            connection = sqlite3.connect(
                uri,
                uri=True,
                check_same_thread=False,
                timeout=self._options.connect_timeout_seconds,
                cached_statements=0,
                isolation_level=None,
            )
            connection.execute(_COUNTED_ON_OPENING).fetchone()
        except sqlite3.Error as error:
            raise SourceUnavailable(
                f"The SQLite file {self._path.name!r} cannot be read: {error}."
            ) from error
        return connection

    def _guarded(self) -> sqlite3.Connection:
        connection = self._open_connection()
        for statement in dialect_of(self.dialect).read_only:
            connection.execute(statement)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        formatted = _bounded_format()
        for name in ("printf", "format"):
            connection.create_function(name, -1, formatted, deterministic=True)
        connection.set_authorizer(_authorized)
        return connection

    def _declared(self, sql: str, count: int) -> Sequence[str]:
        """How the columns of a query are declared, '' where they are computed.

        SQLite tells the declared type of a view's columns: a view that no one else sees, made of
        the query, is described and forgotten. Nothing of the query runs for it.
        """
        with self._describing:
            try:
                self._describer.execute(f"CREATE TEMP VIEW described AS {sql}")
                rows = self._describer.execute("PRAGMA temp.table_info(described)").fetchall()
            except sqlite3.Error:
                return [""] * count
            finally:
                self._describer.execute("DROP VIEW IF EXISTS temp.described")
        return [row[2] for row in rows] if len(rows) == count else [""] * count


class SqliteStatement(PooledStatement[sqlite3.Connection]):
    """One query of a SQLite file."""

    driver_errors = (sqlite3.Error, sqlite3.Warning)

    def __init__(
        self,
        sql: str,
        pool: Pool[sqlite3.Connection],
        settings: StatementOptions,
        *,
        declared: Callable[[str, int], Sequence[str]],
    ) -> None:
        super().__init__(sql, pool, settings)
        self._declared = declared
        self._cursor: sqlite3.Cursor | None = None

    def start(self, connection: sqlite3.Connection) -> Columns:
        """Prepare the statement and run it to its first row."""
        connection.set_progress_handler(self._is_to_stop, _STEPS_BETWEEN_LOOKS)
        self._cursor = connection.execute(self.sql)
        labels = [str(column[0]) for column in self._cursor.description or ()]
        if not labels:
            raise QueryFailed("The statement returns no columns. Write one query.")
        declared = self._declared(self.sql, len(labels))
        return Columns(labels, [ValueColumn(kind) for kind in declared])

    def chunks(
        self, connection: sqlite3.Connection
    ) -> Iterator[Sequence[Any]]:  # Any: SQLite's values
        """The rows, as a tuple of values for each column."""
        assert self._cursor is not None  # noqa: S101  # `start` came before
        yield from adaptive_batches(self._cursor.fetchmany, self.settings.options)

    def stop(self, connection: sqlite3.Connection, attempt: int) -> None:
        """Interrupt; the progress handler sees to it as well."""
        connection.interrupt()

    def halt(self, connection: sqlite3.Connection) -> None:
        """Drop the cursor, which ends its statement."""
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None
        connection.set_progress_handler(None, 0)

    def translate_error(self, error: Exception) -> DataAgentError:
        """SQLite's message, without the file's path."""
        return _translated(error)

    def _is_to_stop(self) -> bool:
        return self._watch is not None and self._watch.reason is not None


def _bounded_format() -> Callable[..., Any]:
    """SQLite's `printf` without widths that keep one step of the engine busy for minutes."""
    scratch = sqlite3.connect(":memory:", check_same_thread=False)

    def formatted(*values: Any) -> Any:  # Any: SQLite's values
        if values and _WIDE.search(str(values[0])):
            raise ValueError("width")
        marks = ", ".join("?" * len(values))
        return scratch.execute(f"SELECT printf({marks})", values).fetchone()[0]  # marks

    return formatted


def _authorized(
    action: int, first: str | None, second: str | None, _database: str | None, _inner: str | None
) -> int:
    is_allowed = action in _ALLOWED
    if action == sqlite3.SQLITE_READ and (first or "").lower().startswith(_OWN_TABLES):
        is_allowed = False
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS:
        is_allowed = False
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _translated(error: Exception) -> DataAgentError:
    message = str(error)
    if "not authorized" in message or "prohibited" in message:
        return QueryFailed(f"SQLite refused the statement: {message}. Only reading is allowed.")
    if "user-defined function raised exception" in message:
        message = "printf takes no width from an argument and none above 999"
    if any(sign in message.lower() for sign in _LOST):
        return SourceUnavailable(f"The SQLite file cannot be read: {message}.")
    return QueryFailed(f"SQLite: {message}")
