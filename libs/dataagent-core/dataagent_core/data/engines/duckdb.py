"""DuckDB files and stored tables: read-only, without files, network or extensions.

Statements run in processes of their own (`duckdb_process.py`). A file is opened `read_only`; then
every file, its own included, is out of reach, extensions are neither installed nor loaded, Python's
variables cannot be named, memory and threads are bounded (nothing spills to disk), and the
configuration is locked but for the time zone. A statement must be one `SELECT` by DuckDB's own
parser.

Rows stream in DuckDB's Arrow form. That form loses a time's zone, shows a bit string's bytes and
writes infinity as the largest number, and readers of Arrow fail over years outside 1 to 9999 and
over a decimal with more digits than it says. Such columns are requested again as text.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, cast

from sqlalchemy.engine import URL

from dataagent_core.data.arrow import pa, pc
from dataagent_core.data.engines.base import (
    Engine,
    EngineOptions,
    Statement,
    StatementOptions,
    file_of,
)
from dataagent_core.data.engines.columns import ColumnBuilder, Columns
from dataagent_core.data.engines.duckdb_process import (
    DuckdbDatabase,
    DuckdbProcess,
    DuckdbProcesses,
    DuckdbWorkerError,
    DuckdbWorkerExited,
)
from dataagent_core.data.engines.pooled_statement import PooledStatement, Watchdog, timeout_error
from dataagent_core.data.types import Column, ForeignKey, Table
from dataagent_core.errors import DataAgentError, QueryFailed, SourceUnavailable

_RELATIONS = """
    SELECT schema_name, table_name, false, comment FROM duckdb_tables()
    WHERE database_name = current_database() AND NOT internal AND NOT temporary
    UNION ALL
    SELECT schema_name, view_name, true, comment FROM duckdb_views()
    WHERE database_name = current_database() AND NOT internal AND NOT temporary
    ORDER BY 1, 2
"""
_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type, is_nullable, comment
    FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
    ORDER BY schema_name, table_name, column_index
"""
_KEYS = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table,
           referenced_column_names
    FROM duckdb_constraints()
    WHERE database_name = current_database() AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
    ORDER BY schema_name, table_name, constraint_index
"""
_DEFAULT = "main"

Fetch = Callable[[str], Sequence[Sequence[Any]]]  # Any: whatever a row holds


def tables_of(fetch: Fetch) -> list[Table]:
    """Every table and view, without row counts."""
    columns: dict[tuple[str, str], list[Column]] = defaultdict(list)
    for schema, table, name, kind, is_nullable, comment in fetch(_COLUMNS):
        columns[schema, table].append(Column(name, kind, is_nullable, comment))
    keys: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for schema, table, *key in fetch(_KEYS):
        keys[schema, table].append(tuple(key))
    return [
        Table(
            name=name,
            schema=_shown(schema),
            columns=tuple(columns[schema, name]),
            is_view=is_view,
            comment=comment,
            primary_key=tuple(
                column
                for kind, own, _, _ in keys[schema, name]
                if kind == "PRIMARY KEY"
                for column in own
            ),
            foreign_keys=tuple(
                ForeignKey(
                    columns=tuple(own),
                    target_table=".".join(part for part in (_shown(schema), target) if part),
                    target_columns=tuple(others),
                )
                for kind, own, target, others in keys[schema, name]
                if kind == "FOREIGN KEY"
            ),
        )
        for schema, name, is_view, comment in fetch(_RELATIONS)
    ]


def _shown(schema: str) -> str | None:
    return None if schema == _DEFAULT else schema


_DIGITS = 38
_UTC = "UTC"
_EPOCH = date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days
_TICKS_A_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_LARGEST = 2**63 - 2  # one more is infinity


class ArrowColumn(ColumnBuilder):
    """A column that is Arrow already. `is_text`: requested as text."""

    def __init__(self, *, is_text: bool) -> None:
        self.is_text = is_text
        self.type = pa.string()

    def settle_on(self, kind: pa.DataType) -> None:
        """Take the type that DuckDB's Arrow form has; moments are in UTC, whatever the session."""
        if pa.types.is_dictionary(kind):
            self.type = kind.value_type
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            self.type = pa.timestamp(kind.unit, tz=_UTC)
        elif pa.types.is_null(kind):
            self.type = pa.string()
        else:
            self.type = kind

    def fit(self, values: pa.Array) -> pa.Array | None:
        """The values, unless one of them is beyond what readers of Arrow can hold."""
        if _is_beyond(values) or (self.is_text and not pa.types.is_string(values.type)):
            return None
        return values if values.type == self.type else values.cast(self.type)

    def widen(self, values: pa.Array) -> None:
        """Ask for it as text."""
        del values
        self.settle()

    def settle(self) -> None:
        """Ask for it as text, next time."""
        self.is_text = True
        self.type = pa.string()


