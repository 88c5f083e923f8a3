"""The tools of the SQL agent.

Names and arguments of the first four are those of LangChain's `SQLDatabaseToolkit`, with `source`
and `title` added. A result is JSON text of at most 4 kB; an error is JSON too, with a code, what to
do instead, and status `denied` when a rule forbade it. Errors are values for the model, so nothing
is raised.
"""

from __future__ import annotations

import csv
import logging
import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, cast

import orjson
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId
from langchain_core.tools.base import ArgsSchema
from langgraph.config import get_stream_writer
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from dataagent_core.data.catalogue import CatalogueState, find_table, search
from dataagent_core.data.chart_service import ChartService
from dataagent_core.data.results import ArtifactDraft, preview
from dataagent_core.data.service import DataService, ExecutedQuery, QueryContext
from dataagent_core.data.types import Artifact, QueryLimits, Reader, Receipt, Table
from dataagent_core.errors import (
    BudgetExhausted,
    DataAgentError,
    Denied,
    Misconfigured,
    QueryFailed,
    QueryTimedOut,
    ToolFailed,
    UnknownName,
)
from dataagent_core.identity import RunContext
from dataagent_core.tools.context import ToolContext
from dataagent_core.workspace import run_context

logger = logging.getLogger(__name__)
MAX_RESULT_BYTES = 4_000
_MAX_RUNS = 1_000


class DataArguments(BaseModel):
    """Arguments that every data tool takes."""

    tool_call_id: Annotated[str, InjectedToolCallId] = ""
    source: str | None = Field(
        default=None,
        description="The data source's name; leave out for the usual one. In a user's message "
        "`@name` names a source and `@name.table` a table of it.",
    )


class DataTool(BaseTool):
    """A tool over the data service; subclasses implement `work`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    service: DataService = Field(exclude=True)

    @abstractmethod
    async def work(self, request: QueryContext, **arguments: Any) -> dict[str, Any]:
        """Do the tool's work for the reader of the request."""

    async def _arun(self, tool_call_id: str = "", **arguments: Any) -> ToolMessage:
        context = run_context()
        try:
            request = await self._request_for(context)
            result = await self.work(request, **arguments)
        except DataAgentError as error:
            logger.info("%s: %s", self.name, error.code)
            return _error_message(self.name, tool_call_id, error)
        return ToolMessage(json_text(result), tool_call_id=tool_call_id, name=self.name)

    def _run(self, **_arguments: Any) -> str:
        raise Misconfigured(f"{self.name} is asynchronous; call it with ainvoke.")

    async def _request_for(self, context: RunContext) -> QueryContext:
        reader = await self.service.reader(
            context.user_id,
            role=context.role,
            tenant_id=context.tenant_id,
            agent_id=context.assistant_id,
        )
        return QueryContext(reader, context.session_id, context.run_id)

    async def source_of(self, reader: Reader, name: str | None) -> Any:
        """The source of that name, or the usual one."""
        return await self.service.source(reader, name)


@contextmanager
def within_budget(limits: QueryLimits) -> Generator[QueryLimits]:
    """Count a statement's time on the run's budget; the limits keep it within what is left.

    Raises:
        BudgetExhausted: nothing is left.
    """
    budget = run_context().budget
    if budget is None:
        yield limits
        return
    if not budget.may_query():
        raise BudgetExhausted("The budget is used up; the statement was not run.")
    left = budget.left("sql_seconds")
    most = limits.timeout_seconds if left is None else min(left, limits.timeout_seconds)
    started = time.perf_counter()
    try:
        yield replace(limits, timeout_seconds=most)
    finally:
        budget.add_sql(time.perf_counter() - started)


class ChartingTool(DataTool):
    """A data tool that draws charts."""

    charts: ChartService = Field(exclude=True)


class RepairCounter:
    """How often each run's statements have failed in a row; the fourth is not tried."""

    MOST = 3

    def __init__(self) -> None:
        self._failures: OrderedDict[str, int] = OrderedDict()

    def is_exhausted(self, run_id: str | None) -> bool:
        """Whether no further statement may be tried."""
        return self._failures.get(run_id or "", 0) > self.MOST

    def record_failure(self, run_id: str | None) -> None:
        """One more failure."""
        self._failures[run_id or ""] = self._failures.get(run_id or "", 0) + 1
        while len(self._failures) > _MAX_RUNS:
            self._failures.popitem(last=False)

    def record_success(self, run_id: str | None) -> None:
        """The row of failures is over."""
        self._failures.pop(run_id or "", None)


