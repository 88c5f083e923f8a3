"""Writes rows as they arrive to one Parquet file, with its exact row count and its statistics.

Memory stays bounded: rows are held until they make a row group, then written. The limits stop the
reading and are reported (`truncated_by`). The file appears under its name whole or not at all.
What Parquet has no type for (an interval, a union) is written as text. Runs in a worker thread.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from dataagent_core.data.arrow import pa, pc, pq
from dataagent_core.data.column_names import unique_names
from dataagent_core.data.results.cells import json_text, json_values
from dataagent_core.data.results.stored_result import (
    PREVIEW_ROWS,
    ColumnMeter,
    StoredResult,
    first_rows,
    footer,
)
from dataagent_core.data.types import QueryLimits, ResultColumn, SourceWarnings, TruncatedBy
from dataagent_core.errors import QueryFailed, QueryTimedOut

_MAX_DECIMAL128 = 38


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type a column of this type is stored as."""
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return stored_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.string() if isinstance(kind, pa.UuidType) else stored_type(kind.storage_type)
    if types.is_nested(kind):
        return kind if _is_plain(kind) else pa.string()
    if types.is_decimal(kind):
        return _stored_decimal(kind)
    return _replaced().get(kind, kind)


@cache
def _replaced() -> dict[pa.DataType, pa.DataType]:
    return {
        pa.string_view(): pa.string(),
        pa.binary_view(): pa.binary(),
        pa.month_day_nano_interval(): pa.string(),
        pa.float16(): pa.float32(),
        pa.date64(): pa.date32(),
    }


def _stored_decimal(kind: pa.DataType) -> pa.DataType:
    if kind.scale < 0:
        return pa.decimal256(min(76, kind.precision - kind.scale), 0)
    if kind.precision <= _MAX_DECIMAL128:
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _is_plain(kind: pa.DataType) -> bool:
    """Whether a nested type can be written to Parquet as it is."""
    types = pa.types
    is_sequence = types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind)
    if not (is_sequence or types.is_struct(kind)):
        return False
    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return bool(inner) and all(stored_type(one) == one for one in inner)


