"""Request and response models of catalogues, statements and their stored results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from dataagent_core.data.catalogue import CatalogueState, Hit
from dataagent_core.data.planner import QueryPlan
from dataagent_core.data.results import ColumnStatistics
from dataagent_core.data.results import ResultPage as RowsPage
from dataagent_core.data.service import ExecutedQuery
from dataagent_core.data.types import Artifact, Receipt, ResultColumn, Table, TruncatedBy
from dataagent_server.models.fields import RequestModel, ResponseModel, SafeText, UtcTime

ArtifactFormat = Literal["csv", "xlsx", "parquet", "json", "png", "svg"]
ArtifactKind = Literal["table", "chart", "file"]


class ArtifactQuery(BaseModel):
    """How to see an artefact: as JSON, with a page of its rows, or as a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: ArtifactFormat | None = Field(
        default=None,
        description="A file: csv, xlsx, parquet or json of a table; png or svg of a chart.",
    )
    bom: bool = Field(default=False, description="Begin CSV with a byte-order mark, for Excel.")
    limit: int | None = Field(
        default=None, ge=1, le=1000, description="How many rows; a file without it has all."
    )
    offset: int | None = Field(default=None, ge=0, lt=2**53, description="How many rows to skip.")
    sort: list[Annotated[SafeText, Field(max_length=500)]] = Field(
        default_factory=list[str],
        max_length=20,
        description="Columns to sort by, in order; `-name` sorts descending. "
        "For a page, not for a file.",
    )

    @model_validator(mode="after")
    def _refuse_a_sorted_file(self) -> Self:
        if self.format is not None and self.sort:
            raise PydanticCustomError(
                "artifact", "A file has the result's own order: leave out sort"
            )
        return self

    @property
    def is_for_rows(self) -> bool:
        """Whether a page of rows was requested."""
        return self.limit is not None or self.offset is not None or bool(self.sort)


class ResultColumnInfo(ResponseModel):
    """A column of a result. `name` is unique in it; `label` is what the engine called it."""

    name: str
    label: str
    type: str

    @classmethod
    def of(cls, column: ResultColumn) -> Self:
        """The public form of a column."""
        return cls.model_validate(column, from_attributes=True)


class ReceiptInfo(ResponseModel):
    """A result's provenance."""

    source_id: str
    source_name: str
    dialect: str
    sql: str
    sql_executed: str
    row_count: int
    truncated: bool
    truncated_by: TruncatedBy | None
    duration_ms: float
    policy: list[str]
    warnings: list[str]
    time_zone: str
    executed_at: UtcTime

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        """The public form of a receipt."""
        return cls(
            source_id=receipt.source_id,
            source_name=receipt.source_name,
            dialect=receipt.dialect,
            sql=receipt.sql,
            sql_executed=receipt.sql_executed,
            row_count=receipt.row_count,
            truncated=receipt.is_truncated,
            truncated_by=receipt.truncated_by,
            duration_ms=receipt.duration_ms,
            policy=list(receipt.policy),
            warnings=list(receipt.warnings),
            time_zone=receipt.time_zone,
            executed_at=receipt.executed_at,
        )


class ArtifactInfo(ResponseModel):
    """A result, or a chart made from one."""

    artifact_id: str
    kind: ArtifactKind
    title: str
    row_count: int
    byte_size: int
    session_id: str | None
    run_id: str | None
    parent_id: str | None
    created_at: UtcTime
    expires_at: UtcTime | None

    @classmethod
    def of(cls, artifact: Artifact) -> ArtifactInfo:
        """The public form of an artefact."""
        return ArtifactInfo.model_validate(artifact, from_attributes=True)


class RowsInfo(ResponseModel):
    """Some rows, cells in the order of `columns`. Integers beyond 2^53 are text."""

    columns: list[str]
    rows: list[list[Any]]
    total: int
    offset: int
    next_offset: int | None

    @classmethod
    def of(cls, page: RowsPage) -> Self:
        """The public form of a page."""
        return cls.model_validate(page, from_attributes=True)


class ArtifactDetail(ArtifactInfo):
    """An artefact with its provenance; `page` if rows were requested; `spec` of a chart.

    `spec` is Vega-Lite with its values in it, as vega-embed takes it.
    """

    columns: list[ResultColumnInfo]
    receipt: ReceiptInfo | None
    page: RowsInfo | None = None
    spec: dict[str, Any] | None = None

    @classmethod
    def showing(
        cls,
        artifact: Artifact,
        *,
        page: RowsPage | None = None,
        spec: dict[str, Any] | None = None,
    ) -> Self:
        """An artefact with the requested parts."""
        return cls(
            **dict(ArtifactInfo.of(artifact)),
            columns=[ResultColumnInfo.of(column) for column in artifact.columns],
            receipt=None if artifact.receipt is None else ReceiptInfo.of(artifact.receipt),
            page=None if page is None else RowsInfo.of(page),
            spec=spec,
        )


Figure = bool | int | float | str | None
Sql = Annotated[SafeText, StringConstraints(min_length=1)]
_MAX_SAFE_INTEGER = 2**53 - 1


class ColumnInfo(ResponseModel):
    """A column as the source describes it."""

    name: str
    type: str
    is_nullable: bool
    comment: str | None
    samples: list[str]
    are_samples_truncated: bool


class ForeignKeyInfo(ResponseModel):
    """`columns` of this table point at `target_columns` of `target_table`."""

    columns: list[str]
    target_table: str
    target_columns: list[str]


