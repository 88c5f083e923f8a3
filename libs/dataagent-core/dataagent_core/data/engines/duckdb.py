"""DuckDB files, in this process: read-only, without files, network or extensions.

The database is opened `read_only`; then every file, its own included, is out of reach, extensions
are neither installed nor loaded, Python's variables out of sight, memory and threads bounded
(nothing spills to disk), and the configuration is locked but for the time zone. A statement must be
one `SELECT`, says DuckDB's own parser. Rows stream in DuckDB's Arrow form; what Arrow or its
readers cannot hold as a value (a bit string, a time with a zone, more than 38 digits, an infinite
date) is asked for again as text. Below: `duckdb_columns.py`, `duckdb_catalogue.py`.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, ClassVar

from dataagent_core.data.arrow import duckdb, pa
from dataagent_core.data.engines.base import Engine, EngineOptions, Statement, Terms
from dataagent_core.data.engines.columns import Columns
from dataagent_core.data.engines.duckdb_catalogue import tables_of
from dataagent_core.data.engines.duckdb_columns import ArrowColumn, is_kept_as_text
from dataagent_core.data.engines.duckdb_plan import plan_lines
from dataagent_core.data.engines.pool import Pool
from dataagent_core.data.engines.reading import Reading
from dataagent_core.data.types import Table
from dataagent_core.errors import DataAgentError, QueryFailed, SourceUnavailable

Connection = duckdb.DuckDBPyConnection

_CONFIGURED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "allowed_configs": ["timezone"],
}
_LOCKED = (  # once the file is open: its own path would stay readable, bytes past every policy
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET lock_configuration = true",
)


class DuckdbEngine(Engine):
    """One DuckDB file."""

    dialect: ClassVar[str] = "duckdb"

    def __init__(self, path: Path, options: EngineOptions) -> None:
        if not path.is_file():
            raise SourceUnavailable(
                f"There is no DuckDB file {path.name!r}. Check the path in the source's address."
            )
        self._options = options
        self._root = _opened(path, options)
        self._pool = Pool(
            self._root.cursor, size=options.max_connections, close=duckdb.DuckDBPyConnection.close
        )

    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        """A statement, not started."""
        terms = Terms(timeout_seconds, time_zone, self._options)
        return closing(DuckdbStatement(sql, self._pool, terms))

    def explain(self, sql: str, *, timeout_seconds: float) -> list[str]:
        """DuckDB's physical plan."""
        try:
            with closing(self._root.cursor()) as cursor:
                found = cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchall()
        except duckdb.Error as error:
            raise _translated(error) from error
        return [line for _, plan in found for line in plan_lines(plan)]

    def introspect(self) -> list[Table]:
        """Tables and views of every schema, with exact row counts."""
        try:
            with closing(self._root.cursor()) as cursor:
                tables = tables_of(cursor)
        except duckdb.Error as error:
            raise _translated(error) from error
        return self.counted(tables)

    def close(self) -> None:
        """Close the database."""
        self._pool.close()
        self._root.close()


class DuckdbStatement(Reading[Connection]):
    """One query of a DuckDB file."""

    driver_errors = (duckdb.Error, OSError)

    def __init__(self, sql: str, pool: Pool[Connection], terms: Terms) -> None:
        super().__init__(sql, pool, terms)
        self._arrow: list[ArrowColumn] | None = None  # kept when the statement is read again
        self._reader: pa.RecordBatchReader | None = None

    def start(self, connection: Connection) -> Columns:
        """Have the statement bound, then run."""
        connection.execute("SET SESSION timezone = ?", [self.terms.time_zone])
        statements = connection.extract_statements(self.sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryFailed("DuckDB: only one SELECT is allowed. Write one query.")
        relation = connection.sql(statements[0])
        if self._arrow is None:
            self._arrow = [ArrowColumn(is_text=is_kept_as_text(kind)) for kind in relation.types]
        labels = relation.columns
        if any(column.is_text for column in self._arrow):
            relation = connection.sql(_with_texts(self.sql, self._arrow))
        reader = relation.to_arrow_reader(self.terms.options.batch_rows)
        for column, field in zip(self._arrow, reader.schema, strict=True):
            column.settle_on(field.type)
        self._reader = reader
        return Columns(labels, self._arrow)

    def chunks(self, connection: Connection) -> Iterator[Sequence[Any]]:  # Any: Arrow arrays
        """The rows, as an array for each column."""
        assert self._reader is not None  # noqa: S101  # `start` came before
        for batch in self._reader:
            if batch.num_rows:
                yield batch.columns

    def stop(self, connection: Connection, attempt: int) -> None:
        """Interrupt."""
        connection.interrupt()

    def halt(self, connection: Connection) -> None:
        """Close the stream, which ends the statement."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def translated(self, error: Exception) -> DataAgentError:
        """DuckDB's message."""
        return _translated(error)


def _opened(path: Path, options: EngineOptions) -> Connection:
    bounded = {"memory_limit": options.memory_limit, "threads": options.threads}
    try:
        root = duckdb.connect(str(path), read_only=True, config={**_CONFIGURED, **bounded})
        for setting in _LOCKED:
            root.execute(setting)
    except duckdb.Error as error:
        raise SourceUnavailable(
            f"The DuckDB file {path.name!r} cannot be opened. It must be a database of DuckDB "
            f"{duckdb.__version__} or older that no other program is writing."
        ) from error
    return root


def _with_texts(sql: str, columns: Sequence[ArrowColumn]) -> str:
    """The statement, with the columns that need it cast to text on their way out.

    DuckDB keeps the order of a sub-query's rows, and its parser has read the statement alone.
    """
    names = [f"c{i}" for i in range(len(columns))]
    shown = [
        f"CAST({name} AS VARCHAR)" if column.is_text else name
        for name, column in zip(names, columns, strict=True)
    ]
    return f"SELECT {', '.join(shown)} FROM ({sql}\n) AS q({', '.join(names)})"  # noqa: S608  # see above


def _translated(error: Exception) -> DataAgentError:
    if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in str(error):
        return QueryFailed(
            "DuckDB: the statement needs more memory than it may have. Ask for less: filter or "
            "aggregate before sorting and joining, and select fewer columns."
        )
    message = str(error).partition("\n\nLINE ")[0].strip()
    if isinstance(error, duckdb.FatalException | duckdb.ConnectionException):
        return SourceUnavailable(f"DuckDB: {message} Open the source again.")
    return QueryFailed(f"DuckDB: {message}")
