"""A span around each model call and each tool call. Only in graphs of a process that traces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest

from dataagent_core.middleware.calls import ToolHandler, ToolOutcome
from dataagent_core.telemetry import Traces


class TracingMiddleware(AgentMiddleware[Any, Any, Any]):
    """Opens the spans; what they carry are names and ids."""

    def __init__(self, traces: Traces) -> None:
        super().__init__()
        self._traces = traces

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The model call inside a span."""
        name = str(getattr(request.model, "model_name", None) or type(request.model).__name__)
        with self._traces.span("model", {"model": name, "messages": len(request.messages)}):
            return await handler(request)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """The tool call inside a span."""
        call = request.tool_call
        named = {"tool": call["name"], "tool_call_id": str(call["id"])}
        with self._traces.span("tool", named):
            return await handler(request)
