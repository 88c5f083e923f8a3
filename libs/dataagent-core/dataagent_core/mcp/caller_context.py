"""A caller's MCP servers, tools and rights, for runs and for the gateway.

A run waits once for servers that are connecting for the first time. A server that has failed, or
that timed out while a run waited, is not waited for until it has been ready again, so a dead server
delays one run only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from dataagent_core.errors import LimitReached, Unavailable
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.connections.pool import ConnectionPool
from dataagent_core.mcp.gateway.call_log import CallLog
from dataagent_core.mcp.gateway.tool_access import (
    SHARED_SCOPES,
    BindingOf,
    Rights,
    RunTools,
    ServerTool,
)
from dataagent_core.mcp.servers.key_tools import KeyTools
from dataagent_core.mcp.servers.server_store import ServerDirectory, ServerStore
from dataagent_core.mcp.servers.session_servers import LastMessageAt, SessionServers, usable_servers
from dataagent_core.mcp.servers.templates import TemplateStore
from dataagent_core.mcp.types import Caller, ConnectionStatus, ServerSpec

_CONNECTING_STATES = frozenset({"idle", "connecting"})


class ConnectWait:
    """Waits for connections, but not again for those that timed out."""

    def __init__(self) -> None:
        self._timed_out: set[tuple[str, int]] = set()
        self._changed = asyncio.Event()

    async def wait(self, connections: Sequence[ServerConnection], seconds: float) -> None:
        """Wait until each connection is ready or has failed, or the time is over."""
        pending = [each for each in connections if self._is_worth_waiting_for(each)]
        if not pending or seconds <= 0:
            return
        for connection in pending:
            connection.wake()
        try:
            async with asyncio.timeout(seconds):
                while any(map(_is_undecided, pending)):
                    await self._changed.wait()
        except TimeoutError:
            self._timed_out |= {_key(each.spec) for each in pending if _is_undecided(each)}

    def on_status(self, spec: ServerSpec, status: ConnectionStatus) -> None:
        """Note a changed status; a server that is ready is worth waiting for again."""
        if status.state == "ready":
            self._timed_out.discard(_key(spec))
        self._changed.set()
        self._changed = asyncio.Event()

    def _is_worth_waiting_for(self, connection: ServerConnection) -> bool:
        return _is_undecided(connection) and _key(connection.spec) not in self._timed_out


def _is_undecided(connection: ServerConnection) -> bool:
    """Whether the connection is neither ready nor known to fail."""
    status = connection.status
    return status.state in _CONNECTING_STATES and status.fail_count == 0


def _key(spec: ServerSpec) -> tuple[str, int]:
    return spec.server_id, spec.config_version


logger = logging.getLogger(__name__)
HasFeature = Callable[[str], Awaitable[bool]]
"""Whether a user's tenant has MCP on."""
_PRECEDENCE = {"user": 0, "tenant": 1, "global": 2, "file": 3}


@dataclass(frozen=True, slots=True)
class McpStores:
    """The stores of MCP in the database, as the hub uses them."""

    servers: ServerStore
    sessions: SessionServers
    templates: TemplateStore
    catalogue: ToolCatalogue
    calls: CallLog
    keys: KeyTools


async def always(_user_id: str) -> bool:
    """Return True: MCP is enabled for every tenant."""
    return True


