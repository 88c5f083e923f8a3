"""Arguments and results of the tools of `/mcp`; their JSON schemas come from these models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from dataagent_core.data.types import TruncatedBy
from dataagent_core.runs.types import RunStatus
from dataagent_server.models.fields import Id, MessageText, Name, RequestModel, ResponseModel
from dataagent_server.models.queries import ArtifactKind, ResultColumnInfo, Sql, TableInfo

MOST_ROWS = 1_000
SourceName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=128),
    Field(description="A data source's name or id; leave out for the default one."),
]
TableName = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class AskArguments(RequestModel):
    """A question in plain words."""

    question: MessageText = Field(description="A question or a task, in plain words")
    session_id: Id | None = Field(
        default=None, description="Of an earlier answer, to continue that conversation"
    )
    agent: Name | None = Field(default=None, description="The agent; by default the best match")


class ArtifactLink(ResponseModel):
    """A table, chart or file of the answer, with its URL."""

    artifact_id: str
    kind: ArtifactKind
    title: str
    url: str


class WaitingCall(ResponseModel):
    """A call that waits for approval."""

    request_id: str
    tool: str
    description: str


class AskAnswer(ResponseModel):
    """The answer to a question. `figures` says which of its numbers the results support."""

    answer: str
    status: RunStatus
    session_id: str
    run_id: str
    figures: dict[str, Any] | None = None
    artifacts: list[ArtifactLink] = Field(default_factory=list[ArtifactLink])
    waiting_for: list[WaitingCall] = Field(default_factory=list[WaitingCall])
    truncated: bool = False


class NoArguments(RequestModel):
    """No arguments."""


class TableSummary(ResponseModel):
    """A table in a list."""

    key: str
    comment: str | None
    row_count: int | None


class SourceSummary(ResponseModel):
    """A data source the caller may read, with its tables. `problem`: why they could not be read."""

    source_id: str
    name: str
    description: str
    dialect: str | None
    time_zone: str
    tables: list[TableSummary]
    omitted_tables: int = 0
    problem: str | None = None


class SourceList(ResponseModel):
    """The data sources the caller may read."""

    sources: list[SourceSummary]


class TableArguments(RequestModel):
    """A table."""

    table: TableName = Field(description="The table's key, as `list_sources` gives it")
    source: SourceName | None = None


class TableDescription(ResponseModel):
    """A table with its columns, keys and sample values, as the caller may read it."""

    source: str
    dialect: str
    time_zone: str
    table: TableInfo


class SqlArguments(RequestModel):
    """A statement."""

    sql: Sql = Field(description="One SELECT statement in the source's dialect")
    source: SourceName | None = None
    max_rows: Annotated[int, Field(ge=1, le=MOST_ROWS)] = Field(
        default=100, description="How many rows to return; the whole result is stored"
    )


class SqlResult(ResponseModel):
    """A statement's result: `row_count` rows, stored at `url`; the first are in `rows`.

    `truncated_by` is why reading stopped early, if it did, or `values` where the source cut one;
    `warnings` are the source's. Integers beyond 2^53 and decimals are text.
    """

    source: str
    columns: list[ResultColumnInfo]
    row_count: int
    truncated: bool
    truncated_by: TruncatedBy | None
    rows: list[list[Any]]
    omitted_rows: int
    artifact_id: str
    url: str
    sql_executed: str
    policy: list[str]
    warnings: list[str]
    duration_ms: float
    time_zone: str
