"""The tools `list_sources`, `describe_table` and `run_sql`: governed data without a model.

They use the same guard and policies as every other query (`DataService`), for the key's user. A
statement whose request is cancelled is stopped in the engine.
"""

from __future__ import annotations

from typing import Any

import mcp_types as wire
import orjson

from dataagent_core.data.catalogue import find_table
from dataagent_core.data.results import ResultPage
from dataagent_core.data.service import DataService, ExecutedQuery, QueryContext
from dataagent_core.data.sources import Source
from dataagent_core.data.types import Reader
from dataagent_core.errors import DataAgentError
from dataagent_server.deps.artifacts import page_of
from dataagent_server.mcp.toolbox import MOST_RESULT_BYTES, ToolCallContext, ToolOutput, schema_of
from dataagent_server.models.mcp_tools import (
    NoArguments,
    SourceList,
    SourceSummary,
    SqlArguments,
    SqlResult,
    TableArguments,
    TableDescription,
    TableSummary,
)
from dataagent_server.models.queries import ArtifactQuery, ResultColumnInfo, TableInfo

_READS = wire.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_MOST_TABLES = 500
_MOST_ROW_BYTES = MOST_RESULT_BYTES // 2


class ListSources:
    """The tool `list_sources`."""

    definition = wire.Tool(
        name="list_sources",
        title="List data sources",
        description="The data sources you may read, with their tables. Start here.",
        input_schema=schema_of(NoArguments),
        output_schema=schema_of(SourceList, of_output=True),
        annotations=_READS,
    )

    async def run(self, tool_call: ToolCallContext, arguments: dict[str, Any]) -> ToolOutput:
        """Each source with its tables, up to a limit."""
        NoArguments.model_validate(arguments)
        data, reader = await _data_of(tool_call)
        found = await data.sources.list_for(reader)
        result = SourceList(sources=[await _summary(data, each, reader) for each in found])
        return ToolOutput(_json(result), result)


class DescribeTable:
    """The tool `describe_table`."""

    definition = wire.Tool(
        name="describe_table",
        title="Describe a table",
        description="A table's columns, types, keys, comments and sample values.",
        input_schema=schema_of(TableArguments),
        output_schema=schema_of(TableDescription, of_output=True),
        annotations=_READS,
    )

    async def run(self, tool_call: ToolCallContext, arguments: dict[str, Any]) -> ToolOutput:
        """The table as the caller may see it."""
        wanted = TableArguments.model_validate(arguments)
        data, reader = await _data_of(tool_call)
        source = await data.source(reader, wanted.source)
        catalogue = await data.catalogue(source, reader)
        table = find_table(catalogue, wanted.table)
        described = TableDescription(
            source=source.name,
            dialect=catalogue.dialect,
            time_zone=source.time_zone,
            table=TableInfo.model_validate(table, from_attributes=True),
        )
        return ToolOutput(_json(described), described)


class RunSql:
    """The tool `run_sql`."""

    definition = wire.Tool(
        name="run_sql",
        title="Run SQL",
        description=(
            "Run one read-only SELECT. Row filters, masks and grants of the administrators apply. "
            "Returns the exact row count and the first rows; the whole result is stored at `url` "
            "(add ?format=csv, xlsx, parquet or json)."
        ),
        input_schema=schema_of(SqlArguments),
        output_schema=schema_of(SqlResult, of_output=True),
        annotations=_READS,
    )

    async def run(self, tool_call: ToolCallContext, arguments: dict[str, Any]) -> ToolOutput:
        """Run the statement, store its result, and return its first rows."""
        asked = SqlArguments.model_validate(arguments)
        data, reader = await _data_of(tool_call)
        source = await data.source(reader, asked.source)
        await tool_call.container.rate.take(tool_call.caller.user_id)
        answered = await data.query(source, asked.sql, QueryContext(reader))
        query = ArtifactQuery(limit=asked.max_rows)
        page = await page_of(answered.artifact, data.artifacts, query)
        found = _sql_result(tool_call, source, answered, page)
        link = wire.ResourceLink(
            name=found.artifact_id, title=answered.artifact.title, uri=found.url
        )
        return ToolOutput(_json(found), found, (link,))


async def _data_of(tool_call: ToolCallContext) -> tuple[DataService, Reader]:
    caller, data = tool_call.caller, tool_call.container.core.data.service
    return data, await data.reader(caller.user_id, role=caller.role, tenant_id=caller.tenant_id)


async def _summary(data: DataService, source: Source, reader: Reader) -> SourceSummary:
    """A source with its tables, or with the problem if it does not answer."""
    summary = SourceSummary(
        source_id=source.source_id,
        name=source.name,
        description=source.description,
        dialect=source.dialect,
        time_zone=source.time_zone,
        tables=[],
    )
    try:
        tables = (await data.catalogue(source, reader)).tables
    except DataAgentError as error:
        return summary.model_copy(update={"problem": error.message})
    shown = [
        TableSummary.model_validate(table, from_attributes=True) for table in tables[:_MOST_TABLES]
    ]
    return summary.model_copy(update={"tables": shown, "omitted_tables": len(tables) - len(shown)})


def _sql_result(
    tool_call: ToolCallContext, source: Source, answered: ExecutedQuery, page: ResultPage
) -> SqlResult:
    receipt, artifact = answered.receipt, answered.artifact
    rows = _rows_that_fit(page.rows)
    return SqlResult(
        source=source.name,
        columns=[ResultColumnInfo.of(column) for column in answered.result.columns],
        row_count=receipt.row_count,
        truncated=receipt.is_truncated,
        truncated_by=receipt.truncated_by,
        rows=rows,
        omitted_rows=receipt.row_count - len(rows),
        artifact_id=artifact.artifact_id,
        url=tool_call.address(f"/api/v1/artifacts/{artifact.artifact_id}"),
        sql_executed=receipt.sql_executed,
        policy=list(receipt.policy),
        warnings=list(receipt.warnings),
        duration_ms=receipt.duration_ms,
        time_zone=receipt.time_zone,
    )


def _rows_that_fit(rows: list[list[Any]]) -> list[list[Any]]:
    """As many whole rows as fit: a value is never cut."""
    used = 0
    for number, row in enumerate(rows):
        used += len(orjson.dumps(row, default=str)) + 1
        if used > _MOST_ROW_BYTES:
            return rows[:number]
    return rows


def _json(found: SourceList | TableDescription | SqlResult) -> str:
    return found.model_dump_json(by_alias=True)
