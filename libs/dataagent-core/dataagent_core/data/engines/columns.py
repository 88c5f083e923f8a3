"""The Arrow columns of one result, each as wide as the values so far need.

A database may say little about a column before its rows are read: SQLite's columns hold anything, a
PostgreSQL `numeric` has as many digits as it likes, MySQL has a 30th of February. So the first rows
decide, and a later value that does not fit makes the column wider: to a type that holds all of it,
text in the end. The rows before it have other types by then, so the statement is read again from
its start (`SchemaChanged`). No value is ever rounded, cut or dropped.

`adaptive_batches` gathers fetched rows into columns. Few rows are fetched at once, so that a table
of long texts is noticed early and memory stays bounded.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataagent_core.data.arrow import pa
from dataagent_core.data.column_names import unique_names
from dataagent_core.data.engines.base import EngineOptions, SchemaChanged

_MAX_RESTARTS = 2


class ColumnBuilder(ABC):
    """One column. `type` only ever widens."""

    type: pa.DataType

    @abstractmethod
    def fit(self, values: Any) -> pa.Array | None:  # Any: what the engine's driver gives
        """The values as `type`; None if one of them does not fit."""

    @abstractmethod
    def widen(self, values: Any) -> None:  # Any: as above
        """Take a type for these values and all before them."""

    @abstractmethod
    def settle(self) -> None:
        """Take the type that every value fits."""


class Columns:
    """The columns of one statement; they stay when it is read again."""

    def __init__(self, labels: Sequence[str], columns: Sequence[ColumnBuilder]) -> None:
        self.labels = tuple(labels)
        self._names = unique_names(labels)
        self._columns = tuple(columns)
        self._restarts = 0

    @property
    def columns(self) -> tuple[ColumnBuilder, ...]:
        """Each column, in order."""
        return self._columns

    @property
    def schema(self) -> pa.Schema:
        """As it is now."""
        pairs = zip(self._names, self._columns, strict=True)
        return pa.schema([pa.field(name, column.type) for name, column in pairs])

    def empty(self) -> pa.RecordBatch:
        """No rows, with the columns they would have."""
        return _empty(self.schema)

    def batch(self, chunk: Sequence[Any], *, may_widen: bool) -> pa.RecordBatch:
        """The values, one sequence a column, as a batch.

        Raises:
            SchemaChanged: a value does not fit, and `may_widen` is false: rows were handed out.
        """
        arrays: list[pa.Array | None] = []
        for column, values in zip(self._columns, chunk, strict=True):
            array = column.fit(values)
            if array is None:
                column.widen(values)
                array = column.fit(values) if may_widen else None
            arrays.append(array)
        if any(array is None for array in arrays):
            self._restart()
            raise SchemaChanged
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _restart(self) -> None:
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            for column in self._columns:
                column.settle()


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


Rows = Sequence[Sequence[Any]]  # Any: whatever a database holds

_PIECE_ROWS = 128
_FIRST_ROWS = 8_192  # the first batch decides types, so it is not too small
_FIRST_SECONDS = 0.2
_OBJECT_TO_VALUE = 4  # a Python object is larger than the value it holds


def adaptive_batches(
    fetch: Callable[[int], Rows], options: EngineOptions
) -> Iterator[Sequence[Any]]:
    """The rows that `fetch(count)` gives, until it gives none, as one list for each column."""
    most_rows = min(_FIRST_ROWS, options.batch_rows)
    deadline = time.monotonic() + _FIRST_SECONDS
    pieces = _pieces(fetch, options)
    while columns := _gathered(pieces, most_rows, options.batch_bytes, deadline):
        yield columns
        most_rows, deadline = options.batch_rows, None


def _pieces(fetch: Callable[[int], Rows], options: EngineOptions) -> Iterator[tuple[Rows, int]]:
    """Some rows and about how many bytes they have, again and again."""
    count = 1
    while rows := fetch(min(count, options.batch_rows)):
        size = max(sum(map(sys.getsizeof, row)) for row in (rows[0], rows[-1])) // _OBJECT_TO_VALUE
        yield rows, size * len(rows)
        count = max(1, min(_PIECE_ROWS, options.batch_bytes // max(1, size)))


def _gathered(
    pieces: Iterator[tuple[Rows, int]], most_rows: int, most_bytes: int, deadline: float | None
) -> list[list[Any]]:
    """The columns of one batch; none at the end."""
    columns: list[list[Any]] = []
    row_count = byte_count = 0
    for rows, size in pieces:
        columns = columns or [[] for _ in rows[0]]
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(values)
        row_count += len(rows)
        byte_count += size
        is_late = deadline is not None and time.monotonic() > deadline
        if row_count >= most_rows or byte_count >= most_bytes or is_late:
            break
    return columns
