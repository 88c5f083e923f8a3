"""Gives an agent the MCP tools of the run's user, and runs their calls.

One graph serves all users, so these tools are not in it: which there are comes with the run. The
model is shown those the agent may use and whose server answers; a call of another is refused before
anyone is asked about it, with a row in the call log. `McpToolsMiddleware` stands before the tool
policy, `McpCalls` is the last before the graph's own tools. For a run without MCP both are a look
at one field. Above: `engine/`. Below: `tools/mcp.py`.
"""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest

from dataagent_core.identity import RunContext
from dataagent_core.mcp.langchain import failure_message
from dataagent_core.mcp.run_tools import RunTools
from dataagent_core.middleware.calls import (
    ModelHandler,
    OnDenied,
    ToolHandler,
    ToolOutcome,
    runtime_of,
)
from dataagent_core.tools.mcp import AgentMcpTool, McpTools


class McpToolsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Which MCP tools an agent has."""

    def __init__(
        self, tools: McpTools, agent_id: str | None = None, on_denied: OnDenied | None = None
    ) -> None:
        """Without an `agent_id` it is the agent the run names; helpers have their own."""
        super().__init__()
        self._tools = tools
        self._agent_id = agent_id
        self._on_denied = on_denied

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Show the model the tools that can be used now."""
        context: Any = request.runtime.context
        run = _run_of(context)
        if run is None:
            return await handler(request)
        agent_id = self._agent_of(context)
        found = [self._tools.of(tool, agent_id) for tool in await run.visible(agent_id)]
        return await handler(request.override(tools=[*request.tools, *found]) if found else request)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Let a call of an MCP tool on if the agent may make it."""
        context = runtime_of(request).context
        run = _run_of(context)
        if request.tool is not None or run is None or not isinstance(context, RunContext):
            return await handler(request)
        call, agent_id = request.tool_call, self._agent_of(context)
        tool = await run.find(call["name"])
        if tool is None:
            return await handler(request)
        refused = await self._tools.gateway.refused(
            tool.tool_id, call["args"], run.caller(agent_id)
        )
        if refused is None:
            return await handler(request.override(tool=self._tools.of(tool, agent_id)))
        if self._on_denied is not None:
            self._on_denied(request)
        return failure_message(refused, call["name"], call["id"] or "")

    def _agent_of(self, context: RunContext) -> str:
        return self._agent_id or context.assistant_id


class McpCalls(AgentMiddleware[Any, Any, Any]):
    """Runs the calls of MCP tools, which the graph does not know."""

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Call the tool that was found for the call."""
        tool = request.tool
        runtime = runtime_of(request)
        if not isinstance(tool, AgentMcpTool) or not isinstance(runtime.context, RunContext):
            return await handler(request)
        return await tool.call(request.tool_call, runtime.context, runtime.stream_writer)


def _run_of(context: object) -> RunTools | None:
    run = context.mcp if isinstance(context, RunContext) else None
    return run if isinstance(run, RunTools) else None