def json_text(found: dict[str, Any]) -> str:
    """The JSON the model reads."""
    return orjson.dumps(found, default=str).decode()


def emit_artifact(artifact: Artifact, preview: dict[str, Any]) -> None:
    """Tell the run's readers of a new artefact."""
    get_stream_writer()(
        {
            "artifact": {
                "artifact_id": artifact.artifact_id,
                "kind": artifact.kind,
                "title": artifact.title,
                "url": f"/api/v1/artifacts/{artifact.artifact_id}",
                "preview": preview,
            }
        }
    )


def _error_message(name: str, tool_call_id: str, error: DataAgentError) -> ToolMessage:
    status = "denied" if isinstance(error, Denied) else "error"
    if isinstance(error, QueryTimedOut):
        status = "timeout"
    explained = {"code": error.code, "message": error.message[:2_000], **(error.details or {})}
    return ToolMessage(
        json_text({"error": explained})[:MAX_RESULT_BYTES],
        tool_call_id=tool_call_id,
        name=name,
        status="error",
        additional_kwargs={"status": status},
    )


_MAX_SCHEMA_BYTES = 24_000
_SAMPLES = 5
_MAX_SQL = 600
_MAX_RULE = 120
_RULES = 5


def tools(context: ToolContext) -> list[BaseTool]:
    """The tools of this module: what an agent can do with data."""
    service, charts = context.data, context.charts
    if service is None or charts is None:
        return []
    return [
        ListTables(service=service),
        DescribeTables(service=service),
        SearchCatalogue(service=service),
        RunQuery(service=service),
        CheckQuery(service=service),
        QueryArtifact(service=service),
        MakeChart(service=service, charts=charts),
    ]


class ListArguments(DataArguments):
    """Nothing but the source."""

    tool_input: str = Field(default="", description="An empty string.")


class ListTables(DataTool):
    """`sql_db_list_tables`."""

    name: str = "sql_db_list_tables"
    description: str = "List the tables of a data source, with their meaning and row counts."
    args_schema: ArgsSchema | None = ListArguments

    async def work(  # type: ignore[override] its own arguments
        self, request: QueryContext, tool_input: str = "", source: str | None = None
    ) -> dict[str, Any]:
        """The tables, as many as fit."""
        del tool_input  # the toolkit's tool has it and reads it no more than we do
        chosen = await self.source_of(request.reader, source)
        state = await self.service.catalogue_state(chosen, request.reader)
        catalogue = state.catalogue
        others = [one.name for one in await self.service.sources.list_for(request.reader)]
        found: dict[str, Any] = {
            "source": chosen.name,
            "dialect": catalogue.dialect,
            "tables": [],
            "other_sources": [name for name in others if name != chosen.name],
            **_left_out(state),
        }
        return _fit(found, [_short(table) for table in catalogue.tables], _MAX_SCHEMA_BYTES)


TableNames = Annotated[str | list[str], WithJsonSchema({"type": "string"})]
"""Names in one text, as the toolkit has them; many a model sends a list instead."""


class SchemaArguments(DataArguments):
    """Arguments of `sql_db_schema`."""

    table_names: TableNames = Field(
        default="",
        description="A comma-separated list of table names; empty for all that fit. "
        "Example: table1, table2",
    )


class DescribeTables(DataTool):
    """`sql_db_schema`."""

    name: str = "sql_db_schema"
    description: str = "Columns, types, keys, comments and sample values of tables."
    args_schema: ArgsSchema | None = SchemaArguments

    async def work(  # type: ignore[override] its own arguments
        self, request: QueryContext, table_names: str | list[str] = "", source: str | None = None
    ) -> dict[str, Any]:
        """The requested tables, or as many as fit."""
        chosen = await self.source_of(request.reader, source)
        state = await self.service.catalogue_state(chosen, request.reader)
        catalogue = state.catalogue
        names = _names(table_names)
        wanted = [find_table(catalogue, name) for name in names] or catalogue.tables
        found: dict[str, Any] = {
            "source": chosen.name,
            "dialect": catalogue.dialect,
            "time_zone": chosen.time_zone,
            "tables": [],
            **_left_out(state),
        }
        return _fit(found, [_describe(table) for table in wanted], _MAX_SCHEMA_BYTES)


class SearchArguments(DataArguments):
    """Arguments of `search_catalogue`."""

    query: str = Field(description="Words of the question: names, meanings or values.")


