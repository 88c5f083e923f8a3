"""An agent has the tools that are bound to it, and no others, whoever names them.

The model is shown the bound ones; a call of another is refused before anyone is asked about it, and
the refusal is noted where calls are noted. What every agent works with by itself (its plan, its
skills, its helpers) is not bound. An agent with all tools has none of this in its graph; each
sub-agent has its own. Above: `engine/`. Below: `agents/` says what is bound to whom.
"""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import ToolMessage

from dataagent_core.agents.tools import ALWAYS_BOUND
from dataagent_core.middleware.calls import (
    ModelHandler,
    OnDenied,
    ToolHandler,
    ToolOutcome,
    is_mcp,
    refusal,
    tool_name,
)

_MOST_NAMED = 40


class ToolPolicyMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps an agent to its tools."""

    def __init__(self, bound: frozenset[str], on_denied: OnDenied | None = None) -> None:
        """`bound` are the tools' names; `on_denied` is told of each call that is refused."""
        super().__init__()
        self._bound = bound
        self._allowed = bound | ALWAYS_BOUND
        self._on_denied = on_denied

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Show the model what is bound."""
        tools = [tool for tool in request.tools if self._allows(tool, tool_name(tool))]
        if len(tools) == len(request.tools):
            return await handler(request)
        return await handler(request.override(tools=tools))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Refuse what is not bound."""
        if self._allows(request.tool, request.tool_call["name"]):
            return await handler(request)
        return self._deny(request)

    def _allows(self, tool: object, name: str) -> bool:
        """Whether it is bound; MCP tools come here only if they are (`mcp_tools.py`)."""
        return name in self._allowed or is_mcp(tool)

    def _deny(self, request: ToolCallRequest) -> ToolMessage:
        if self._on_denied is not None:
            self._on_denied(request)
        return refusal(request, _sentence(request.tool_call["name"], self._bound))


def _sentence(name: str, bound: frozenset[str]) -> str:
    refused = f"Tool {name[:80]!r} is not bound to this agent. It was not called."
    if not bound:
        return f"{refused} No tool is: answer without one."
    named = sorted(bound)
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"{refused} Use one of: {', '.join(named[:_MOST_NAMED])}{more}."
