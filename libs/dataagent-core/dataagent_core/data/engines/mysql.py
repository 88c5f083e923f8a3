"""MySQL and MariaDB: each statement in a read-only transaction, its rows as they come.

The server first only prepares the statement: it must be one, and it must have columns, so nothing
that sets, kills or changes gets further. Then it runs inside `START TRANSACTION READ ONLY` with the
server's own time limit, and the session is reset afterwards. The server's files obey no
transaction, so an account with the FILE privilege may not use the words that read or write them.
Interrupting is `KILL QUERY` on a connection opened for it.
"""

# PyMySQL has no complete types: this module is a border to it.
# pyarrow and PyMySQL have no complete types: this module is a border to them.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
import ssl
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, cast
from zoneinfo import ZoneInfo

import pymysql
from pymysql.constants import CLIENT
from sqlalchemy.engine import URL

from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.engines.base import Engine, EngineOptions, Statement, StatementOptions
from dataagent_core.data.engines.columns import Columns
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.data.engines.mysql_wire import (
    MysqlConnection,
    RowStream,
    column_for,
    prepare,
    reset,
    run,
    translate_error,
    warnings_of,
)
from dataagent_core.data.engines.pool import Pool, hang_up, has_input
from dataagent_core.data.engines.pooled_statement import PooledStatement
from dataagent_core.data.types import Column, ForeignKey, SourceWarnings, Table
from dataagent_core.errors import DataAgentError, Misconfigured, QueryFailed, SourceUnavailable

_TABLES = """
    SELECT TABLE_NAME, TABLE_TYPE LIKE '%VIEW', TABLE_COMMENT FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'VIEW') ORDER BY TABLE_NAME
"""
_COLUMNS = """
    SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_COMMENT
    FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION
"""
_KEYS = """
    SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA = DATABASE(),
           REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
    FROM information_schema.KEY_COLUMN_USAGE
    WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION
"""
_PRIMARY = "PRIMARY"
_NO_COMMENT = {"", "VIEW"}  # what a view has in place of a comment


def tables_of(line: MysqlConnection) -> list[Table]:
    """Every table and view of the database, without row counts."""
    columns: dict[str, list[Column]] = defaultdict(list)
    for table, name, kind, nullable, comment in run(line, _COLUMNS):
        columns[table].append(Column(name, kind, nullable == "YES", comment or None))
    keys: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in run(line, _KEYS):
        keys[row[0]][row[1]].append(row)
    return [
        Table(
            name=name,
            columns=tuple(columns[name]),
            is_view=bool(is_view),
            comment=None if comment in _NO_COMMENT else comment,
            primary_key=tuple(row[2] for row in keys[name].get(_PRIMARY, ())),
            foreign_keys=tuple(
                ForeignKey(
                    columns=tuple(row[2] for row in rows),
                    target_table=rows[0][4],
                    target_columns=tuple(row[5] for row in rows),
                )
                for rows in keys[name].values()
                if rows[0][4] is not None and rows[0][3]
            ),
        )
        for name, is_view, comment in run(line, _TABLES)
    ]


_MODES = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
_GLOBAL_RIGHTS = re.compile(r"GRANT (.*?) ON \*\.\*", re.IGNORECASE)
_FILE_RIGHT = re.compile(r"\b(FILE|ALL PRIVILEGES)\b", re.IGNORECASE)
_FILE_WORDS = re.compile(r"\b(load_file|outfile|dumpfile)\b", re.IGNORECASE)
_ENDLESS = 4_294_967_295
_GROUP_CONCAT_BYTES = 16 * 1024 * 1024
_UNKNOWN_ZONE = 1298
_ATTEMPTS_BEFORE_HANGING_UP = 30
_KILL_TIMEOUT_SECONDS = 5


def open_source(url: URL, options: EngineOptions, _processes: DuckdbProcesses | None) -> Engine:
    """The engine of an address."""
    return MysqlEngine(url, options)


@dataclass(slots=True)
class MysqlSession:
    """A connection, and what is known about its server and account."""

    line: MysqlConnection
    is_mariadb: bool
    may_touch_files: bool


