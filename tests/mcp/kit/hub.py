"""Our hub on a database of its own, and people who each have a server of their own in it."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from dataagent_core.mcp.caller_context import McpStores
from dataagent_core.mcp.catalogue.catalogue import ToolCatalogue
from dataagent_core.mcp.connections.connection import Backoff, ConnectionRules
from dataagent_core.mcp.connections.pool import PoolLimits
from dataagent_core.mcp.gateway.call_log import CallLog
from dataagent_core.mcp.gateway.tool_access import Binding, RunTools
from dataagent_core.mcp.hub import McpHub
from dataagent_core.mcp.servers.key_tools import KeyTools
from dataagent_core.mcp.servers.policy import ServerPolicy
from dataagent_core.mcp.servers.registration import NewServer
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.servers.session_servers import SessionServers
from dataagent_core.mcp.servers.templates import TemplateStore
from dataagent_core.mcp.types import (
    CallOutcome,
    CatalogueTool,
    ConnectionStatus,
    JsonObject,
    OnElicit,
    OnProgress,
    ServerSpec,
)
from dataagent_core.network import HostPolicy
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate

AGENT = "agent"
_QUICK = ConnectionRules(backoff=Backoff(first_seconds=0.1, most_seconds=1.0))


@dataclass(frozen=True)
class Owner:
    """A user with one server, in one session: what their agent's runs have of it."""

    hub: McpHub
    spec: ServerSpec

    async def tools(self, wait_seconds: float = 30.0) -> RunTools:
        """What a run that begins now has."""
        user_id = self.spec.user_id
        return await self.hub.tools_for(
            user_id=user_id, session_id=f"session of {user_id}", wait_seconds=wait_seconds
        )

    async def visible(self, wait_seconds: float = 30.0) -> dict[str, CatalogueTool]:
        """The tools that can be called now, by their server's own name."""
        tools = await self.tools(wait_seconds)
        return {tool.name: tool for tool in await tools.visible(AGENT)}

    async def call(
        self,
        tool: CatalogueTool,
        arguments: JsonObject,
        *,
        on_progress: OnProgress | None = None,
        on_elicit: OnElicit | None = None,
    ) -> CallOutcome:
        """Call a tool as an agent's run does."""
        caller = (await self.tools(0)).caller(AGENT)
        return await self.hub.gateway.call(
            tool.tool_id, arguments, caller, on_progress=on_progress, on_elicit=on_elicit
        )

    async def status(self) -> ConnectionStatus:
        """How the connection is."""
        return await self.hub.status_of(self.spec, user_id=self.spec.user_id)

    async def leave(self) -> None:
        """Unregister the server."""
        await self.hub.servers.delete(self.spec.server_id)
        await self.hub.changed(self.spec, "removed")


async def owner_of(hub: McpHub, name: str, **given: Any) -> Owner:
    """A new user who registers a server; `env` and `headers` as plain text."""
    user_id = f"user_{uuid.uuid4().hex[:8]}"
    for secrets in ("env", "headers"):
        given[secrets] = {key: SecretStr(text) for key, text in given.get(secrets, {}).items()}
    new = NewServer(name=name, scope="user", user_id=user_id, **given)
    spec = await hub.servers.create(new, by=user_id)
    await hub.changed(spec, "added")
    return Owner(hub, spec)


@asynccontextmanager
async def open_hub(rules: ConnectionRules = _QUICK) -> AsyncGenerator[McpHub]:
    """A hub that may reach this machine; it tries again sooner than a product would."""
    with tempfile.TemporaryDirectory(prefix="dataagent-mcp-") as folder:
        database = open_database(f"sqlite:///{folder}/hub.sqlite")
        hosts = HostPolicy(["127.0.0.1", "localhost"])
        await migrate(database)
        servers = ServerStore(database)
        stores = McpStores(
            servers,
            SessionServers(database, servers),
            TemplateStore(database),
            ToolCatalogue(database),
            CallLog(database, spill_dir=Path(folder) / "spilled"),
            KeyTools(database),
        )
        hub = McpHub(
            stores,
            ServerPolicy(hosts, stdio="any"),
            hosts,
            binding_of=lambda agent_id: Binding(agent_id, agent_id),
            limits=PoolLimits(connection=rules),
        )
        try:
            await hub.open()
            yield hub
        finally:
            await hub.aclose()
            hosts.close()
            await database.close()
