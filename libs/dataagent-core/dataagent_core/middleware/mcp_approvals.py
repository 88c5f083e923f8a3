"""Asks a person before an MCP tool is called that may change something.

As `approvals.py` does for tools with fixed names: one interrupt a call, in sub-agents too, nobody
is asked in a run that approves all. Which tools ask says the catalogue (`requires_approval`); those
of servers that no catalogue knows all do. The arguments' schema is a stranger's, so it is shown to
who edits and nothing is built of it.
"""

from __future__ import annotations

from typing import Annotated, Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.human_in_the_loop import (
    ApproveDecision,
    EditDecision,
    RejectDecision,
    RespondDecision,
)
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import interrupt
from pydantic import Discriminator

from dataagent_core.mcp.langchain import McpTool
from dataagent_core.middleware.approvals import needs_approval
from dataagent_core.middleware.calls import ToolHandler, ToolOutcome, requires_approval

_DECISION: Any = Annotated[
    ApproveDecision | EditDecision | RejectDecision | RespondDecision, Discriminator("type")
]
_MOST_DESCRIPTION = 300
_UNCONFIRMED = "The server says that it only reads; nobody has confirmed that."


class McpApprovals(AgentMiddleware[Any, Any, Any]):
    """Asks as a call starts."""

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Ask if the tool says so and the run does not approve all."""
        tool = request.tool
        if (
            not isinstance(tool, BaseTool)
            or not requires_approval(tool)
            or not needs_approval(request)
        ):
            return await handler(request)
        decision: dict[str, Any] = interrupt(_question(tool, request), response_schema=_DECISION)
        call = request.tool_call
        match decision["type"]:
            case "approve":
                return await handler(request)
            case "edit":
                edited = {**call, "args": decision["edited_action"]["args"]}
                # the same call with other arguments
                return await handler(
                    request.override(tool_call=edited)  # pyright: ignore[reportArgumentType]
                )
            case "respond":
                return _reply(request, decision["message"], is_error=False)
            case _:
                return _reply(request, "The user rejected this call; it was not executed.")


def _question(tool: BaseTool, request: ToolCallRequest) -> dict[str, Any]:
    call = request.tool_call
    description = " ".join(tool.description.split())[:_MOST_DESCRIPTION]
    name = tool.tool.name if isinstance(tool, McpTool) else tool.name
    if isinstance(tool, McpTool) and tool.tool.says_read_only:
        description += f"\n{_UNCONFIRMED}"
    return {
        "type": "tool_approval",
        "tool_call_id": call["id"],
        "name": call["name"],
        "args": call["args"],
        "description": f"Call {name!r} of an MCP server, which says: {description}",
        "args_schema": _schema(tool),
    }


def _schema(tool: BaseTool) -> dict[str, Any] | None:
    schema: Any = tool.args_schema  # JSON schema, or a class of pydantic's
    if schema is None or isinstance(schema, dict):
        return schema  # pyright: ignore[reportUnknownVariableType] see above
    made: Any = tool.tool_call_schema  # made of such a class
    return made.model_json_schema()


def _reply(request: ToolCallRequest, text: str, *, is_error: bool = True) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(
        text,
        name=call["name"],
        tool_call_id=call["id"] or "",
        status="error" if is_error else "success",
    )
