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

from dataagent_core.data.pictures import Charts
from dataagent_core.data.service import Asked, DataService
from dataagent_core.data.types import Artifact, Limits, Reader
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
MOST_BYTES = 4_000
_KEPT_RUNS = 1_000


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
    async def work(self, asked: Asked, **arguments: Any) -> dict[str, Any]:
        """Do it for this reader."""

    async def _arun(self, tool_call_id: str = "", **arguments: Any) -> ToolMessage:
        context = run_context()
        try:
            asked = await self._asked(context)
            found = await self.work(asked, **arguments)
        except DataAgentError as error:
            logger.info("%s: %s", self.name, error.code)
            return _failed(self.name, tool_call_id, error)
        return ToolMessage(text_of(found), tool_call_id=tool_call_id, name=self.name)

    def _run(self, **_arguments: Any) -> str:
        raise Misconfigured(f"{self.name} is asynchronous; call it with ainvoke.")

    async def _asked(self, context: RunContext) -> Asked:
        reader = await self.service.reader(
            context.user_id,
            role=context.role,
            tenant_id=context.tenant_id,
            agent_id=context.assistant_id,
        )
        return Asked(reader, context.session_id, context.run_id)

    async def source_of(self, reader: Reader, name: str | None) -> Any:
        """The source that is meant."""
        return await self.service.source(reader, name)


@contextmanager
def timed(limits: Limits) -> Generator[Limits]:
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

    charts: Charts = Field(exclude=True)


class Repairs:
    """How often each run's statements have failed in a row; the fourth is not tried."""

    MOST = 3

    def __init__(self) -> None:
        self._failures: OrderedDict[str, int] = OrderedDict()

    def are_used_up(self, run_id: str | None) -> bool:
        """Whether a further try would be one too many."""
        return self._failures.get(run_id or "", 0) > self.MOST

    def failed(self, run_id: str | None) -> None:
        """One more failure."""
        self._failures[run_id or ""] = self._failures.get(run_id or "", 0) + 1
        while len(self._failures) > _KEPT_RUNS:
            self._failures.popitem(last=False)

    def worked(self, run_id: str | None) -> None:
        """The row of failures is over."""
        self._failures.pop(run_id or "", None)


def text_of(found: dict[str, Any]) -> str:
    """The JSON the model reads."""
    return orjson.dumps(found, default=str).decode()


def announce(artifact: Artifact, preview: dict[str, Any]) -> None:
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


def _failed(name: str, tool_call_id: str, error: DataAgentError) -> ToolMessage:
    status = "denied" if isinstance(error, Denied) else "error"
    if isinstance(error, QueryTimedOut):
        status = "timeout"
    explained = {"code": error.code, "message": error.message[:2_000], **(error.details or {})}
    return ToolMessage(
        text_of({"error": explained})[:MOST_BYTES],
        tool_call_id=tool_call_id,
        name=name,
        status="error",
        additional_kwargs={"status": status},
    )
