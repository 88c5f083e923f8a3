"""What wraps calls has in common: types LangChain leaves open, names, how a call ended, a refusal.

Above: the other modules of this folder.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Command

from dataagent_core.mcp.langchain import McpTool

ToolOutcome = ToolMessage | Command[Any]
ToolHandler = Callable[[ToolCallRequest], Awaitable[ToolOutcome]]
ModelHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
OnDenied = Callable[[ToolCallRequest], None]
"""Is told of a call that is refused before it could run."""
MCP_SERVER = "mcp_server"
"""The metadata of a tool that a configured MCP server offers (`configured_mcp.py`)."""


def runtime_of(request: ToolCallRequest) -> ToolRuntime[object, object]:
    """The call's runtime; its context is whatever the graph was started with."""
    return cast(Any, request).runtime  # its type is open upstream


def called_tool(request: ToolCallRequest) -> str:
    """The tool's name, for whoever counts: a model may call what there is not."""
    return request.tool_call["name"] if request.tool is not None else "unknown"


def call_status(outcome: ToolOutcome) -> str:
    """How the call ended: success, error, or what the tool itself says (denied, timeout)."""
    if not isinstance(outcome, ToolMessage):
        return "success"
    return str(outcome.additional_kwargs.get("status") or outcome.status)


def is_mcp(tool: object) -> bool:
    """Whether a tool is an MCP server's."""
    return isinstance(tool, McpTool) or _is_configured(tool)


def requires_approval(tool: object) -> bool:
    """Whether a person is asked before this tool of an MCP server is called."""
    return tool.asks_first if isinstance(tool, McpTool) else _is_configured(tool)


def _is_configured(tool: object) -> bool:
    return isinstance(tool, BaseTool) and bool((tool.metadata or {}).get(MCP_SERVER))


def tool_name(tool: BaseTool | dict[str, Any]) -> str:
    """The name of a tool as a model is shown it: ours, or one that a provider brings as JSON."""
    return tool.name if isinstance(tool, BaseTool) else str(tool.get("name", ""))


def refusal(request: ToolCallRequest, reason: str) -> ToolMessage:
    """What the model and the run's readers get in place of a result."""
    call = request.tool_call
    return ToolMessage(
        reason,
        tool_call_id=call["id"] or "",
        name=call["name"],
        status="error",
        additional_kwargs={"status": "denied"},
    )
