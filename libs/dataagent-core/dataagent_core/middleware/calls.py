"""A wrapped tool call: its types where LangChain leaves them open, its name, how it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Command

ToolOutcome = ToolMessage | Command[Any]
ToolHandler = Callable[[ToolCallRequest], Awaitable[ToolOutcome]]


def runtime_of(request: ToolCallRequest) -> ToolRuntime[object, object]:
    """The call's runtime; its context is whatever the graph was started with."""
    runtime: Any = request.runtime  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] open upstream
    return runtime


def called(request: ToolCallRequest) -> str:
    """The tool's name, for whoever counts: a model may call what there is not."""
    return request.tool_call["name"] if request.tool is not None else "unknown"


def call_status(outcome: ToolOutcome) -> str:
    """How the call ended: success, error, or what the tool itself says (denied, timeout)."""
    if not isinstance(outcome, ToolMessage):
        return "success"
    return str(outcome.additional_kwargs.get("status") or outcome.status)
