"""SQL over earlier results: kept tables, by name, in a DuckDB of their own.

The tables are Arrow datasets, so the database itself may open no file at all; it lives in memory,
cannot change its settings, runs SELECT only, and is gone when the statement ends. This is the last
line of defence: names and functions were checked before. Above: the query service, which treats it
as any engine. Below: DuckDB, Arrow.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from dataagent_core.data.arrow import ds, duckdb, pa, pq
from dataagent_core.data.engines.base import Engine, Interrupted, Statement
from dataagent_core.data.engines.watch import Watch, timed_out
from dataagent_core.data.results.places import artifact_id_of, no_such_artifact, reading
from dataagent_core.data.types import Artifact, Catalogue, Column, ResultColumn, Table
from dataagent_core.errors import QueryFailed, QueryRefused

SOURCE_ID = "artifacts"
_BATCH_ROWS = 20_000
BOUNDS: dict[str, Any] = {  # Any: text and numbers, as DuckDB takes them
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "1GB",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "threads": 2,
}
"""What every database over kept results is opened with."""
_SETTINGS: dict[str, Any] = {**BOUNDS, "enable_external_access": "false"}  # Any: as above
_TYPES = {  # Arrow's names of types → DuckDB's
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date32": "DATE",
    "time32": "TIME",
    "time64": "TIME",
    "duration": "INTERVAL",
    "binary": "BLOB",
    "large_binary": "BLOB",
    "fixed_size_binary": "BLOB",
}


def open_artifacts(paths: Mapping[str, Path]) -> ArtifactEngine:
    """An engine over kept tables: name in the SQL → file that `keep` wrote.

    Raises:
        ArtifactNotFound: a file is not there.
    """
    for path in paths.values():
        with reading(artifact_id_of(path)):
            path.stat()
    return ArtifactEngine(paths)


def catalogue_of(tables: Mapping[str, Artifact]) -> Catalogue:
    """What there is to query: name in the SQL → artefact."""
    described = tuple(
        Table(name, _columns(artifact.columns), row_count=artifact.row_count)
        for name, artifact in tables.items()
    )
    shape = [[table.name, [[c.name, c.type] for c in table.columns]] for table in described]
    digest = hashlib.sha256(json.dumps(shape).encode()).hexdigest()
    return Catalogue(SOURCE_ID, ArtifactEngine.dialect, described, digest, datetime.now(UTC))


def _columns(columns: tuple[ResultColumn, ...]) -> tuple[Column, ...]:
    return tuple(Column(column.name, duckdb_type(column.type)) for column in columns)


def duckdb_type(arrow_type: str) -> str:
    """DuckDB's name of a column's type."""
    base = arrow_type.partition("[")[0].partition("(")[0].partition("<")[0]
    if base.startswith("decimal"):
        width = arrow_type.partition("(")[2]
        return "VARCHAR" if base == "decimal256" else f"DECIMAL({width.replace(' ', '')}"
    if base == "timestamp":
        return "TIMESTAMP WITH TIME ZONE" if "tz=" in arrow_type else "TIMESTAMP"
    if base in ("list", "large_list", "struct", "map"):
        return base.removeprefix("large_").upper()
    return _TYPES.get(base, "VARCHAR")


class ArtifactEngine(Engine):
    """Kept tables as a source. Every statement has a database of its own."""

    dialect: ClassVar[str] = "duckdb"

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = dict(paths)

    @contextmanager
    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> Generator[Statement]:
        """A statement, not started (see `Engine.statement`)."""
        statement = _ArtifactStatement(sql, self._paths, timeout_seconds, time_zone)
        try:
            yield statement
        finally:
            statement.close()

    def introspect(self) -> list[Table]:
        """The tables, as their files describe them."""
        return [_described(name, path) for name, path in self._paths.items()]

    def close(self) -> None:
        """Nothing is held between statements."""


def _described(name: str, path: Path) -> Table:
    with pq.ParquetFile(path) as file:
        columns = tuple(Column(f.name, duckdb_type(str(f.type))) for f in file.schema_arrow)
        return Table(name, columns, row_count=int(file.metadata.num_rows))


class _ArtifactStatement(Statement):
    """One SELECT, with the database it runs in."""

    def __init__(
        self, sql: str, paths: Mapping[str, Path], timeout_seconds: float, time_zone: str
    ) -> None:
        self._sql = sql
        self._paths = paths
        self._timeout_seconds = timeout_seconds
        self._time_zone = time_zone
        self._lock = threading.Lock()
        self._is_interrupted = False
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._watch: Watch | None = None
        self._reader: Any = None  # Any: Arrow's reader, which has no type

    @property
    def labels(self) -> tuple[str, ...]:
        """What the columns are called (see `Statement.labels`)."""
        self._begin()
        return tuple(self._reader.schema.names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows (see `Statement.batches`)."""
        self._begin()
        is_first = True
        while (batch := self._next()) is not None:
            is_first = False
            yield batch
        if is_first:
            yield pa.RecordBatch.from_pylist([], schema=self._reader.schema)

    def interrupt(self) -> None:
        """Stop it (see `Statement.interrupt`)."""
        with self._lock:
            self._is_interrupted = True
            if self._watch is not None:
                self._watch.interrupt()

    def close(self) -> None:
        """Stop what runs and drop the database."""
        connection, watch = self._connection, self._watch
        if connection is None or watch is None:
            return
        connection.interrupt()  # a reader that was left early may still be at work
        watch.end()
        connection.close()
        self._connection = None

    def _next(self) -> pa.RecordBatch | None:
        assert self._watch is not None  # noqa: S101  # `_begin` has set it
        with self._translating():
            batch = next(self._reader, None)
        if batch is not None or self._watch.reason == "interrupted":
            self._watch.check()
        return batch

    def _begin(self) -> None:
        if self._reader is not None:
            return
        connection = _opened(self._paths, self._time_zone)
        watch = Watch(lambda _: connection.interrupt(), timeout_seconds=self._timeout_seconds)
        with self._lock:
            self._connection, self._watch = connection, watch
            if self._is_interrupted:
                watch.interrupt()
        watch.start()
        watch.check()
        with self._translating():
            _check_select(connection, self._sql)
            self._reader = connection.sql(self._sql).to_arrow_reader(_BATCH_ROWS)

    @contextmanager
    def _translating(self) -> Generator[None]:
        try:
            yield
        except (duckdb.Error, pa.ArrowException, RuntimeError) as error:
            reason = None if self._watch is None else self._watch.reason
            if reason == "interrupted":
                raise Interrupted from error
            if reason == "timed_out":
                raise timed_out(self._timeout_seconds) from error
            for path in self._paths.values():
                if not path.exists():  # DuckDB's message would name it
                    raise no_such_artifact(artifact_id_of(path)) from error
            raise QueryFailed(f"DuckDB says: {error}") from error


def _opened(paths: Mapping[str, Path], time_zone: str) -> duckdb.DuckDBPyConnection:
    """A database with the tables in it and every other door closed."""
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    try:
        connection.execute("SET TimeZone = " + _literal(time_zone))
        for name, path in paths.items():
            with reading(artifact_id_of(path)):
                table = _table(path)
            connection.register(name, table)
        connection.execute("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _table(path: Path) -> Any:
    """The file as DuckDB takes it; decimals of more than 38 digits are text to it."""
    dataset = ds.dataset(path, format="parquet")
    wide = [f.name for f in dataset.schema if pa.types.is_decimal256(f.type)]
    if not wide:
        return dataset
    table = pq.read_table(path)
    for name in wide:
        position = table.schema.get_field_index(name)
        table = table.set_column(position, name, table.column(position).cast(pa.string()))
    return table


def _check_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    kinds = [statement.type for statement in connection.extract_statements(sql)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise QueryRefused(
            "Only one SELECT can run over earlier results.",
            details={"reason": "not_a_query", "hint": "Write a single SELECT statement."},
        )
