"""The contract of an engine: run one read-only statement, describe the tables, sample values.

An `Engine` is one registered source, open, and safe for many threads. A `Statement` is one query on
it, read by one thread and stopped from any other. Both block: the query service calls them in
worker threads. Whether a statement is allowed is decided before it gets here; an engine makes sure
that no statement can change the source.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sqlalchemy.engine import URL

from dataagent_core.data.arrow import pa
from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.types import Column, SourceWarnings, Table
from dataagent_core.errors import Misconfigured, QueryFailed

logger = logging.getLogger(__name__)
T = TypeVar("T")

Samples = dict[str, tuple[tuple[str, ...], bool]]  # column → values, and whether there are more

_TEXT_LIKE = re.compile(r"char|text|string|clob|enum|bool|^set\b|^name$", re.IGNORECASE)
_MAX_SAMPLE_CHARS = 200
_SAMPLE_SECONDS = 2.0
_SAMPLE_TABLE_SECONDS = 10.0
_COUNT_SECONDS = 2.0
_COUNT_ALL_SECONDS = 15.0
_FIRST_ROWS = 10_000


class StatementInterrupted(Exception):
    """The statement was interrupted by its owner. Nothing is wrong with it or with the source."""


class SchemaChanged(Exception):
    """A later row does not fit the columns that were handed out: read the statement again.

    Discard what was read so far. The next `Statement.batches()` runs the statement
    anew, with wider columns. `Statement.read` does this for its caller.
    """


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How much of a source and of this process one engine may use."""

    max_connections: int = 5  # at once; further statements wait
    connect_timeout_seconds: float = 10.0
    batch_rows: int = 20_000
    batch_bytes: int = 4 * 1024 * 1024
    memory_limit: str = "1GB"  # of an engine that runs in this process
    threads: int = 2  # likewise
    is_unprotected_allowed: bool = False  # also databases that we cannot keep from writing


@dataclass(frozen=True, slots=True)
class StatementOptions:
    """What one statement has to keep to."""

    timeout_seconds: float
    time_zone: str
    options: EngineOptions


class Statement(ABC):
    """One query. One thread reads it; `interrupt` may come from any."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """What the engine calls the columns; may hold duplicates. Starts the statement.

        Raises:
            Interrupted, QueryFailed, QueryTimedOut, SourceUnavailable: as `batches`.
        """

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows; at least one batch, which may be empty. All have one schema.

        Names in the schema are unique: the label, or `label_2` where it is taken. Closing the
        iterator early stops the statement in the engine.

        Raises:
            Interrupted: `interrupt` was called before the last batch was handed out.
            SchemaChanged: a row does not fit what was handed out before (see there).
            QueryFailed: the engine reports an error.
            QueryTimedOut: it took longer than allowed, from its start to its last row.
            SourceUnavailable: there is no connection, or it was lost.
        """

    @abstractmethod
    def interrupt(self) -> None:
        """Stop the statement in the engine. Returns at once; before, during, after: all fine."""

    @property
    def warnings(self) -> SourceWarnings:
        """What the engine warned of; known once the last batch was handed out."""
        return SourceWarnings()

    def read(self, consume: Callable[[Iterator[pa.RecordBatch]], T]) -> T:
        """What `consume` makes of the batches; it starts over when a later row needs wider columns.

        Raises:
            Interrupted, QueryFailed, QueryTimedOut, SourceUnavailable: as `batches`.
        """
        while True:
            try:
                return consume(self.batches())
            except SchemaChanged:
                continue  # the columns are wider now; they cannot widen for ever


def file_of(url: URL) -> Path:
    """The file that an address of a file names. Raises `Misconfigured` if it names none."""
    if not url.database or url.database == ":memory:" or "file:" in url.database:
        kind = url.get_backend_name()
        raise Misconfigured(f"A {kind} source needs the path of a file: {kind}:///path/to/file.")
    return Path(url.database)


