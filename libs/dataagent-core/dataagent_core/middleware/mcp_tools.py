"""Gives an agent the MCP tools of the run's user, and runs their calls.

One graph serves all users, so these tools are not in it: which there are comes with the run. The
model is shown those the agent may use and whose server answers; a call of another is refused before
anyone is asked about it, with a row in the call log. `McpToolsMiddleware` stands before the tool
policy, `McpCalls` is the last before the graph's own tools. For a run without MCP both are a look
at one field. Above: `engine/`. Below: `tools/mcp.py`.

Gives an agent the tools of the MCP servers that its configuration names.

For programs built on the core, which have no catalogue of servers: `AgentConfig.mcp_config` lists
them, each user of the agent gets connections of their own at their first run, and whoever closes
the factory closes them. A server that does not answer is left out. Their tools ask before each call
(`mcp_approvals.py`), as a user's own servers do elsewhere. List this before the tool policy.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.tools import BaseTool

from dataagent_core.identity import RunContext
from dataagent_core.mcp.gateway.tool_access import RunTools
from dataagent_core.mcp.langchain import McpTool, failure_message
from dataagent_core.middleware.calls import (
    MCP_SERVER,
    ModelHandler,
    OnDenied,
    ToolHandler,
    ToolOutcome,
    runtime_of,
    tool_name,
)
from dataagent_core.tools.mcp import AgentMcpTool, McpTools

if TYPE_CHECKING:
    from dataagent_core.mcp import MCPConfig


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


logger = logging.getLogger(__name__)


class UserServers(Protocol):
    """What connects users' servers: `dataagent_core.mcp.MCPConnectionManager`."""

    async def connect_user_servers(self, user_id: str, config: MCPConfig) -> list[BaseTool]:
        """Connect a user's servers anew; their tools."""
        ...

    async def get_user_tools(self, user_id: str) -> list[BaseTool]:
        """The tools of a user whose servers are connected."""
        ...

    async def disconnect_user(self, user_id: str) -> None:
        """End a user's connections."""
        ...

    async def health_check(self, user_id: str) -> dict[str, str]:
        """How each of a user's servers is."""
        ...

    async def close(self) -> None:
        """End all connections."""
        ...


class ConfiguredMcp(AgentMiddleware[Any, Any, Any]):
    """Adds the tools to what the model is shown, and lets their calls reach them."""

    def __init__(self, config: MCPConfig, servers: UserServers | None = None) -> None:
        """Connect the servers of `config`, unless told otherwise by a manager of our own."""
        super().__init__()
        self._config = config
        self._servers = servers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Task[None] | None = None
        self._connecting: dict[str, asyncio.Task[list[BaseTool]]] = {}
        self._made: dict[str, tuple[list[BaseTool], list[BaseTool]]] = {}

    @property
    def servers(self) -> UserServers:
        """What has the connections."""
        loop = asyncio.get_running_loop()
        if self._servers is None or self._loop not in (None, loop):
            from dataagent_core.mcp import MCPConnectionManager

            self._forget()  # connections belong to a loop, which has ended
            self._servers = MCPConnectionManager()
            closing = _close_on_cancel(self._servers)
            self._ending = asyncio.create_task(closing, name="mcp servers")
        self._loop = loop
        return self._servers

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any]:
        """Show the model the tools beside those it has."""
        found = await self._tools(request.runtime.context)
        if not found:
            return await handler(request)
        known = {tool_name(tool) for tool in request.tools}
        more = [tool for tool in found if tool.name not in known]
        return await handler(request.override(tools=[*request.tools, *more]))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Find the tool of a call that the graph does not know."""
        if request.tool is not None:
            return await handler(request)
        name = request.tool_call["name"]
        found = await self._tools(runtime_of(request).context)
        tool = next((each for each in found if each.name == name), None)
        return await handler(request if tool is None else request.override(tool=tool))

    async def aclose(self) -> None:
        """End the connections; the next run makes new ones."""
        if self._ending is not None:
            self._ending.cancel()
            await asyncio.wait({self._ending})
        elif self._servers is not None:
            await self._servers.close()
        self._forget()

    def _forget(self) -> None:
        self._servers = self._ending = self._loop = None
        self._connecting.clear()
        self._made.clear()

    async def _tools(self, context: object) -> Sequence[BaseTool]:
        """The run's user's tools; the same objects as long as the servers offer the same."""
        if not isinstance(context, RunContext):
            return ()
        user_id = context.user_id
        offered = await self._current_tools(user_id)
        made = self._made.get(user_id)
        if made is None or made[0] != offered:
            made = self._made[user_id] = (offered, [_mark_as_mcp(tool) for tool in offered])
        return made[1]

    async def _current_tools(self, user_id: str) -> list[BaseTool]:
        servers = self.servers
        connecting = self._connecting.get(user_id)
        if connecting is not None and connecting.done():
            return list(await servers.get_user_tools(user_id))
        if connecting is None:
            connecting = asyncio.create_task(self._connect(user_id), name=f"mcp of {user_id}")
            self._connecting[user_id] = connecting
        return await asyncio.shield(connecting)

    async def _connect(self, user_id: str) -> list[BaseTool]:
        try:
            return list(await self.servers.connect_user_servers(user_id, self._config))
        except Exception:  # an agent goes on without its servers
            logger.warning("the MCP servers of %s are not connected", user_id, exc_info=True)
            return []


async def _close_on_cancel(servers: UserServers) -> None:
    """Close when told so by being cancelled, which a loop does with its tasks before it ends."""
    try:
        await asyncio.Event().wait()
    finally:
        await servers.close()


def _mark_as_mcp(tool: BaseTool) -> BaseTool:
    """The tool, known as one of an MCP server."""
    if isinstance(tool, McpTool):
        return tool
    return tool.model_copy(update={"metadata": {**(tool.metadata or {}), MCP_SERVER: True}})