class MysqlEngine(Engine):
    """One MySQL or MariaDB database."""

    dialect: ClassVar[str] = "mysql"

    def __init__(self, url: URL, options: EngineOptions) -> None:
        if not url.database:
            raise Misconfigured("A MySQL source needs a database: mysql://user@host:3306/database.")
        self._url = url
        self._options = options
        self._pool: Pool[MysqlSession] = Pool(
            self._open_connection,
            size=options.max_connections,
            close=lambda session: session.line.close(),
            is_alive=lambda session: (
                session.line.open and not has_input(_socket(session), timeout_seconds=0)
            ),
        )

    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        """A statement, not started."""
        settings = StatementOptions(timeout_seconds, time_zone, self._options)
        return closing(MysqlStatement(sql, self._pool, settings, engine=self))

    def explain(self, sql: str, *, timeout_seconds: float) -> list[str]:
        """MySQL's plan: a line for each table it reads, with how and about how many rows."""
        steps = self.records(f"EXPLAIN {sql}", timeout_seconds=timeout_seconds)
        return [
            ", ".join(f"{name}={value}" for name, value in step.items() if value is not None)
            for step in steps
        ]

    def introspect(self) -> list[Table]:
        """Tables and views of the address's database."""
        try:
            with closing(self._connect()) as line:
                tables = tables_of(line)
        except pymysql.Error as error:
            raise translate_error(error) from error
        return self.with_row_counts(tables)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def kill(self, thread_id: int) -> None:
        """Stop what runs on the server's thread, by a connection of its own."""
        with closing(self._connect(timeout_seconds=_KILL_TIMEOUT_SECONDS)) as line:
            run(line, f"KILL QUERY {thread_id}")

    def _open_connection(self) -> MysqlSession:
        line = self._connect()
        try:
            version = run(line, "SELECT VERSION()")[0][0]
            grants = run(line, "SHOW GRANTS")
        except pymysql.Error as error:
            line.close()
            raise translate_error(error) from error
        return MysqlSession(
            line,
            is_mariadb="mariadb" in str(version).lower(),
            may_touch_files=any(_grants_files(str(row[0])) for row in grants),
        )

    def _connect(self, *, timeout_seconds: float | None = None) -> MysqlConnection:
        url = self._url
        try:
            return MysqlConnection(
                host=url.host or "127.0.0.1",
                port=url.port or 3306,
                user=url.username,
                password=url.password or "",
                database=url.database,
                unix_socket=_option(url, "unix_socket"),
                charset="utf8mb4",
                autocommit=True,
                local_infile=False,
                client_flag=CLIENT.FOUND_ROWS,
                connect_timeout=max(
                    1, int(timeout_seconds or self._options.connect_timeout_seconds)
                ),
                ssl=_encryption(url),
            )
        except (pymysql.Error, OSError) as error:
            del error
            raise SourceUnavailable(
                f"MySQL at {url.host or 'the local socket'} does not let us in or does not answer. "
                "Check host, port, database, user and password of the source."
            ) from None  # the original message names the account


