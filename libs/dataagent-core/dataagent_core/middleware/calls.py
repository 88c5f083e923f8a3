"""Types and functions that the middleware around model and tool calls shares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Command

from dataagent_core.identity import RunContext
from dataagent_core.mcp.langchain import McpTool

ToolOutcome = ToolMessage | Command[Any]
ToolHandler = Callable[[ToolCallRequest], Awaitable[ToolOutcome]]
ModelHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
MCP_SERVER = "mcp_server"
"""Metadata that marks a tool of a configured MCP server."""


def runtime_of(request: ToolCallRequest) -> ToolRuntime[object, object]:
    """The call's runtime; its context is whatever the graph was started with."""
    return cast(Any, request).runtime  # its type is open upstream


def run_of(context: object) -> RunContext | None:
    """The context as a run's; None in a graph that was started without one."""
    return context if isinstance(context, RunContext) else None


def is_mcp(tool: object) -> bool:
    """Whether a tool belongs to an MCP server."""
    return isinstance(tool, McpTool) or _is_configured(tool)


def requires_approval(tool: object) -> bool:
    """Whether a person is asked before this tool of an MCP server is called."""
    return tool.asks_first if isinstance(tool, McpTool) else _is_configured(tool)


def _is_configured(tool: object) -> bool:
    return isinstance(tool, BaseTool) and bool((tool.metadata or {}).get(MCP_SERVER))


def tool_name(tool: BaseTool | dict[str, Any]) -> str:
    """The name of a tool as a model is shown it: ours, or one that a provider brings as JSON."""
    return tool.name if isinstance(tool, BaseTool) else str(tool.get("name", ""))


def append_to_prompt(system: SystemMessage | None, text: str) -> SystemMessage:
    """The system message with a section more; a prompt of plain text stays one."""
    # text or blocks
    content: Any = None if system is None else system.content
    if isinstance(content, list):
        return SystemMessage(content=[*content, {"type": "text", "text": f"\n\n{text}"}])
    return SystemMessage(f"{content}\n\n{text}" if content else text)