class HubCallerContext:
    """Answers the gateway's questions about a caller; implements `gateway.CallerContext`."""

    def __init__(
        self,
        directory: ServerDirectory,
        pool: ConnectionPool,
        stores: McpStores,
        *,
        binding_of: BindingOf,
        has_feature: HasFeature,
    ) -> None:
        self._directory = directory
        self._pool = pool
        self._catalogue = stores.catalogue
        self._keys = stores.keys
        self._sessions = stores.sessions
        self._binding_of = binding_of
        self._has_feature = has_feature
        self._connect_wait = ConnectWait()

    def prepare_run_tools(
        self, caller: Caller, *, wait_seconds: float, last_message_at: LastMessageAt | None = None
    ) -> RunTools | None:
        """Return the tools of the caller's run, not listed yet; None if they have no server."""
        if self._directory.has_none(caller.user_id, caller.tenant_id):
            return None
        return RunTools(
            caller,
            lambda: self._list_tools(caller, wait_seconds, last_message_at),
            self.rights_of,
            lambda offered: self._is_ready(offered, caller),
        )

    async def tools_for(self, caller: Caller, *, wait_seconds: float) -> RunTools:
        """Return the caller's tools, already listed; empty if they have none."""
        tools = self.prepare_run_tools(caller, wait_seconds=wait_seconds)
        if tools is None:
            return RunTools(caller, _no_tools, self.rights_of, lambda _: False)
        await tools.all_tools()
        return tools

    def on_status(self, spec: ServerSpec, status: ConnectionStatus) -> None:
        """Note that a connection's status changed."""
        self._connect_wait.on_status(spec, status)

    async def _list_tools(
        self, caller: Caller, wait_seconds: float, last_message_at: LastMessageAt | None
    ) -> Sequence[ServerTool]:
        """List all tools of the caller's servers, once connecting servers had time."""
        if not await self._has_feature(caller.user_id):
            return ()
        try:
            available = await self._directory.all_for(caller.user_id, caller.tenant_id)
            found = usable_servers(available)
            if caller.session_id:
                found = await self._sessions.begin_run(
                    caller.session_id, available, last_message_at
                )
        except Unavailable:
            logger.warning("a run goes on without MCP tools: the database does not answer")
            return ()
        specs = sorted(found, key=lambda spec: _PRECEDENCE[spec.scope])
        leased = [self._try_lease(spec, caller) for spec in specs]
        await self._connect_wait.wait([each for each in leased if each is not None], wait_seconds)
        return [
            ServerTool(tool, spec)
            for spec in specs
            for tool in self._catalogue.tools_of(spec.server_id)
            if tool.status != "removed"
        ]

    def _try_lease(self, spec: ServerSpec, caller: Caller) -> ServerConnection | None:
        """Return the connection the session now holds; None if the limit is reached."""
        try:
            return self._lease(spec, caller)
        except LimitReached:
            logger.warning("MCP server %s is left out: too many connections", spec.label)
            return None

    def _lease(self, spec: ServerSpec, caller: Caller) -> ServerConnection:
        return self._pool.lease(spec, user_id=caller.user_id, session_id=caller.session_id)

    def _find(self, spec: ServerSpec, caller: Caller) -> ServerConnection | None:
        return self._pool.find(spec, user_id=caller.user_id, session_id=caller.session_id)

    def _is_ready(self, offered: ServerTool, caller: Caller) -> bool:
        """Whether calls go through: the server is connected, or idle until the next call.

        With credentials of their own a user may see fewer tools of a shared server than others.
        """
        spec = offered.spec
        found = self._find(spec, caller)
        if found is None:
            return False
        status = found.status
        if status.state != "ready":
            return status.state == "idle" and status.last_ok_at is not None
        is_everyones = spec.scope not in SHARED_SCOPES or spec.session_scope == "shared"
        return is_everyones or any(tool.name == offered.tool.name for tool in found.tools)

    # -- what the gateway asks ------------------------------------------------------------------

    async def spec_for(self, server_id: str, caller: Caller) -> ServerSpec | None:
        """See `gateway.CallerContext.spec_for`."""
        available = await self._directory.all_for(caller.user_id, caller.tenant_id)
        found = usable_servers(available)
        if caller.session_id:
            found = await self._sessions.during_run(caller.session_id, available)
        return next((spec for spec in found if spec.server_id == server_id), None)

    async def rights_of(self, caller: Caller) -> Rights:
        """See `gateway.CallerContext.rights_of`."""
        key = caller.api_key_id
        return Rights(
            binding=self._binding_of(caller.agent_id),
            has_feature=await self._has_feature(caller.user_id),
            key_tools=None if key is None else await self._keys.allowed(key),
        )

    def connection(self, spec: ServerSpec, caller: Caller) -> ServerConnection | None:
        """See `gateway.CallerContext.connection`."""
        found = self._find(spec, caller)
        if found is None and caller.session_id:  # a run that outlived its session's rest
            return self._try_lease(spec, caller)
        return found


async def _no_tools() -> Sequence[ServerTool]:
    return ()