class Engine(ABC):
    """One source, open. Safe for threads; lives until `close`."""

    dialect: ClassVar[str]  # sqlglot's name; a generic engine sets its own

    @abstractmethod
    def statement(
        self, sql: str, *, timeout_seconds: float, time_zone: str = "UTC"
    ) -> AbstractContextManager[Statement]:
        """A statement, not started. Leaving the context stops it and frees its connection."""

    @abstractmethod
    def introspect(self) -> list[Table]:
        """Tables and views a query may name, with columns, keys, comments and row counts.

        Raises:
            SourceUnavailable: the source does not answer.
            QueryFailed: it answers with an error.
        """

    @abstractmethod
    def close(self) -> None:
        """Close every connection. Statements that still run fail."""

    def explain(self, sql: str, *, timeout_seconds: float) -> list[str]:
        """How the engine would run a statement, line by line; empty if it does not say.

        The statement is not run.

        Raises:
            QueryFailed, SourceUnavailable: as `Statement.batches`.
        """
        return []

    def ping(self) -> None:
        """Return if the source answers.

        Raises:
            SourceUnavailable: it does not.
        """
        self.rows("SELECT 1", timeout_seconds=10)

    def rows(self, sql: str, *, timeout_seconds: float) -> list[tuple[Any, ...]]:
        """All rows of a small result of our own asking."""
        return [tuple(row.values()) for row in self.records(sql, timeout_seconds=timeout_seconds)]

    def records(self, sql: str, *, timeout_seconds: float) -> list[dict[str, Any]]:
        """As `rows`, each with the names of its columns."""
        with self.statement(sql, timeout_seconds=timeout_seconds) as statement:
            found = statement.read(lambda batches: pa.Table.from_batches(list(batches)))
        return found.to_pylist()

    def sample(self, table: Table, columns: Sequence[str], limit: int) -> Samples:
        """Distinct values of those of the columns that hold words, the most frequent first.

        Takes bounded time: of a table too large to look through, the first rows are looked at and
        the values count as truncated. Columns of other kinds, and those that could not be read, are
        left out. NULL and very long values are not shown.

        Raises:
            SourceUnavailable: the source does not answer.
        """
        deadline = time.monotonic() + _SAMPLE_TABLE_SECONDS
        wanted = set(columns)
        found: Samples = {}
        for column in table.columns:
            if time.monotonic() > deadline:
                break
            if column.name in wanted and _TEXT_LIKE.search(column.type):
                self._sample_into(found, table, column, limit)
        return found

    def _sample_into(self, found: Samples, table: Table, column: Column, limit: int) -> None:
        name = self.quoted(column.name)
        whole = self.quoted_table(table)
        # quoted names
        part = f"(SELECT {name} FROM {whole} LIMIT {_FIRST_ROWS}) AS first_rows"  # noqa: S608
        for origin, is_part in ((whole, False), (part, True)):
            text = f"CAST({name} AS {dialect_of(self.dialect).text_type})"
            sql = (
                f"SELECT {text} AS v, COUNT(*) AS n FROM {origin} "  # noqa: S608 quoted names
                f"WHERE {name} IS NOT NULL "
                f"GROUP BY {text} ORDER BY n DESC, v LIMIT {limit + 1}"
            )
            try:
                values = [row[0] for row in self.rows(sql, timeout_seconds=_SAMPLE_SECONDS)]
            except QueryFailed as error:
                logger.info("no values of %s.%s: %s", table.key, column.name, error.code)
                continue
            shown = tuple(v for v in values[:limit] if len(v) <= _MAX_SAMPLE_CHARS)
            found[column.name] = (shown, is_part or len(shown) < len(values))
            return

    def with_row_counts(self, tables: Sequence[Table]) -> list[Table]:
        """The tables with exact row counts, where they can be counted in bounded time."""
        deadline = time.monotonic() + _COUNT_ALL_SECONDS
        return [self._with_row_count(table, deadline - time.monotonic()) for table in tables]

    def _with_row_count(self, table: Table, seconds_left: float) -> Table:
        if table.is_view or seconds_left <= 0:
            return table
        sql = f"SELECT COUNT(*) AS n FROM {self.quoted_table(table)}"  # noqa: S608  # quoted names
        try:
            rows = self.rows(sql, timeout_seconds=min(seconds_left, _COUNT_SECONDS))
        except QueryFailed as error:
            logger.info("table %s is not counted: %s", table.key, error.code)
            return table
        return replace(table, row_count=int(rows[0][0]))

    def quoted(self, name: str) -> str:
        """A name as the dialect quotes it."""
        return dialect_of(self.dialect).quoted(name)

    def quoted_table(self, table: Table) -> str:
        """A table's name, with its schema where it has one."""
        parts = [table.schema, table.name] if table.schema else [table.name]
        return ".".join(self.quoted(part) for part in parts)
