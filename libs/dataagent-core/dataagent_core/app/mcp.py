"""Opens the MCP hub with the core: its stores, limits, confinement, and the agents' bindings."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

from dataagent_core.agents import AgentRegistry
from dataagent_core.app.observers import Observers
from dataagent_core.config import Settings
from dataagent_core.errors import AgentNotFound
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.mcp.caller_context import McpStores
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.connections.connection import ConnectionRules
from dataagent_core.mcp.connections.live_session import HealthRules
from dataagent_core.mcp.connections.pool import PoolLimits
from dataagent_core.mcp.gateway.call_log import CallLog
from dataagent_core.mcp.gateway.tool_access import Binding
from dataagent_core.mcp.hub import HubRules, McpHub
from dataagent_core.mcp.servers.config_files import read_config_file
from dataagent_core.mcp.servers.key_tools import KeyTools
from dataagent_core.mcp.servers.policy import ServerPolicy
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.servers.session_servers import SessionServers
from dataagent_core.mcp.servers.templates import TemplateStore
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire import Confinement, ProcessLimiter
from dataagent_core.network import HostPolicy
from dataagent_core.runs.cluster.bus import Bus
from dataagent_core.sandbox import SandboxLimits
from dataagent_core.storage import Database

logger = logging.getLogger(__name__)
_MCP_PROCESSES = 256  # threads among them, of which Node has many
MCP_TOPIC = "mcp"
"""The bus's topic of MCP servers that were changed and sessions that have ended."""


class AgentBindings:
    """The MCP tools of each agent, once the registry is open."""

    def __init__(self) -> None:
        self._registry: AgentRegistry | None = None

    def set_registry(self, registry: AgentRegistry) -> None:
        """Look agents up here."""
        self._registry = registry

    def __call__(self, agent_id: str) -> Binding | None:
        """As `mcp.authority.BindingOf`."""
        if self._registry is None:
            return None
        try:
            spec = self._registry.resolve(agent_id)
        except AgentNotFound:
            return None
        return Binding(spec.agent_id, spec.name, spec.mcp_tools, spec.allow_user_tools)


class McpComponent:
    """The hub, created before the agents that use it and opened after them."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        tenancy: Tenancy,
        observers: Observers,
        *,
        is_executing: bool,
    ) -> None:
        self._settings = settings
        self._tenancy = tenancy
        self._bindings = AgentBindings()
        self._hosts = HostPolicy(settings.allow_private_hosts)
        self._confinement = _confinement(settings)
        self.hub = McpHub(
            _stores(settings, database),
            ServerPolicy(
                self._hosts,
                stdio=settings.mcp_programs,
                commands=settings.mcp_stdio_commands,
            ),
            self._hosts,
            binding_of=self._bindings,
            has_feature=self._has_feature,
            limits=_limits(settings, self._confinement),
            rules=HubRules(
                is_executing=is_executing,
                wait_seconds=settings.mcp_wait,
                calls_per_minute=settings.mcp_calls_per_minute,
            ),
            traces=observers.traces,
        )

    async def open(self, registry: AgentRegistry, bus: Bus, stack: AsyncExitStack) -> None:
        """Start the hub for these agents; the stack closes it.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        self._bindings.set_registry(registry)
        stack.callback(self._hosts.close)
        if self._confinement is not None:
            stack.push_async_callback(asyncio.to_thread, self._confinement.close)
        stack.push_async_callback(self.hub.aclose)
        await self.hub.open(await asyncio.to_thread(self._defaults))
        if bus.is_shared:
            self.hub.set_publisher(lambda payload: bus.publish(MCP_TOPIC, payload))
            bus.subscribe(MCP_TOPIC, self.hub.on_peer_message)

    def _defaults(self) -> tuple[ServerSpec, ...]:
        """The servers of `mcp_config`; problems in the file are logged."""
        path = self._settings.mcp_config_path
        if path is None:
            return ()
        timeout = self._settings.mcp_timeout
        found = read_config_file(path, expand=False, timeout_seconds=timeout)
        for problem in found.problems:
            logger.warning("DATAAGENT_MCP_CONFIG: %s", problem)
        return found.servers

    async def _has_feature(self, user_id: str) -> bool:
        tenant = await self._tenancy.tenant_of(user_id)
        return tenant is None or tenant.has("mcp")


def _stores(settings: Settings, database: Database) -> McpStores:
    servers = ServerStore(database, secret_key=settings.secret_key)
    return McpStores(
        servers,
        SessionServers(database, servers, idle_seconds=settings.session_timeout),
        TemplateStore(database),
        ToolCatalogue(database),
        CallLog(
            database, spill_dir=settings.home_dir / "mcp", keep_days=settings.mcp_call_log_days
        ),
        KeyTools(database),
    )


def _limits(settings: Settings, wall: Confinement | None) -> PoolLimits:
    health = HealthRules(interval_seconds=settings.mcp_health_interval)
    return PoolLimits(
        max_per_user=max(1, settings.mcp_max_servers),
        connection=ConnectionRules(health=health, confinement=wall),
    )


def _confinement(settings: Settings) -> Confinement | None:
    """The confinement of programs; None where users may start any program."""
    if settings.mcp_programs == "any":
        return None
    limits = SandboxLimits(
        memory_bytes=settings.mcp_memory,
        cpus=settings.mcp_cpus,
        processes=_MCP_PROCESSES,
    )
    return Confinement(
        settings.home_dir / "mcp-homes",
        hidden=[settings.home_dir, settings.workspaces_dir],
        limiter=ProcessLimiter(limits),
    )