def to_stored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column as type `kind`, which is a stored type.

    Raises:
        pa.ArrowException: a value does not fit.
    """
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    elif types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if types.is_string(kind) and _is_rendered(column.type):
        return pa.array(_as_texts(column), pa.string())
    if isinstance(column.type, pa.BaseExtensionType):
        return to_stored(column.storage, kind)
    return column if column.type == kind else column.cast(kind)


def _is_rendered(kind: pa.DataType) -> bool:
    is_interval = kind == pa.month_day_nano_interval()
    return is_interval or isinstance(kind, pa.UuidType) or pa.types.is_nested(kind)


def _as_texts(column: pa.Array) -> list[str | None]:
    """One text for each value: an interval in ISO 8601, a UUID, else JSON."""
    if pa.types.is_nested(column.type):
        return [None if v is None else json_text(v) for v in json_values(column)]
    return [None if v is None else str(v) for v in json_values(column)]


OnBytes = Callable[[int], None]  # called with the size of the file so far; may raise to refuse

GROUP_ROWS = 65_536
GROUP_BYTES = 16 * 1024 * 1024  # of Arrow data
_COMPRESSION = "zstd"


def write_result(
    batches: Iterator[Any],  # Any: pa.RecordBatch, which has no type stubs
    labels: Sequence[str],
    path: Path,
    *,
    limits: QueryLimits,
    on_bytes: OnBytes | None = None,
    cut_before: TruncatedBy | None = None,
    warnings: Callable[[], SourceWarnings] = SourceWarnings,
    clock: Callable[[], float] = time.monotonic,
) -> StoredResult:
    """Write the rows to `path` and say what they are.

    Args:
        batches: the rows; consumed until their end or a limit.
        labels: what the engine calls the columns, duplicates and all.
        path: where the file shall be; its folder exists.
        limits: when to stop reading.
        on_bytes: called with the file's size each time it has grown, and before it gets its name.
            What it raises ends the read; nothing is left behind then.
        cut_before: the limit that had cut what the rows were made from, if one had.
        warnings: the warnings of the source, read after the rows.
        clock: seconds; for tests.

    Raises:
        QueryFailed: there are no columns, or a column changed its type on the way.
        QueryTimedOut: the engine gave up before the first row. Later, the rows so far are stored.
    """
    if not labels:
        raise QueryFailed("The statement returns no columns. Select at least one.")
    caps = _RowLimiter(limits, clock)
    with _written_whole(path) as partial:
        writer = _Writer(partial, labels, on_bytes)
        try:
            for batch in caps.passed(batches):
                writer.add(batch)
            said = warnings()
            cut = caps.truncated_by or cut_before or ("values" if said.has_cut else None)
            return writer.finish(cut, said.sentences)
        finally:
            writer.close()


class _RowLimiter:
    """Lets rows through until a limit is reached, and remembers which."""

    def __init__(self, limits: QueryLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._deadline = clock() + limits.timeout_seconds
        self._rows = 0
        self._bytes = 0
        self.truncated_by: TruncatedBy | None = None

    def passed(self, batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
        """The batches within the limits. A limit counts as reached only if there was more."""
        arriving = iter(batches)
        while self.truncated_by is None:
            batch = self._next(arriving)
            if batch is None:
                return
            if batch.num_rows and self._rows and self._clock() > self._deadline:
                self.truncated_by = "time"
                return
            yield self._within(batch)

    def _next(self, arriving: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        try:
            return next(arriving, None)
        except QueryTimedOut:
            if not self._rows:
                raise
            self.truncated_by = "time"
            return None

    def _within(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        left = self._limits.max_rows - self._rows
        if batch.num_rows > left:
            batch = batch.slice(0, left)
            self.truncated_by = "rows"
        space = self._limits.max_bytes - self._bytes
        if batch.nbytes > space:
            batch = _fitting(batch, space)
            self.truncated_by = "bytes"
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        return batch


def _fitting(batch: pa.RecordBatch, space: int) -> pa.RecordBatch:
    """As many of the first rows as fit into `space` bytes."""
    fits, too_many = 0, batch.num_rows
    while fits + 1 < too_many:
        middle = (fits + too_many) // 2
        if batch.slice(0, middle).nbytes <= space:
            fits = middle
        else:
            too_many = middle
    return batch.slice(0, fits)


class _Writer:
    """Gathers rows to row groups and writes them, counting as they pass."""

    def __init__(self, path: Path, labels: Sequence[str], on_bytes: OnBytes | None) -> None:
        self._path = path
        self._labels = labels
        self._names = unique_names(labels)
        self._on_bytes = on_bytes
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._schema: pa.Schema | None = None
        self._sink: Any = None  # Any: Arrow's file, which has no type
        self._file: Any = None  # Any: Arrow's writer, which has no type
        self._meters: list[ColumnMeter] = []
        self._preview: tuple[tuple[Any, ...], ...] = ()
        self._row_count = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows; write when they fill a row group."""
        for piece in _pieces(batch):
            self._waiting.append(piece)
            self._waiting_rows += piece.num_rows
            self._waiting_bytes += piece.nbytes
            if self._waiting_rows >= GROUP_ROWS or self._waiting_bytes >= GROUP_BYTES:
                self._write_group()

    def finish(self, truncated_by: TruncatedBy | None, warnings: tuple[str, ...]) -> StoredResult:
        """Write what waits and the footer."""
        if self._waiting or self._schema is None:
            self._write_group()
        assert self._schema is not None  # noqa: S101  # a written group has settled it
        columns = tuple(
            ResultColumn(field.name, label, str(field.type))
            for field, label in zip(self._schema, self._labels, strict=True)
        )
        statistics = tuple(meter.result() for meter in self._meters)
        self._file.add_key_value_metadata(footer(columns, statistics, truncated_by, warnings))
        self.close()
        byte_size = self._path.stat().st_size
        self._tell(byte_size)
        return StoredResult(
            row_count=self._row_count,
            byte_size=byte_size,
            columns=columns,
            is_truncated=truncated_by is not None,
            truncated_by=truncated_by,
            preview_rows=self._preview,
            statistics=statistics,
            warnings=warnings,
        )

    def close(self) -> None:
        """Close the file, finished or not."""
        file, sink = self._file, self._sink
        self._file = self._sink = None
        try:
            if file is not None:
                file.close()
        finally:
            if sink is not None:
                sink.close()

    def _write_group(self) -> None:
        batches, self._waiting = self._waiting, []
        self._waiting_rows = self._waiting_bytes = 0
        if self._schema is None:
            self._start(_settled(batches, self._names))
        rows = self._stored(batches)
        if len(self._preview) < PREVIEW_ROWS:
            self._preview += first_rows(rows, PREVIEW_ROWS - len(self._preview))
        for meter, column in zip(self._meters, rows.columns, strict=True):
            meter.add(column)
        self._file.write_batch(rows, row_group_size=max(1, rows.num_rows))
        self._row_count += rows.num_rows
        self._tell(self._sink.tell())

    def _start(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._meters = [ColumnMeter(field.type) for field in schema]
        self._sink = pa.OSFile(str(self._path), "wb")
        self._file = pq.ParquetWriter(self._sink, schema, compression=_COMPRESSION)

    def _stored(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        assert self._schema is not None  # noqa: S101  # `_start` came before
        columns = [
            self._stored_column([batch.column(i) for batch in batches], field)
            for i, field in enumerate(self._schema)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _stored_column(self, pieces: list[pa.Array], field: pa.Field) -> pa.Array:
        try:
            converted = [to_stored(piece, field.type) for piece in pieces]
        except pa.ArrowException as error:
            kinds = sorted({str(piece.type) for piece in pieces})
            raise QueryFailed(
                f"Column {field.name!r} has values of type {', '.join(kinds)} that do not fit "
                f"{field.type}. Cast it to one type in the statement."
            ) from error
        if not converted:
            return pa.nulls(0, field.type)
        return converted[0] if len(converted) == 1 else pa.concat_arrays(converted)

    def _tell(self, size: int) -> None:
        if self._on_bytes is not None:
            self._on_bytes(size)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts that are no larger than a row group; an empty batch is one part."""
    parts = max(-(-batch.num_rows // GROUP_ROWS), -(-batch.nbytes // GROUP_BYTES), 1)
    size = max(1, -(-batch.num_rows // parts))
    for start in range(0, max(1, batch.num_rows), size):
        yield batch.slice(start, size)


def _settled(batches: list[pa.RecordBatch], names: Sequence[str]) -> pa.Schema:
    """The file's schema, from all that has arrived so far."""
    fields: list[pa.Field] = []
    for i, name in enumerate(names):
        kinds = {stored_type(batch.schema.field(i).type) for batch in batches} or {pa.null()}
        fields.append(pa.field(name, _promoted(name, kinds)))
    return pa.schema(fields)


def _promoted(name: str, kinds: set[pa.DataType]) -> pa.DataType:
    schemas = [pa.schema([pa.field("x", kind)]) for kind in kinds]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException as error:
        raise QueryFailed(
            f"Column {name!r} mixes types: {', '.join(sorted(map(str, kinds)))}. "
            "Cast it to one type in the statement."
        ) from error


@contextmanager
def _written_whole(path: Path) -> Generator[Path]:
    """A path to write to, for its owner alone; becomes `path` at the end, or is deleted."""
    partial = path.with_name(f".{path.name}.{uuid4().hex}.part")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
