"""The types of a wrapped tool call, where LangChain leaves them open."""

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
