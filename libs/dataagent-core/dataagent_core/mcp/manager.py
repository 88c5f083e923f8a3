"""MCP servers of users without a database: connected from a configuration, as LangChain tools.

For programs that embed the library. Connections and calls are those of the product, without
registration, bindings, a call log or confinement: the author of a configuration may start any
program and reach any address.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from langchain_core.tools import BaseTool

from dataagent_core.errors import BadInput, LimitReached
from dataagent_core.mcp.catalogue.listing import FileTools, prepare_listing
from dataagent_core.mcp.catalogue.validation import Validators
from dataagent_core.mcp.connections.connection import ConnectionRules, ServerConnection
from dataagent_core.mcp.connections.pool import ConnectionPool, PoolLimits
from dataagent_core.mcp.gateway.gateway import ToolGateway
from dataagent_core.mcp.gateway.tool_access import Binding, Rights, ServerTool, by_exposed_name
from dataagent_core.mcp.langchain import UserMcpTool, tool_fields
from dataagent_core.mcp.servers.config_files import MCPConfig, MCPServerConfig
from dataagent_core.mcp.servers.server_store import log_failure
from dataagent_core.mcp.types import (
    Caller,
    CatalogueTool,
    ConnectionKey,
    ConnectionStatus,
    RemoteTool,
    ServerSpec,
    ServerStatus,
)
from dataagent_core.network import HostPolicy

logger = logging.getLogger(__name__)
_ALL = Rights(Binding(agent_id="", name=""))


@dataclass(slots=True)
class _User:
    """A user's connections."""

    session_id: str
    """The session that holds the pool's connections."""
    statuses: dict[str, ServerStatus] = field(default_factory=dict[str, ServerStatus])
    """By name, of servers that are not connected to."""
    connections: dict[str, ServerConnection] = field(default_factory=dict[str, ServerConnection])
    """By name."""
    tools: dict[str, UserMcpTool] = field(default_factory=dict[str, UserMcpTool])
    """By name, as last requested."""

    def find(self, server_id: str) -> ServerConnection | None:
        """Return the connection to a server."""
        for connection in self.connections.values():
            if connection.spec.server_id == server_id:
                return connection
        return None


