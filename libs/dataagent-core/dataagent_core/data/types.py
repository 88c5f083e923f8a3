"""The types that every part of `data/` shares: readers, catalogues, limits, artefacts.

Plain values: no SQL, no driver, no LangChain. A query goes guard → names → policy → engine →
artefact (`service.py`); each step takes and returns these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

SourceKind = Literal["database", "files"]
ExportFormat = Literal["csv", "xlsx", "parquet", "json"]
TruncatedBy = Literal["rows", "bytes", "time", "values"]
"""Which limit ended the reading; `values`: the source itself cut a value, and says so."""
QueryOutcome = Literal["success", "error", "denied", "timeout", "cancelled"]


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom a statement runs. `attributes` are what row filters may name as `:user.NAME`."""

    user_id: str
    role: str = "user"
    tenant_id: str | None = None
    agent_id: str | None = None
    attributes: Mapping[str, Any] = field(
        default_factory=dict[str, Any]
    )  # str, int, float, bool or lists of them

    @property
    def is_admin(self) -> bool:
        """Whether the reader administers data sources. Policies bind administrators too."""
        return self.role == "admin"


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the source describes it."""

    name: str
    type: str  # as the source names it: VARCHAR(40), numeric(10,2), TIMESTAMP WITH TIME ZONE
    is_nullable: bool = True
    comment: str | None = None
    samples: tuple[str, ...] = ()
    are_samples_truncated: bool = False  # there are more distinct values than `samples` shows


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of this table point at `target_columns` of `target_table` (a `Table.key`)."""

    columns: tuple[str, ...]
    target_table: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. `schema` is None in the source's default schema."""

    name: str
    columns: tuple[Column, ...]
    schema: str | None = None
    is_view: bool = False
    comment: str | None = None
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    row_count: int | None = None  # None: not known

    @property
    def key(self) -> str:
        """`name`, or `schema.name` outside the default schema: how a query may write it."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a source holds, at one moment. `hash` changes when tables or columns do."""

    source_id: str
    dialect: str  # sqlglot's name: sqlite, postgres, mysql, duckdb, …
    tables: tuple[Table, ...]
    hash: str
    refreshed_at: datetime


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """When a read stops. They stop the reading, never change the statement."""

    max_rows: int = 1_000_000
    max_bytes: int = 512 * 1024 * 1024  # of Arrow data
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class SourceWarnings:
    """What a source warned of while it ran a statement."""

    sentences: tuple[str, ...] = ()
    has_cut: bool = False  # a value or the rows are not whole


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result. `name` is unique in it; `label` is what the engine called it."""

    name: str
    label: str
    type: str  # Arrow's name: int64, decimal128(10, 2), timestamp[us, tz=UTC], string, …


@dataclass(frozen=True, slots=True)
class Receipt:
    """The provenance of a result: shown with every answer, stored with the artefact."""

    source_id: str
    source_name: str
    dialect: str
    sql: str  # as requested
    sql_executed: str  # as it ran, but for what a policy put in; `policy` says what that was
    row_count: int  # rows stored, exact
    is_truncated: bool
    truncated_by: TruncatedBy | None
    duration_ms: float
    policy: tuple[str, ...]  # one sentence each rule that applied
    time_zone: str
    executed_at: datetime
    warnings: tuple[str, ...] = ()  # what the source warned of, one sentence each


@dataclass(frozen=True, slots=True)
class Artifact:
    """A stored result: a Parquet file of its owner, or a chart or file made from one."""

    artifact_id: str
    user_id: str
    session_id: str | None
    run_id: str | None
    kind: Literal["table", "chart", "file"]
    title: str
    byte_size: int
    created_at: datetime
    expires_at: datetime | None
    columns: tuple[ResultColumn, ...] = ()
    row_count: int = 0
    receipt: Receipt | None = None
    spec: dict[str, Any] | None = None  # a chart's Vega-Lite, without data
    parent_id: str | None = None  # the table a chart draws
