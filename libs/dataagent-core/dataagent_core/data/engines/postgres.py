"""PostgreSQL: each statement in a read-only transaction, its rows by COPY.

A connection is read-only by default (`default_transaction_read_only`) and each statement has a
read-only transaction with `statement_timeout`, which is always rolled back. The server first only
describes the statement: it must be one statement, on its own, that has columns. Then
`COPY (statement) TO STDOUT` streams the rows in bounded memory. A superuser's statement runs as
`pg_read_all_data`, because the functions that read the server's files and run its programs obey no
transaction.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from typing import Any, ClassVar, TypeVar

import psycopg
from psycopg import sql as safe
from sqlalchemy.engine import URL

from dataagent_core.data.arrow import pa
from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.engines.base import Engine, EngineOptions, Statement, StatementOptions
from dataagent_core.data.engines.column_builders import (
    NumericColumn,
    TextColumn,
    declared_decimal,
    hexadecimal,
    instant,
    is_t,
    time_of_day,
)
from dataagent_core.data.engines.columns import ColumnBuilder, Columns
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.data.engines.pool import Pool, hang_up, has_input
from dataagent_core.data.engines.pooled_statement import PooledStatement
from dataagent_core.data.engines.postgres_wire import (
    CopyOut,
    DescribedColumn,
    describe_columns,
    run,
    translate_error,
)
from dataagent_core.data.types import Column, ForeignKey, SourceWarnings, Table
from dataagent_core.errors import DataAgentError, QueryFailed, SourceUnavailable

Connection = psycopg.Connection[tuple[Any, ...]]
K = TypeVar("K")
V = TypeVar("V")

_RELATIONS = """
    SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm'), pg_table_is_visible(c.oid),
           obj_description(c.oid, 'pg_class')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
    SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
           NOT a.attnotnull, col_description(a.attrelid, a.attnum)
    FROM pg_attribute a
    WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
      AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum
"""
_KEYS = """
    SELECT k.conrelid, k.contype::text, k.conkey, k.confrelid, k.confkey
    FROM pg_constraint k
    WHERE k.conrelid = ANY(%s) AND k.contype IN ('p', 'f') ORDER BY k.conrelid, k.conname
