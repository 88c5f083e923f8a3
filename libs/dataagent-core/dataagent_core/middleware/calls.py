"""What wraps calls has in common: types LangChain leaves open, names, how a call ended, a refusal.

Above: the other modules of this folder.

A tool that raises gives the model an error to read instead of ending the run.

LangChain's middleware of the same name does the catching (and lets cancellation and LangGraph's
control flow pass); here is what the model is told. Our own errors are written for readers and are
passed on; of any other only the kind is, because its text may hold host paths or secrets. List it
after the approvals.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware import ToolErrorMiddleware as LangChainToolErrors
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Command

from dataagent_core.errors import DataAgentError
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


logger = logging.getLogger(__name__)


class ToolErrorMiddleware(LangChainToolErrors[Any, Any]):
    """Turns every exception of a tool into a `ToolMessage` with status `error`."""

    def __init__(self) -> None:
        super().__init__(on_error=explain_to_model)


def explain_to_model(error: Exception, request: ToolCallRequest) -> str:
    """What the model reads in place of a result."""
    tool = request.tool_call["name"]
    if isinstance(error, DataAgentError):
        logger.info("tool %s refused or failed: %s", tool, error.code)
        return f"Error: {error.message}"
    logger.error("tool %s raised", tool, exc_info=error)
    if isinstance(error, TimeoutError):
        return f"Error: {tool} took too long and was stopped. Try less at once."
    return (
        f"Error: {tool} failed with an internal error ({type(error).__name__}). "
        "Other arguments or another tool may help; the same call will probably fail again."
    )