def _is_beyond(values: pa.Array) -> bool:
    kind = values.type
    limits = _limits(kind)
    if limits is None:
        return False
    lowest, highest = limits
    is_above = pc.any(pc.greater(values, highest)).as_py()
    return bool(is_above or pc.any(pc.less(values, lowest)).as_py())


def _limits(kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """The lowest and highest value of a type that may hold more than it should."""
    if pa.types.is_date32(kind):
        return _between(_FIRST_DAY, _LAST_DAY, pa.int32(), kind)
    if pa.types.is_timestamp(kind):
        ticks = _TICKS_A_DAY[kind.unit]
        lowest = max(_FIRST_DAY * ticks, -_LARGEST)
        highest = min((_LAST_DAY + 1) * ticks - 1, _LARGEST)
        return _between(lowest, highest, pa.int64(), kind)
    if pa.types.is_decimal128(kind) and kind.precision == _DIGITS and kind.scale == 0:
        lowest, highest = Decimal(1 - 10**_DIGITS), Decimal(10**_DIGITS - 1)
        return pa.scalar(lowest, kind), pa.scalar(highest, kind)
    return None


def _between(
    lowest: int, highest: int, ticks: pa.DataType, kind: pa.DataType
) -> tuple[pa.Scalar, pa.Scalar]:
    return pa.scalar(lowest, ticks).cast(kind), pa.scalar(highest, ticks).cast(kind)


_METADATA = b"dataagent"  # under which the worker says what it started
_ATTEMPTS_BEFORE_KILLING = 10
_LOOK_SECONDS = 60.0
_TOO_MUCH = (
    "Ask for less: filter or aggregate before sorting and joining, select fewer columns, and make "
    "no long texts or lists."
)
_REFUSED = {
    "only_select": "DuckDB: only one SELECT is allowed. Write one query.",
    "row_too_large": f"DuckDB: a row has more bytes than may be handed over. {_TOO_MUCH}",
}
_PASSING_ON = "PROJECTION"
_ROWS = "Estimated Cardinality"
_Step = dict[str, Any]  # Any: JSON
_Translate = Callable[[Exception], DataAgentError]


def open_source(url: URL, options: EngineOptions, processes: DuckdbProcesses | None) -> Engine:
    """The engine of an address."""
    return DuckdbEngine(file_of(url), options, processes)


class ProcessEngine(Engine):
    """A database that is read by processes of DuckDB's."""

    dialect: ClassVar[str] = "duckdb"

    def __init__(
        self, database: DuckdbDatabase, options: EngineOptions, processes: DuckdbProcesses | None
    ) -> None:
        """Without `processes` the engine has its own, which end with it."""
        self._database = database
        self._options = options
        self._is_sharing = processes is not None
        self._processes = processes or DuckdbProcesses(options)
        self._connections = _ProcessConnections(self._processes, database, self.translate_error)

    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        """A statement, not started."""
        settings = StatementOptions(timeout_seconds, time_zone, self._options)
        return closing(DuckdbStatement(sql, self._connections, settings, self.translate_error))

    def close(self) -> None:
        """Close the database in all processes."""
        if self._is_sharing:
            self._processes.forget(self._database)
        else:
            self._processes.close()

    @abstractmethod
    def translate_error(self, error: Exception) -> DataAgentError:
        """What an error of a process is to a caller."""

    def fetch(self, sql: str, *, timeout_seconds: float) -> list[list[Any]]:  # Any: JSON
        """All rows of a small result of our own asking, which need not be a SELECT."""
        process = self._connections.acquire(
            timeout_seconds=timeout_seconds, is_cancelled=lambda: False
        )
        assert process is not None  # noqa: S101  # waits without a limit
        watch = Watchdog(lambda attempt: stop(process, attempt), timeout_seconds=timeout_seconds)
        watch.start()
        is_clean = False
        try:
            found: list[list[Any]] = process.ask("fetch", sql=sql)
            is_clean = True
        except (DuckdbWorkerError, DuckdbWorkerExited) as error:
            is_clean = isinstance(error, DuckdbWorkerError)
            if watch.reason == "timed_out":
                raise timeout_error(timeout_seconds) from error
            raise self.translate_error(error) from error
        finally:
            watch.end()
            self._connections.release(process, is_clean=is_clean)
        return found


class DuckdbEngine(ProcessEngine):
    """One DuckDB file."""

    def __init__(
        self, path: Path, options: EngineOptions, processes: DuckdbProcesses | None = None
    ) -> None:
        if not path.is_file():
            raise SourceUnavailable(
                f"There is no DuckDB file {path.name!r}. Check the path in the source's address."
            )
        super().__init__(DuckdbDatabase(str(path.absolute())), options, processes)
        self._name = path.name
        try:
            self.fetch("SELECT 1", timeout_seconds=_LOOK_SECONDS)
        except BaseException:
            self.close()
            raise

    def explain(self, sql: str, *, timeout_seconds: float) -> list[str]:
        """DuckDB's physical plan."""
        found = self.fetch(f"EXPLAIN (FORMAT JSON) {sql}", timeout_seconds=timeout_seconds)
        return [line for _, plan in found for line in _plan_lines(plan)]

    def introspect(self) -> list[Table]:
        """Tables and views of every schema, with exact row counts."""
        tables = tables_of(lambda sql: self.fetch(sql, timeout_seconds=_LOOK_SECONDS))
        return self.with_row_counts(tables)

    def translate_error(self, error: Exception) -> DataAgentError:
        """DuckDB's message."""
        if isinstance(error, CannotOpenDatabase):
            return SourceUnavailable(
                f"The DuckDB file {self._name!r} cannot be opened. It must be a database of this "
                "version of DuckDB or an older one that no other program is writing."
            )
        return query_error(error)


class CannotOpenDatabase(Exception):
    """A process could not open the database; its cause says why."""


@dataclass(frozen=True, slots=True)
class _ProcessConnections:
    """The processes, each with the database open when it is lent."""

    processes: DuckdbProcesses
    database: DuckdbDatabase
    translate_error: _Translate

    def acquire(
        self, *, timeout_seconds: float, is_cancelled: Callable[[], bool]
    ) -> DuckdbProcess | None:
        try:
            return self.processes.acquire(
                self.database, timeout_seconds=timeout_seconds, is_cancelled=is_cancelled
            )
        except DuckdbWorkerError as error:
            raise self.translate_error(CannotOpenDatabase(error.message)) from error
        except DuckdbWorkerExited as error:
            raise SourceUnavailable(
                "A process for DuckDB could not be started, or ended at once. Try again."
            ) from error

    def release(self, connection: DuckdbProcess, *, is_clean: bool) -> None:
        self.processes.release(connection, is_clean=is_clean)


class DuckdbStatement(PooledStatement[DuckdbProcess]):
    """One query of a DuckDB database."""

    driver_errors = (DuckdbWorkerError, DuckdbWorkerExited)

    def __init__(
        self,
        sql: str,
        lending: _ProcessConnections,
        settings: StatementOptions,
        translate_error: _Translate,
    ) -> None:
        super().__init__(sql, lending, settings)
        self._translated = translate_error
        self._arrow: list[ArrowColumn] | None = None  # stays when the statement is read again
        self._is_over = True

    def start(self, connection: DuckdbProcess) -> Columns:
        """Have the statement bound, then run."""
        known = None if self._arrow is None else [column.is_text for column in self._arrow]
        self._is_over = False
        schema = connection.ask(
            "start",
            sql=self.sql,
            time_zone=self.settings.time_zone,
            texts=known,
            rows=self.settings.options.batch_rows,
        ).schema
        about: dict[str, Any] = json.loads(schema.metadata[_METADATA])
        if self._arrow is None:
            self._arrow = [ArrowColumn(is_text=is_text) for is_text in about["texts"]]
        for column, field in zip(self._arrow, schema, strict=True):
            column.settle_on(field.type)
        return Columns(about["labels"], self._arrow)

    def chunks(self, connection: DuckdbProcess) -> Iterator[Sequence[Any]]:  # Any: Arrow arrays
        """The rows, as an array for each column."""
        while (batch := connection.ask("next")) is not None:
            if batch.num_rows:
                yield batch.columns
        self._is_over = True

    def stop(self, connection: DuckdbProcess, attempt: int) -> None:
        """Interrupt; kill when that does not help."""
        stop(connection, attempt)

    def halt(self, connection: DuckdbProcess) -> None:
        """Close the stream, which ends the statement."""
        if not self._is_over:
            connection.ask("stop")
            self._is_over = True

    def translate_error(self, error: Exception) -> DataAgentError:
        """DuckDB's message."""
        return self._translated(error)


def stop(process: DuckdbProcess, attempt: int) -> None:
    """Have a process give up its statement; where it does not hear, end it."""
    if attempt > _ATTEMPTS_BEFORE_KILLING:
        process.kill()
    else:
        process.interrupt()


def query_error(error: Exception) -> DataAgentError:
    """What an error of a statement's is to a caller: DuckDB's words, or that it went too far."""
    if isinstance(error, DuckdbWorkerExited):
        return QueryFailed(
            "DuckDB: the statement needed more memory than it may have, and the process that ran "
            f"it has ended. {_TOO_MUCH}"
        )
    if not isinstance(error, DuckdbWorkerError):
        return QueryFailed(f"DuckDB: {error}")
    if error.kind == "Refused":
        return QueryFailed(_REFUSED[error.message])
    if error.kind in ("OutOfMemoryException", "MemoryError", "ArrowMemoryError") or (
        "Out of Memory" in error.message or "bad_alloc" in error.message
    ):
        return QueryFailed(f"DuckDB: the statement needs more memory than it may have. {_TOO_MUCH}")
    message = error.message.partition("\n\nLINE ")[0].strip()
    if error.kind in ("FatalException", "ConnectionException"):
        return SourceUnavailable(f"DuckDB: {message} Open the source again.")
    return QueryFailed(f"DuckDB: {message}")


def _plan_lines(plan: str) -> list[str]:
    """What `EXPLAIN (FORMAT JSON)` gives, each step below the one it feeds.

    Steps that only pass columns on are left out, and the table's name stands alone.
    """
    return [line for step in json.loads(plan) for line in _step_lines(step, 0)]


def _step_lines(step: _Step, depth: int) -> Iterator[str]:
    is_shown = step["name"] != _PASSING_ON
    if is_shown:
        yield f"{'  ' * depth}{step['name']}{_details(step.get('extra_info') or {})}"
    for child in step.get("children") or ():
        yield from _step_lines(child, depth + is_shown)


def _details(extra: _Step) -> str:
    parts: list[str] = []
    for name, value in extra.items():
        if name == "Table":
            parts.insert(0, str(value).rpartition(".")[2])
        elif name not in ("Type", _ROWS):
            values = cast("list[object]", value) if isinstance(value, list) else [value]
            text = ", ".join(map(str, values))
            parts.append(f"{name.lower()} {' '.join(text.split())}")
    if _ROWS in extra:
        parts.append(f"~{extra[_ROWS]} rows")
    return f"  {'; '.join(parts)}" if parts else ""
