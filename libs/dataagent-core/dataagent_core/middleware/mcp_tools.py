"""The tools of the MCP servers that an agent's configuration names.

For programs built on the core, which have no catalogue of servers: `AgentConfig.mcp_config` lists
them, each user of the agent gets connections of their own at their first run, and whoever closes
the factory closes them. A server that does not answer is left out. Their tools ask before each
call, as a user's own servers do elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from langchain_core.tools import BaseTool

from dataagent_core.identity import RunContext
from dataagent_core.mcp.langchain import McpTool
from dataagent_core.middleware.calls import MCP_SERVER

if TYPE_CHECKING:
    from dataagent_core.mcp import MCPConfig


logger = logging.getLogger(__name__)


class UserServers(Protocol):
    """Connects users' servers, as `dataagent_core.mcp.MCPConnectionManager` does."""

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


class ConfiguredMcp:
    """A source of tools for the guard: those of each user's own connections."""

    def __init__(self, config: MCPConfig, servers: UserServers | None = None) -> None:
        """Connect the servers of `config`, with a connection manager of its own unless given."""
        self._config = config
        self._servers = servers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Task[None] | None = None
        self._connecting: dict[str, asyncio.Task[list[BaseTool]]] = {}
        self._made: dict[str, tuple[list[BaseTool], list[BaseTool]]] = {}

    @property
    def servers(self) -> UserServers:
        """The connections of the running loop."""
        loop = asyncio.get_running_loop()
        if self._servers is None or self._loop not in (None, loop):
            from dataagent_core.mcp import MCPConnectionManager

            self._forget()  # connections belong to a loop, which has ended
            self._servers = MCPConnectionManager()
            closing = _close_on_cancel(self._servers)
            self._ending = asyncio.create_task(closing, name="mcp servers")
        self._loop = loop
        return self._servers

    async def tools(self, run: RunContext | None) -> Sequence[BaseTool]:
        """The run's user's tools; the same objects as long as the servers offer the same."""
        if run is None:
            return ()
        offered = await self._current_tools(run.user_id)
        made = self._made.get(run.user_id)
        if made is None or made[0] != offered:
            marked = [_mark_as_mcp(tool) for tool in offered]
            made = self._made[run.user_id] = (offered, marked)
        return made[1]

    async def find(self, name: str, run: RunContext | None) -> BaseTool | None:
        """The tool of this name."""
        return next((each for each in await self.tools(run) if each.name == name), None)

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
    """Close when cancelled, which a loop does with its tasks before it ends."""
    try:
        await asyncio.Event().wait()
    finally:
        await servers.close()


def _mark_as_mcp(tool: BaseTool) -> BaseTool:
    """The tool, marked as one of an MCP server."""
    if isinstance(tool, McpTool):
        return tool
    return tool.model_copy(update={"metadata": {**(tool.metadata or {}), MCP_SERVER: True}})
