"""Results that were kept, as they go over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from dataagent_core.data.results import ResultPage as RowsPage
from dataagent_core.data.types import Artifact, Receipt, ResultColumn, TruncatedBy
from dataagent_server.models.fields import ResponseModel, SafeText, UtcTime

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
        description="Columns to sort by, the first counts most; `-name` from the greatest. "
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
        """Whether a page of rows is asked for."""
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
    """What a result rests on."""

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
    """An artefact with what it rests on; `page` if rows were asked for; `spec` of a chart.

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
        """An artefact with what was asked of it."""
        return cls(
            **dict(ArtifactInfo.of(artifact)),
            columns=[ResultColumnInfo.of(column) for column in artifact.columns],
            receipt=None if artifact.receipt is None else ReceiptInfo.of(artifact.receipt),
            page=None if page is None else RowsInfo.of(page),
            spec=spec,
        )
