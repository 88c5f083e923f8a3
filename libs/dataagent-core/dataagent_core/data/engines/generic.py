"""Any other database that SQLAlchemy has a dialect for. Best effort.

Nothing common to all databases keeps a connection from writing, so such a source is refused unless
its owner allows unprotected ones (`EngineOptions.is_unprotected_allowed`) and uses an account that
may only read. The statement runs in a transaction that is always rolled back, and read-only where
the dialect says how. Stopping means closing the connection.
"""

# SQLAlchemy passes on what a driver gives, which has no types: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, CursorResult
from sqlalchemy.engine import Engine as SqlEngine
from sqlalchemy.pool import NullPool

from dataagent_core.data.engines.base import Engine, EngineOptions, Statement, StatementOptions
from dataagent_core.data.engines.column_builders import ValueColumn
from dataagent_core.data.engines.columns import Columns, adaptive_batches
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.data.engines.pool import Pool
from dataagent_core.data.engines.pooled_statement import PooledStatement
from dataagent_core.data.types import Column, ForeignKey, Table
from dataagent_core.errors import DataAgentError, Misconfigured, QueryFailed, SourceUnavailable

_DIALECTS = {  # SQLAlchemy's name → sqlglot's, where they differ
    "mssql": "tsql",
    "awsathena": "athena",
    "clickhousedb": "clickhouse",
    "teradatasql": "teradata",
}
_READ_ONLY = {"oracle": "SET TRANSACTION READ ONLY", "cockroachdb": "SET TRANSACTION READ ONLY"}


def open_source(url: URL, options: EngineOptions, _processes: DuckdbProcesses | None) -> Engine:
    """The engine of an address."""
    return GenericEngine(url, options)


class GenericEngine(Engine):
    """One database that has no engine of its own here."""

    def __init__(self, url: URL, options: EngineOptions) -> None:
        name = url.get_backend_name()
        if not options.is_unprotected_allowed:
            raise Misconfigured(
                f"A {name!r} source cannot be protected from writes. Use sqlite, duckdb, "
                "postgresql or mysql; or give it an account that may only read, and allow "
                "unprotected sources."
            )
        # one class, many dialects
        self.dialect = _DIALECTS.get(name, name)  # pyright: ignore[reportAttributeAccessIssue]
        self._options = options
        self._engine = _created(url, name)
        self._pool = Pool(
            self._open_connection, size=options.max_connections, close=Connection.close
        )

    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        """A statement, not started. The database's own time zone holds."""
        settings = StatementOptions(timeout_seconds, time_zone, self._options)
        return closing(GenericStatement(sql, self._pool, settings))

    def introspect(self) -> list[Table]:
        """Tables and views of the default schema."""
        try:
            inspector = sa.inspect(self._engine)
            views = set(inspector.get_view_names())
            names = sorted({*inspector.get_table_names(), *views})
            tables = [
                _table(inspector, name, self._engine, is_view=name in views) for name in names
            ]
        except exc.SQLAlchemyError as error:
            raise _translated(error) from error
        return self.with_row_counts(tables)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
        self._engine.dispose()

    def _open_connection(self) -> Connection:
        try:
            return self._engine.connect()
        except exc.SQLAlchemyError as error:
            raise SourceUnavailable(
                "The database does not let us in or does not answer. Check the source's address."
            ) from error

    def quoted(self, name: str) -> str:
        """A name as the dialect quotes it."""
        return self._engine.dialect.identifier_preparer.quote_identifier(name)


class GenericStatement(PooledStatement[Connection]):
    """One query of such a database."""

    driver_errors = (exc.SQLAlchemyError,)

    def __init__(self, sql: str, pool: Pool[Connection], settings: StatementOptions) -> None:
        super().__init__(sql, pool, settings)
        self._result: CursorResult[Any] | None = None

    def start(self, connection: Connection) -> Columns:
        """Begin, read-only where there is such a thing, and run."""
        if (read_only := _READ_ONLY.get(connection.dialect.name)) is not None:
            connection.exec_driver_sql(read_only)
        # without parameters a driver leaves a percent sign alone: `LIKE 'A%'`
        as_written = connection.execution_options(stream_results=True, no_parameters=True)
        self._result = as_written.exec_driver_sql(self.sql)
        described = self._result.cursor.description if self._result.cursor is not None else None
        labels = [str(column[0]) for column in described or ()]
        if not labels:
            raise QueryFailed("The statement returns no columns. Write one query.")
        return Columns(labels, [ValueColumn() for _ in labels])

    def chunks(self, connection: Connection) -> Iterator[Sequence[Any]]:  # Any: the driver's values
        """The rows, as a tuple of values for each column."""
        result = self._result
        assert result is not None  # noqa: S101  # `start` came before
        yield from adaptive_batches(
            lambda count: [tuple(row) for row in result.fetchmany(count)], self.settings.options
        )

    def stop(self, connection: Connection, attempt: int) -> None:
        """Ask the driver, if it knows how; otherwise only the reading stops."""
        raw = connection.connection.driver_connection
        for name in ("cancel", "interrupt"):
            if callable(ask := getattr(raw, name, None)):
                ask()
                return

    def halt(self, connection: Connection) -> None:
        """Close the cursor."""
        result, self._result = self._result, None
        if result is not None:
            result.close()

    def clean(self, connection: Connection) -> None:
        """Undo whatever the statement did."""
        connection.rollback()

    def translate_error(self, error: Exception) -> DataAgentError:
        """The database's message."""
        return _translated(error)


def _created(url: URL, name: str) -> SqlEngine:
    try:
        return sa.create_engine(url, poolclass=NullPool)
    except exc.NoSuchModuleError as error:
        raise Misconfigured(
            f"No dialect {name!r} is installed. Use sqlite, duckdb, postgresql or mysql, or "
            "install the package that brings this one to SQLAlchemy."
        ) from error
    except ImportError as error:
        raise Misconfigured(f"The driver for {name!r} is not installed: {error.name}.") from error


def _table(inspector: sa.Inspector, name: str, engine: SqlEngine, *, is_view: bool) -> Table:
    try:
        comment = inspector.get_table_comment(name)["text"]
    except NotImplementedError:  # the dialect knows no comments
        comment = None
    columns = tuple(
        Column(
            column["name"],
            _type_name(column["type"], engine),
            column["nullable"],
            column.get("comment"),
        )
        for column in inspector.get_columns(name)
    )
    keys = () if is_view else inspector.get_foreign_keys(name)
    return Table(
        name=name,
        columns=columns,
        is_view=is_view,
        comment=comment,
        primary_key=() if is_view else tuple(_primary_key(inspector, name)),
        foreign_keys=tuple(
            ForeignKey(
                tuple(key["constrained_columns"]),
                key["referred_table"],
                tuple(key["referred_columns"]),
            )
            for key in keys
        ),
    )


def _primary_key(inspector: sa.Inspector, name: str) -> Sequence[str]:
    return inspector.get_pk_constraint(name)["constrained_columns"]


def _type_name(kind: sa.types.TypeEngine[Any], engine: SqlEngine) -> str:
    try:
        return kind.compile(dialect=engine.dialect)
    except exc.CompileError:
        return str(kind)


def _translated(error: Exception) -> DataAgentError:
    if isinstance(error, exc.DBAPIError):
        if error.connection_invalidated:
            return SourceUnavailable("The connection to the database was lost. Try again.")
        return QueryFailed(f"The database: {error.orig}")
    return QueryFailed(f"The database: {type(error).__name__}")