class SearchCatalogue(DataTool):
    """`search_catalogue`."""

    name: str = "search_catalogue"
    description: str = "Find tables and columns by name, meaning or value. Chinese works."
    args_schema: ArgsSchema | None = SearchArguments

    async def work(  # type: ignore[override] its own arguments
        self, request: QueryContext, query: str, source: str | None = None
    ) -> dict[str, Any]:
        """The tables that fit best."""
        chosen = await self.source_of(request.reader, source)
        catalogue = await self.service.catalogue(chosen, request.reader)
        hits = [
            {"table": hit.table_key, "columns": list(hit.columns), "why": hit.why}
            for hit in search(catalogue, query)
        ]
        return _fit({"source": chosen.name, "hits": []}, hits, MAX_RESULT_BYTES, key="hits")


class QueryArguments(DataArguments):
    """A statement."""

    query: str = Field(description="One SELECT statement in the source's dialect.")
    title: str | None = Field(default=None, description="What the result shows, in a few words.")


class RunQuery(DataTool):
    """`sql_db_query`."""

    name: str = "sql_db_query"
    description: str = (
        "Run one read-only SELECT. Returns the exact row count, column statistics and the first "
        "rows; the whole result is kept under its artifact_id. Never repeat a statement that ran."
    )
    args_schema: ArgsSchema | None = QueryArguments
    repairs: RepairCounter = Field(default_factory=RepairCounter, exclude=True)

    async def work(  # type: ignore[override] its own arguments
        self, request: QueryContext, query: str, title: str | None = None, source: str | None = None
    ) -> dict[str, Any]:
        """Run it; a run may repair a failing statement three times."""
        if self.repairs.is_exhausted(request.run_id):
            raise ToolFailed(
                "Statements of this run failed four times in a row; no further one is tried. "
                "Tell the user what failed and what you would need to know."
            )
        chosen = await self.source_of(request.reader, source)
        try:
            with within_budget(chosen.limits) as limits:
                request = replace(request, title=title, limits=limits)
                executed = await self.service.query(chosen, query, request)
        except (QueryFailed, UnknownName):
            self.repairs.record_failure(request.run_id)
            raise
        self.repairs.record_success(request.run_id)
        return result_for_model(executed)


class CheckQuery(DataTool):
    """`sql_db_query_checker`."""

    name: str = "sql_db_query_checker"
    description: str = "Check a SELECT without running it: names, permissions, what would run."
    args_schema: ArgsSchema | None = QueryArguments

    async def work(  # type: ignore[override] its own arguments
        self, request: QueryContext, query: str, title: str | None = None, source: str | None = None
    ) -> dict[str, Any]:
        """The statement that would run."""
        chosen = await self.source_of(request.reader, source)
        plan = await self.service.check(chosen, query, request.reader)
        return {
            "ok": True,
            "source": plan.source_name,
            "sql_executed": _truncate(plan.sql_executed, _MAX_SQL),
            "policy": list(plan.policy),
        }


class ResultsArguments(DataArguments):
    """A statement over earlier results."""

    query: str = Field(description="One SELECT in DuckDB's dialect over tables r1, r2, …")
    artifact_ids: list[str] = Field(description="Earlier results: the first is r1, and so on.")
    title: str | None = Field(default=None, description="What the result shows, in a few words.")


class QueryArtifact(DataTool):
    """`query_artifact`."""

    name: str = "query_artifact"
    description: str = "Run one SELECT over earlier results, without asking the source again."
    args_schema: ArgsSchema | None = ResultsArguments

    async def work(  # type: ignore[override] its own arguments
        self,
        request: QueryContext,
        query: str,
        artifact_ids: list[str],
        title: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]:
        """Query the stored results."""
        with within_budget(QueryLimits()) as limits:
            request = replace(request, title=title, limits=limits)
            executed = await self.service.query_results(query, artifact_ids, request)
        return result_for_model(executed)


class ChartArguments(DataArguments):
    """A chart of a result."""

    artifact_id: str = Field(description="The result to draw.")
    spec: dict[str, Any] | None = Field(
        default=None,
        description="Vega-Lite without data, fields from the result's columns; leave out for a "
        "default chart.",
    )
    title: str | None = Field(default=None, description="The chart's title.")