"""
_POINTED_AT = "SELECT attrelid, attnum, attname FROM pg_attribute WHERE attrelid = ANY(%s)"


def tables_of(connection: Connection) -> list[Table]:
    """Every table and view that the account may read, without row counts."""
    relations = connection.execute(_RELATIONS).fetchall()
    numbers = [relation[0] for relation in relations]
    names = {
        number: (None if is_visible else schema, name)
        for number, schema, name, _, is_visible, _ in relations
    }
    columns = _grouped(connection.execute(_COLUMNS, [numbers]), lambda row: row[0])
    keys = _grouped(connection.execute(_KEYS, [numbers]), lambda row: row[0])
    attributes = {
        (row[0], row[1]): row[2] for row in connection.execute(_POINTED_AT, [numbers]).fetchall()
    }
    return [
        Table(
            name=names[number][1],
            schema=names[number][0],
            columns=tuple(_catalogue_column(row) for row in columns[number]),
            is_view=is_view,
            comment=comment,
            primary_key=tuple(
                attributes[number, at]
                for _, kind, on, _, _ in keys[number]
                if kind == "p"
                for at in on
            ),
            foreign_keys=tuple(
                ForeignKey(
                    columns=tuple(attributes[number, at] for at in on),
                    target_table=".".join(part for part in names[target] if part),
                    target_columns=tuple(attributes[target, at] for at in to),
                )
                for _, kind, on, target, to in keys[number]
                if kind == "f" and target in names
            ),
        )
        for number, _, _, is_view, _, comment in relations
    ]


def _catalogue_column(row: tuple[Any, ...]) -> Column:
    return Column(name=row[2], type=row[3], is_nullable=row[4], comment=row[5])


def _grouped(rows: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


_JIT_SINCE = 110_000
_ROLES_SINCE = 140000  # pg_read_all_data
_STOP_SECONDS = 5.0
_ATTEMPTS_BEFORE_HANGING_UP = 30
_NUMERIC = 1700
_MAX_WARNINGS = 20
_MAX_WARNING = 300  # characters


def open_source(url: URL, options: EngineOptions, _processes: DuckdbProcesses | None) -> Engine:
    """The engine of an address."""
    return PostgresEngine(url, options)


class PostgresEngine(Engine):
    """One PostgreSQL database."""

    dialect: ClassVar[str] = "postgres"

    def __init__(self, url: URL, options: EngineOptions) -> None:
        self._url = url.set(drivername="postgresql")
        self._options = options
        self._pool: Pool[Connection] = Pool(
            self._open_connection,
            size=options.max_connections,
            close=psycopg.Connection.close,
            is_alive=_is_alive,
        )

    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        """A statement, not started."""
        settings = StatementOptions(timeout_seconds, time_zone, self._options)
        return closing(PostgresStatement(sql, self._pool, settings))

    def explain(self, sql: str, *, timeout_seconds: float) -> list[str]:
        """PostgreSQL's plan, with its estimates."""
        limit = max(1, math.ceil(timeout_seconds * 1000))
        try:
            with closing(self._open_connection()) as connection:
                run(connection, f"SET statement_timeout = {limit}")
                plan = run(connection, f"EXPLAIN {sql}")
        except psycopg.Error as error:
            raise translate_error(error) from error
        return [(plan.get_value(row, 0) or b"").decode() for row in range(plan.ntuples)]

    def introspect(self) -> list[Table]:
        """Tables and views of every schema; `schema` is None for those on the search path."""
        try:
            with closing(self._open_connection()) as connection, connection.transaction():
                tables = tables_of(connection)
        except psycopg.Error as error:
            raise translate_error(error) from error
        return self.with_row_counts(tables)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def _open_connection(self) -> Connection:
        given = self._url.query.get("options", "")
        own = "-c default_transaction_read_only=on -c standard_conforming_strings=on"
        try:
            return psycopg.connect(
                self._url.render_as_string(hide_password=False),
                autocommit=True,
                connect_timeout=math.ceil(self._options.connect_timeout_seconds),
                client_encoding="utf8",
                options=f"{given} {own}",
                fallback_application_name="dataagent",
                keepalives_idle=30,
                tcp_user_timeout=60_000,
                prepare_threshold=None,
            )
        except psycopg.Error as error:
            raise _unreachable(self._url, error) from error


