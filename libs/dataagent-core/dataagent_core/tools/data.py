"""What every data tool has in common: for whom it runs, how it answers, how it fails.

A result is JSON text of at most 4 kB; an error is JSON too, with a code, what to do instead, and
status `denied` when a rule forbade it. Errors are values for the model, so nothing is raised.
Above: an agent. Below: `data/service.py`.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

import orjson
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId
from langgraph.config import get_stream_writer
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.data.chart_service import ChartService
from dataagent_core.data.service import DataService, QueryContext
from dataagent_core.data.types import Artifact, QueryLimits, Reader
from dataagent_core.errors import (
    BudgetExhausted,
    DataAgentError,
    Denied,
    Misconfigured,
    QueryTimedOut,
)
from dataagent_core.identity import RunContext
from dataagent_core.workspace import run_context

logger = logging.getLogger(__name__)
MAX_RESULT_BYTES = 4_000
_MAX_RUNS = 1_000


class DataArguments(BaseModel):
    """What every data tool is called with, beside its own."""

    tool_call_id: Annotated[str, InjectedToolCallId] = ""
    source: str | None = Field(
        default=None,
        description="The data source's name; leave out for the usual one. In a user's message "
        "`@name` names a source and `@name.table` a table of it.",
    )


class DataTool(BaseTool):
    """A tool over the data service; subclasses say what they do in `work`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    service: DataService = Field(exclude=True)

    @abstractmethod
    async def work(self, asked: QueryContext, **arguments: Any) -> dict[str, Any]:
        """Do it for this reader."""

    async def _arun(self, tool_call_id: str = "", **arguments: Any) -> ToolMessage:
        context = run_context()
        try:
            asked = await self._request_for(context)
            found = await self.work(asked, **arguments)
        except DataAgentError as error:
            logger.info("%s: %s", self.name, error.code)
            return _error_message(self.name, tool_call_id, error)
        return ToolMessage(json_text(found), tool_call_id=tool_call_id, name=self.name)

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
        """The source that is meant."""
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
    """A data tool that also draws."""

    charts: ChartService = Field(exclude=True)


class RepairCounter:
    """How often each run's statements have failed in a row; the fourth is not tried."""

    MOST = 3

    def __init__(self) -> None:
        self._failures: OrderedDict[str, int] = OrderedDict()

    def is_exhausted(self, run_id: str | None) -> bool:
        """Whether a further try would be one too many."""
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
