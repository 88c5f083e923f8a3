"""DuckDB files and kept tables: read-only, without files, network or extensions.

Statements run in processes of their own (`duckdb_process.py`). A file is opened `read_only`; then
every file, its own included, is out of reach, extensions are neither installed nor loaded, Python's
variables out of sight, memory and threads bounded (nothing spills to disk), and the configuration
is locked but for the time zone. A statement must be one `SELECT`, says DuckDB's own parser. Rows
stream in DuckDB's Arrow form; what Arrow or its readers cannot hold as a value (a bit string, a
time with a zone, more than 38 digits, an infinite date) is asked for again as text.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from sqlalchemy.engine import URL

from dataagent_core.data.engines.base import (
    Engine,
    EngineOptions,
    Statement,
    StatementOptions,
    file_of,
)
from dataagent_core.data.engines.columns import Columns
from dataagent_core.data.engines.duckdb_catalogue import tables_of
from dataagent_core.data.engines.duckdb_columns import ArrowColumn
from dataagent_core.data.engines.duckdb_process import (
    DuckdbDatabase,
    DuckdbProcess,
    DuckdbProcesses,
    DuckdbWorkerError,
    DuckdbWorkerExited,
)
from dataagent_core.data.engines.pooled_statement import PooledStatement
from dataagent_core.data.engines.watchdog import Watchdog, timeout_error
from dataagent_core.data.types import Table
from dataagent_core.errors import DataAgentError, QueryFailed, SourceUnavailable

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
        assert process is not None  # noqa: S101  # nobody gives up
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
        self._arrow: list[ArrowColumn] | None = None  # kept when the statement is read again
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
