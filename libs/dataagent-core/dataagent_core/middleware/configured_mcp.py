"""Gives an agent the tools of the MCP servers that its configuration names.

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
from dataagent_core.mcp.langchain import McpTool
from dataagent_core.middleware.calls import (
    MCP_SERVER,
    ModelHandler,
    ToolHandler,
    ToolOutcome,
    runtime_of,
    tool_name,
)

if TYPE_CHECKING:
    from dataagent_core.mcp import MCPConfig

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