class MCPConnectionManager:
    """Connects users to the MCP servers of their configurations and provides the servers' tools.

    Servers stay connected, and reconnect when they are lost, until the user is disconnected or the
    manager is closed. A server that fails is logged and does not affect the others.
    Used from one event loop.
    """

    def __init__(self, max_servers_per_user: int = 5, connection_timeout: float = 30) -> None:
        """A server may take `connection_timeout` seconds to connect, less if its configuration says
        so.
        """
        self._max_servers = max_servers_per_user
        self._timeout = connection_timeout
        self._hosts = HostPolicy()
        self._tools = FileTools()
        self._pool = ConnectionPool(
            self._hosts,
            on_tools=self._on_tools,
            on_status=self._on_status,
            limits=PoolLimits(connection=ConnectionRules(idle_seconds=None)),
        )
        self._users: dict[str, _User] = {}
        self._gateway = ToolGateway(self._tools, _UserServers(self._users), Validators())
        self._count = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnect all users."""
        self._users.clear()
        await self._pool.aclose()
        self._hosts.close()

    # -- connecting -----------------------------------------------------------------------------

    async def connect_user_servers(self, user_id: str, config: MCPConfig) -> list[BaseTool]:
        """Connect the user to these servers instead of the current ones, and return their tools.

        Returns once each is connected or has failed. Disabled servers are left out, and those
        beyond the limit, with a warning that names them. A server that has not changed stays
        connected.
        """
        before = self._users.get(user_id)
        user = self._users[user_id] = self._begin(user_id, config)
        if before is not None:
            await self._end(before)
        connections = user.connections.values()
        await asyncio.gather(*(each.wait_for_outcome(self._timeout) for each in connections))
        for late in (each for each in connections if each.status.state == "connecting"):
            logger.warning(
                "MCP server %s is not connected after %g s", late.spec.label, self._timeout
            )
        return await self.get_user_tools(user_id)

    async def get_user_tools(self, user_id: str) -> list[BaseTool]:
        """Return the tools of the user's connected servers. A tool stays the same object."""
        user = self._users.get(user_id)
        if user is None:
            return []
        offered = by_exposed_name([*self._offered(user)])
        found = [self._tool(user_id, user, each.tool) for each in offered.values()]
        user.tools = {each.name: each for each in found}
        return [*found]

    def _tool(self, user_id: str, user: _User, tool: CatalogueTool) -> UserMcpTool:
        known = user.tools.get(tool.exposed_name)
        if known is not None and known.tool.definition_hash == tool.definition_hash:
            return known
        caller = Caller(user_id=user_id, agent_id="")
        return UserMcpTool(**tool_fields(tool), tool=tool, gateway=self._gateway, caller=caller)

    async def disconnect_user(self, user_id: str) -> None:
        """Disconnect the user; returns once connections are closed and processes ended."""
        user = self._users.pop(user_id, None)
        if user is not None:
            await self._end(user)

    async def health_check(self, user_id: str) -> dict[str, str]:
        """Return for each server name whether it is connected, disconnected or in error.

        A connected server is probed.
        """
        user = self._users.get(user_id)
        if user is None:
            return {}
        found: dict[str, str] = dict(user.statuses)
        names = [*user.connections]
        answers = await asyncio.gather(*(_health(each) for each in user.connections.values()))
        return found | dict(zip(names, answers, strict=True))

    def _begin(self, user_id: str, config: MCPConfig) -> _User:
        """Hold connections to the servers of a configuration. Does not wait."""
        self._count += 1
        user = _User(f"{user_id}#{self._count}")
        enabled: list[MCPServerConfig] = []
        for server in config.servers:
            user.statuses[server.name] = "disconnected"
            if not server.disabled:
                enabled.append(server)
        if beyond := [server.name for server in enabled[self._max_servers :]]:
            logger.warning(
                "user %s may have %d MCP servers; left out: %s",
                user_id,
                self._max_servers,
                ", ".join(beyond),
            )
        aliases: set[str] = set()
        for server in enabled[: self._max_servers]:
            try:
                if server.name in user.connections:
                    raise BadInput("There is one of that name before it.")
                spec = self._spec(user_id, server, aliases)
                connection = self._pool.lease(spec, user_id=user_id, session_id=user.session_id)
            except (BadInput, LimitReached, TypeError, ValueError) as error:
                logger.warning("MCP server %s is left out: %s", server.name, error)
                user.statuses[server.name] = "error"
                continue
            aliases.add(spec.alias)
            user.connections[server.name] = connection
        return user

    def _spec(self, user_id: str, server: MCPServerConfig, aliases: set[str]) -> ServerSpec:
        spec = server.spec(f"file:{user_id}/{server.name}", taken=aliases)
        seconds = min(spec.connect_timeout_seconds, self._timeout)
        return replace(spec, user_id=user_id, connect_timeout_seconds=seconds)

    async def _end(self, user: _User) -> None:
        """Release a user's connections; those leased again meanwhile stay."""
        server_ids = {each.spec.server_id for each in user.connections.values()}
        await self._pool.end(user.session_id)
        still = {key.server_id for key in self._pool.statuses()}
        for server_id in server_ids - still:
            self._tools.forget(server_id)

    def _offered(self, user: _User) -> Iterator[ServerTool]:
        for connection in user.connections.values():
            if connection.status.state == "ready":
                for tool in self._tools.tools_of(connection.spec.server_id):
                    if tool.status != "removed":
                        yield ServerTool(tool, connection.spec)

    # -- what connections tell ------------------------------------------------------------------

    async def _on_tools(self, spec: ServerSpec, tools: tuple[RemoteTool, ...]) -> None:
        seen = await prepare_listing(tools)
        for warning in seen.warnings:
            logger.warning("MCP server %s: %s", spec.label, warning)
        self._tools.sync(spec, seen)

    def _on_status(self, _key: ConnectionKey, spec: ServerSpec, status: ConnectionStatus) -> None:
        log_failure(spec, status)


class _UserServers:
    """Answers the gateway's questions about a user; implements `gateway.CallerContext`."""

    def __init__(self, users: Mapping[str, _User]) -> None:
        self._users = users

    async def spec_for(self, server_id: str, caller: Caller) -> ServerSpec | None:
        """Return the server the user is connected to."""
        connection = self._find(server_id, caller)
        return None if connection is None else connection.spec

    async def rights_of(self, caller: Caller) -> Rights:
        """Allow everything: the servers are the user's own."""
        return _ALL

    def connection(self, spec: ServerSpec, caller: Caller) -> ServerConnection | None:
        """Return the user's connection to the server."""
        return self._find(spec.server_id, caller)

    def _find(self, server_id: str, caller: Caller) -> ServerConnection | None:
        user = self._users.get(caller.user_id)
        return None if user is None else user.find(server_id)


async def _health(connection: ServerConnection) -> ServerStatus:
    if connection.status.state == "ready" and not await connection.is_answering():
        return "error"
    return connection.status.status