class TableInfo(ResponseModel):
    """A table or view. A query names it by its `key`."""

    key: str
    name: str
    schema_name: str | None = Field(alias="schema")
    is_view: bool
    comment: str | None
    row_count: int | None
    primary_key: list[str]
    foreign_keys: list[ForeignKeyInfo]
    columns: list[ColumnInfo]


class TableName(ResponseModel):
    """A table or view, without its columns."""

    key: str
    comment: str | None
    row_count: int | None


class HitInfo(ResponseModel):
    """A search hit: a table, its matching columns, best first, and the reason."""

    table_key: str
    columns: list[str]
    score: float
    why: str


class CatalogueSummary(ResponseModel):
    """When a catalogue was read, what changed last, and why it could not be read."""

    source_id: str
    dialect: str
    hash: str
    refreshed_at: UtcTime
    table_count: int
    drift: list[str]
    drifted_at: UtcTime | None
    left_out: list[str]
    problem: str | None

    @classmethod
    def of(cls, state: CatalogueState) -> CatalogueSummary:
        """The public form of a catalogue's state."""
        catalogue = state.catalogue
        return CatalogueSummary(
            source_id=catalogue.source_id,
            dialect=catalogue.dialect,
            hash=catalogue.hash,
            refreshed_at=catalogue.refreshed_at,
            table_count=len(catalogue.tables),
            drift=list(state.drift),
            drifted_at=state.drifted_at,
            left_out=list(state.left_out),
            problem=state.problem,
        )


class CatalogueInfo(CatalogueSummary):
    """A source's catalogue as the caller may read it; `tables` has those requested."""

    tables: list[TableInfo]
    hits: list[HitInfo] | None = None

    @classmethod
    def showing(
        cls, state: CatalogueState, tables: Sequence[Table], hits: Sequence[Hit] | None
    ) -> Self:
        """Some tables of a catalogue."""
        return cls(
            **dict(CatalogueSummary.of(state)),
            tables=[TableInfo.model_validate(each, from_attributes=True) for each in tables],
            hits=None
            if hits is None
            else [HitInfo.model_validate(each, from_attributes=True) for each in hits],
        )


class CheckRequest(RequestModel):
    """A statement to check."""

    sql: Sql


class QueryRequest(CheckRequest):
    """A statement to run. `limit` stops the reading; it does not change the statement."""

    limit: Annotated[int, Field(ge=1, le=2**53)] | None = None
    title: Annotated[SafeText, StringConstraints(min_length=1, max_length=200)] | None = None


class CheckResponse(ResponseModel):
    """A statement that may run, as it would run, and the rules that apply."""

    ok: Literal[True] = True
    sql_executed: str
    policy: list[str]

    @classmethod
    def of(cls, plan: QueryPlan) -> Self:
        """The verdict on a statement that passed every check."""
        return cls(sql_executed=plan.sql_executed, policy=list(plan.policy))


class StatisticsInfo(ResponseModel):
    """A column's statistics over all rows. Null: not applicable, or no value.

    Decimals, and integers beyond 2^53, are text.
    """

    name: str
    nulls: int
    min: Figure
    max: Figure
    distinct: int | Literal["many"] | None
    sum: Figure
    mean: float | str | None

    @classmethod
    def of(cls, name: str, known: ColumnStatistics) -> Self:
        """The public form of a column's statistics."""
        return cls(
            name=name,
            nulls=known.nulls,
            min=_figure(known.minimum),
            max=_figure(known.maximum),
            distinct=known.distinct,
            sum=_figure(known.total),
            mean=_figure(None if known.mean is None else float(known.mean)),
        )


class QueryResponse(ResponseModel):
    """A statement's result: where it is stored, its shape, first rows and provenance."""

    artifact: ArtifactInfo
    columns: list[ResultColumnInfo]
    row_count: int
    truncated: bool
    truncated_by: TruncatedBy | None
    preview: list[list[Any]]
    statistics: list[StatisticsInfo]
    sql_executed: str
    policy: list[str]
    warnings: list[str]
    duration_ms: float
    time_zone: str

    @classmethod
    def of(cls, answered: ExecutedQuery) -> Self:
        """The public form of an answered statement."""
        kept, receipt = answered.result, answered.receipt
        known = zip(kept.columns, kept.statistics, strict=True)
        return cls(
            artifact=ArtifactInfo.of(answered.artifact),
            columns=[ResultColumnInfo.of(column) for column in kept.columns],
            row_count=kept.row_count,
            truncated=kept.is_truncated,
            truncated_by=kept.truncated_by,
            preview=[[_figure(cell) for cell in row] for row in kept.preview_rows],
            statistics=[StatisticsInfo.of(column.name, figures) for column, figures in known],
            sql_executed=receipt.sql_executed,
            policy=list(receipt.policy),
            warnings=list(receipt.warnings),
            duration_ms=receipt.duration_ms,
            time_zone=receipt.time_zone,
        )


def _figure(value: Any) -> Any:
    """A value whose digits a browser's numbers cannot hold, as text; any other as it is."""
    match value:
        case bool():
            return value
        case int():
            return value if abs(value) <= _MAX_SAFE_INTEGER else str(value)
        case Decimal():
            return f"{value:f}"
        case float() if not math.isfinite(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case str():
            return str(value)
        case _:
            return value