class MysqlStatement(PooledStatement[MysqlSession]):
    """One query of a MySQL or MariaDB database."""

    driver_errors = (pymysql.Error, OSError)

    def __init__(
        self, sql: str, pool: Pool[MysqlSession], settings: StatementOptions, *, engine: MysqlEngine
    ) -> None:
        super().__init__(sql, pool, settings)
        self._engine = engine
        self._stream: RowStream | None = None
        self._warnings = SourceWarnings()

    @property
    def warnings(self) -> SourceWarnings:
        """What the server warned of, division by zero and cut values among it."""
        return self._warnings

    def start(self, connection: MysqlSession) -> Columns:
        """Prepare the session, have the statement looked at, then have it run."""
        if connection.may_touch_files and (word := _FILE_WORDS.search(self.sql)):
            raise QueryFailed(
                f"MySQL: {word[0]!r} is refused, because this source's account may touch the "
                "server's files. Use an account without the FILE privilege."
            )
        self._warnings = SourceWarnings()
        self._prepare(connection)
        prepared = prepare(connection.line, self.sql)
        if not prepared.column_types:
            raise QueryFailed("The statement returns no columns. Write one query.")
        self._stream = RowStream(connection.line, options=self.settings.options)
        self._stream.begin(self.sql, prepared)
        fields = self._stream.fields
        return Columns([field.name for field in fields], [column_for(field) for field in fields])

    def chunks(self, connection: MysqlSession) -> Iterator[Sequence[Any]]:  # Any: Arrow arrays
        """The rows, as an array of text or binary for each column."""
        assert self._stream is not None  # noqa: S101  # `start` came before
        yield from self._stream.chunks()
        if self._stream.warning_count:
            self._warnings = warnings_of(connection.line, self._stream.warning_count)

    def stop(self, connection: MysqlSession, attempt: int) -> None:
        """Kill the query on the server; hang up when that does not help for long."""
        if attempt > _ATTEMPTS_BEFORE_HANGING_UP:
            hang_up(_socket(connection))
        else:
            self._engine.kill(connection.line.thread_id())

    def halt(self, connection: MysqlSession) -> None:
        """Kill what still runs and read what is still on its way."""
        stream, self._stream = self._stream, None
        if stream is not None and not stream.is_over:
            self._engine.kill(connection.line.thread_id())
            stream.drain()

    def clean(self, connection: MysqlSession) -> None:
        """Forget the transaction and whatever the statement set in the session."""
        run(connection.line, "ROLLBACK")
        reset(connection.line)

    def translate_error(self, error: Exception) -> DataAgentError:
        """The server's message."""
        return translate_error(error)

    def _prepare(self, session: MysqlSession) -> None:
        modes = _MODES if session.is_mariadb else f"ONLY_FULL_GROUP_BY,{_MODES}"
        limit = (
            f"max_statement_time = {self.settings.timeout_seconds:.3f}"
            if session.is_mariadb
            else f"max_execution_time = {max(1, int(self.settings.timeout_seconds * 1000))}"
        )
        depth = "max_recursive_iterations" if session.is_mariadb else "cte_max_recursion_depth"
        run(session.line, f"SET NAMES utf8mb4, SESSION sql_mode = '{modes}', SESSION {limit}")
        # MariaDB ends a recursion at 1,000 without an error, so that a count would be wrong
        run(session.line, f"SET SESSION {depth} = {_ENDLESS}")
        # the default of MySQL is 1,024 bytes, of which a list of names is soon cut
        run(session.line, f"SET SESSION group_concat_max_len = {_GROUP_CONCAT_BYTES}")
        self._set_zone(session)
        for statement in dialect_of(MysqlEngine.dialect).read_only:
            run(session.line, statement)

    def _set_zone(self, session: MysqlSession) -> None:
        """By name; a server without the tables of names gets the zone's offset, if it has one."""
        name = "+00:00" if self.settings.time_zone == "UTC" else self.settings.time_zone
        for zone in (name, _fixed_offset(self.settings.time_zone)):
            if zone is None:
                break
            try:
                run(session.line, f"SET SESSION time_zone = {session.line.escape(zone)}")
            except pymysql.Error as error:
                if error.args[0] != _UNKNOWN_ZONE:
                    raise
            else:
                return
        raise QueryFailed(
            f"MySQL does not know the time zone {self.settings.time_zone!r}. "
            "Load its time zone tables (mysql_tzinfo_to_sql), or use UTC."
        )


def _grants_files(grant: str) -> bool:
    """Whether a line of `SHOW GRANTS` lets the account read or write files of the server."""
    found = _GLOBAL_RIGHTS.match(grant)
    return found is not None and _FILE_RIGHT.search(found[1]) is not None


def _fixed_offset(time_zone: str) -> str | None:
    """The zone's offset, if it is the same the whole year round these years."""
    try:
        zone = ZoneInfo(time_zone)
    except (KeyError, ValueError, OSError):
        return None
    now = datetime.now(UTC)
    offsets = {(now + timedelta(days=30 * n)).astimezone(zone).utcoffset() for n in range(-24, 25)}
    offset = offsets.pop()
    if offsets or offset is None:
        return None
    minutes = int(offset.total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _socket(session: MysqlSession) -> int:
    return cast(Any, session.line)._sock.fileno()  # the driver does not show it


def _option(url: URL, name: str) -> str | None:
    value = url.query.get(name)
    return value if isinstance(value, str) else None


def _encryption(url: URL) -> ssl.SSLContext | None:
    """TLS when the address has `ssl_ca`, `ssl_cert` and `ssl_key`, or `ssl=true`."""
    authority, certificate = _option(url, "ssl_ca"), _option(url, "ssl_cert")
    if not authority and not certificate and _option(url, "ssl") != "true":
        return None
    context = ssl.create_default_context(cafile=authority)
    if certificate:
        context.load_cert_chain(certificate, _option(url, "ssl_key"))
    return context