class PostgresStatement(PooledStatement[Connection]):
    """One query of a PostgreSQL database."""

    driver_errors = (psycopg.Error,)

    def __init__(self, sql: str, pool: Pool[Connection], settings: StatementOptions) -> None:
        super().__init__(sql, pool, settings)
        self._copy: CopyOut | None = None
        self._warnings: dict[str, None] = {}  # each once, in order

    @property
    def warnings(self) -> SourceWarnings:
        """What the server warned of."""
        said = list(self._warnings)[:_MAX_WARNINGS]
        return SourceWarnings(tuple(f"PostgreSQL: {message}" for message in said))

    def start(self, connection: Connection) -> Columns:
        """Begin, have the statement described, then have its rows sent."""
        run(connection, self._preamble(connection))
        self._warnings.clear()
        connection.add_notice_handler(self._noted)
        fields = describe_columns(connection, self.sql)
        if not fields:
            raise QueryFailed("The statement returns no columns. Write one query.")
        self._copy = CopyOut(connection, options=self.settings.options)
        self._copy.begin(self.sql)
        return Columns(
            [field.label for field in fields], [_column_builder(field) for field in fields]
        )

    def chunks(self, connection: Connection) -> Iterator[Sequence[Any]]:  # Any: Arrow arrays
        """The rows, as an array of text for each column."""
        # `start` came before
        assert self._copy is not None and self._columns is not None  # noqa: S101, PT018
        yield from self._copy.chunks(len(self._columns.labels))

    def stop(self, connection: Connection, attempt: int) -> None:
        """Cancel on the server; hang up when that does not help for long."""
        if attempt > _ATTEMPTS_BEFORE_HANGING_UP:
            hang_up(connection.pgconn.socket)
        else:
            connection.cancel_safe(timeout=_STOP_SECONDS)

    def halt(self, connection: Connection) -> None:
        """Cancel what still runs and read what is still on its way."""
        with suppress(ValueError):  # it was not added: the statement did not start
            connection.remove_notice_handler(self._noted)
        copy, self._copy = self._copy, None
        if copy is not None and not copy.is_over:
            connection.cancel_safe(timeout=_STOP_SECONDS)
            copy.drain()

    def clean(self, connection: Connection) -> None:
        """Forget the transaction and whatever the statement set in the session."""
        run(connection, "ROLLBACK")
        run(connection, "DISCARD ALL")

    def translate_error(self, error: Exception) -> DataAgentError:
        """The server's message and hint."""
        return translate_error(error)

    def _noted(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warnings[str(notice.message_primary)[:_MAX_WARNING]] = None

    def _preamble(self, connection: Connection) -> str:
        milliseconds = max(1, math.ceil(self.settings.timeout_seconds * 1000))
        settings = {
            "statement_timeout": str(milliseconds),
            "TimeZone": self.settings.time_zone,
            "DateStyle": "ISO, YMD",
            "IntervalStyle": "postgres",
            "bytea_output": "hex",
            "extra_float_digits": "1",
        }
        if connection.info.server_version >= _JIT_SINCE:
            settings["jit"] = "off"  # while it compiles, for a second or so, nothing can cancel it
        if _is_superuser(connection):
            settings |= {"role": "pg_read_all_data", "row_security": "off"}
        parts = [*dialect_of(PostgresEngine.dialect).read_only]
        for name, value in settings.items():
            setting = safe.SQL("SET LOCAL {} = {}").format(safe.Identifier(name), value)
            parts.append(setting.as_string(connection))
        return "; ".join(parts)


def _is_superuser(connection: Connection) -> bool:
    is_super = connection.pgconn.parameter_status(b"is_superuser") == b"on"
    return is_super and connection.info.server_version >= _ROLES_SINCE


def _is_alive(connection: Connection) -> bool:
    """Whether the server has not hung up: an idle connection has nothing to read."""
    if connection.closed:
        return False
    return not has_input(connection.pgconn.socket, timeout_seconds=0)


def _unreachable(url: URL, error: psycopg.Error) -> SourceUnavailable:
    del error  # its text may quote the connection string
    return SourceUnavailable(
        f"PostgreSQL at {url.host or 'the local socket'} does not let us in or does not answer. "
        "Check host, port, database, user and password of the source."
    )


_SIMPLE = {
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    26: pa.int64(),
    700: pa.float32(),
    701: pa.float64(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
}
_PARSED = {
    16: (pa.bool_(), is_t),
    17: (pa.binary(), hexadecimal),
    1083: (pa.time64("us"), time_of_day),
    1184: (pa.timestamp("us", tz="UTC"), instant),
}


def _column_builder(field: DescribedColumn) -> ColumnBuilder:
    """The column for a type of PostgreSQL's, by its number; text for those Arrow lacks."""
    if field.type in _SIMPLE:
        return TextColumn(_SIMPLE[field.type])
    if field.type in _PARSED:
        kind, parse = _PARSED[field.type]
        return TextColumn(kind, parse=parse)
    if field.type == _NUMERIC:
        kind = declared_decimal(*field.digits) if field.digits else None
        return NumericColumn() if kind is None else TextColumn(kind)
    return TextColumn(pa.string())