class MakeChart(ChartingTool):
    """`make_chart`."""

    name: str = "make_chart"
    description: str = "Draw a chart of an earlier result."
    args_schema: ArgsSchema | None = ChartArguments

    async def work(  # type: ignore[override] its own arguments
        self,
        request: QueryContext,
        artifact_id: str,
        spec: dict[str, Any] | None = None,
        title: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]:
        """Make the chart and show it."""
        draft = ArtifactDraft(
            request.reader.user_id, title or "", request.session_id, request.run_id
        )
        chart = await self.charts.make(artifact_id, draft, spec=spec)
        mark: Any = (chart.spec or {}).get("mark")
        # Vega-Lite has both forms
        kind = cast("dict[str, Any]", mark).get("type") if isinstance(mark, dict) else mark
        emit_artifact(chart, {"parent_id": artifact_id, "spec": chart.spec, "mark": kind})
        return {
            "artifact_id": chart.artifact_id,
            "parent_id": artifact_id,
            "kind": "chart",
            "mark": kind,
        }


def result_for_model(executed: ExecutedQuery) -> dict[str, Any]:
    """A result for the model and the run's readers; under 4 kB as text."""
    receipt = receipt_of(executed.receipt)
    about: dict[str, Any] = {
        "artifact_id": executed.artifact.artifact_id,
        "source": receipt["source"],
        "sql_executed": _truncate(receipt["sql_executed"], _MAX_SQL),
        "duration_ms": receipt["duration_ms"],
        "policy": _rules(receipt["policy"]),
        "time_zone": receipt["time_zone"],
    }
    left = MAX_RESULT_BYTES - len(json_text(about).encode()) - 10
    shown = preview(executed.result, max_bytes=max(1_000, left))
    emit_artifact(executed.artifact, {**shown, "receipt": receipt})
    return {**about, **shown}


def receipt_of(receipt: Receipt) -> dict[str, Any]:
    """The receipt as JSON."""
    return {
        "source": receipt.source_name,
        "sql": receipt.sql,
        "sql_executed": receipt.sql_executed,
        "row_count": receipt.row_count,
        "truncated": receipt.is_truncated,
        "truncated_by": receipt.truncated_by,
        "duration_ms": receipt.duration_ms,
        "policy": list(receipt.policy),
        "warnings": list(receipt.warnings),
        "time_zone": receipt.time_zone,
        "executed_at": receipt.executed_at.isoformat(timespec="milliseconds"),
    }


def _rules(sentences: list[str]) -> list[str]:
    """Notes of a policy, or of data that was left out, cut to a few."""
    shown = [_truncate(sentence, _MAX_RULE) for sentence in sentences[:_RULES]]
    more = len(sentences) - len(shown)
    return [*shown, f"and {more} more"] if more else shown


def _truncate(text: str, most: int) -> str:
    """The text, or its beginning and a mark that it is cut."""
    return text if len(text) <= most else f"{text[:most]}…"


def _left_out(state: CatalogueState) -> dict[str, Any]:
    """The files of a source that are in no table, if any."""
    return {"left_out": _rules(list(state.left_out))} if state.left_out else {}


def _names(given: str | list[str]) -> list[str]:
    """The names in a text with commas, or in a list; one with a comma in it stands in quotes."""
    if isinstance(given, str):
        line = given.replace("\n", " ").replace("\r", " ")
        given = next(csv.reader([line], skipinitialspace=True))
    return [name.strip() for name in given if name.strip()]


def _short(table: Table) -> dict[str, Any]:
    return {"name": table.key, "comment": table.comment, "row_count": table.row_count}


def _describe(table: Table) -> dict[str, Any]:
    return {
        **_short(table),
        "primary_key": list(table.primary_key),
        "foreign_keys": [
            {
                "columns": list(key.columns),
                "table": key.target_table,
                "target_columns": list(key.target_columns),
            }
            for key in table.foreign_keys
        ],
        "columns": [
            {
                "name": column.name,
                "type": column.type,
                **({"comment": column.comment} if column.comment else {}),
                **_samples(column.samples, column.are_samples_truncated),
            }
            for column in table.columns
        ],
    }


def _samples(samples: tuple[str, ...], is_truncated: bool) -> dict[str, Any]:
    if not samples:
        return {}
    return {
        "samples": list(samples[:_SAMPLES]),
        "samples_truncated": is_truncated or len(samples) > _SAMPLES,
    }


def _fit(
    found: dict[str, Any], items: list[dict[str, Any]], left: int, *, key: str = "tables"
) -> dict[str, Any]:
    """As many items as fit; `omitted` says how many do not, and search finds those."""
    used = len(json_text(found).encode()) + 40
    for number, item in enumerate(items):
        used += len(json_text(item).encode()) + 1
        if used > left and number:
            return {**found, key: items[:number], "omitted": len(items) - number}
    return {**found, key: items}
