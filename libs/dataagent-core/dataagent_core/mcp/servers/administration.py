"""Shared MCP servers and their tools, for administrators.

A shared server belongs to the installation or to one tenant. Its tools are used by the agents they
are bound to, and a changed definition waits until it is approved. The server's routes check that
the caller is an administrator.
"""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dataagent_core.errors import BadInput, Denied, ToolNotFound
from dataagent_core.identity import Principal
from dataagent_core.mcp.catalogue.definitions import DefinitionDiff
from dataagent_core.mcp.servers.registration import NewServer, ServerChanges, ServerFields
from dataagent_core.mcp.servers.server_views import (
    ServerView,
    Trial,
    apply_fields,
    complete_fields,
    run_trial,
    view_of,
)
from dataagent_core.mcp.types import CatalogueTool, Scope, ServerSpec, ToolStatus

if TYPE_CHECKING:
    from dataagent_core.mcp.hub import McpHub

SharedScope = Literal["global", "tenant"]


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool named by its server and its own name."""

    server_id: str
    tool_name: str


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The MCP tools an agent or an API key may use; None for a key that is not restricted."""

    agent_id: str | None
    api_key_id: str | None
    tools: tuple[ToolName, ...] | None


BoundTools = Callable[[str], Awaitable[frozenset[int]]]
"""The numbers of an agent's MCP tools."""
BindTools = Callable[[str, Iterable[int]], Awaitable[None]]
"""Replaces an agent's MCP tools."""


class McpAdministration:
    """The registry of shared servers, the catalogue and the allow-lists."""

    def __init__(
        self, hub: McpHub, *, bound: BoundTools, bind: BindTools, timeout_seconds: float
    ) -> None:
        """`timeout_seconds` is the default for connecting."""
        self._hub = hub
        self._timeout_seconds = timeout_seconds
        self._bound = bound
        self._bind = bind

    # -- servers --------------------------------------------------------------------------------

    async def list(
        self,
        *,
        scope: Scope | None = None,
        tenant_id: str | None = None,
        user_id: str | None = None,
    ) -> builtins.list[ServerView]:
        """Return the matching servers, users' too, by scope and name."""
        found = await self._hub.servers.list(scope=scope, tenant_id=tenant_id, user_id=user_id)
        ordered = sorted(found, key=lambda s: (s.scope, s.tenant_id, s.user_id, s.name))
        return [await self._view(spec) for spec in ordered]

    async def get(self, server_id: str) -> ServerView:
        """Return a server. Raises: `ServerNotFound`."""
        return await self._view(await self._hub.servers.get(server_id))

    async def add(
        self,
        name: str,
        sent: ServerFields,
        *,
        scope: SharedScope,
        tenant_id: str,
        by: str,
        server_id: str | None = None,
    ) -> ServerView:
        """Register a shared server; without a `server_id` one is generated.

        Raises:
            BadInput: it cannot be reached as it is described.
            ServerNotAllowed: the installation's policy keeps everyone from it.
            Conflict: there is one of that id, or of that name for the same people.
        """
        if (scope == "tenant") != bool(tenant_id):
            raise BadInput("A tenant's server names its `tenant_id`; a global one has none.")
        fields = complete_fields(sent)
        fields.setdefault("connect_timeout_seconds", self._timeout_seconds)
        new = NewServer(name=name, scope=scope, server_id=server_id, tenant_id=tenant_id, **fields)
        self._hub.policy.check(new, is_admin=True)
        spec = await self._hub.servers.create(new, by=by)
        await self._hub.changed(spec, "added")
        return await self._view(spec)

    async def change(self, server_id: str, sent: ServerFields, *, by: str) -> ServerView:
        """Change a server; omitted fields stay as they are.

        Raises:
            ServerNotFound: there is none.
            Others: as `add`.
        """
        spec = await self._hub.servers.get(server_id)
        fields = complete_fields(sent, spec)
        self._hub.policy.check(apply_fields(spec, fields), is_admin=True)
        spec = await self._hub.servers.update(server_id, ServerChanges(**fields), by=by)
        await self._hub.changed(spec, "updated")
        return await self._view(spec)

    async def remove(self, server_id: str) -> None:
        """Delete a server with its secrets; its tools leave every allow-list.

        Raises:
            ServerNotFound: there is none.
        """
        spec = await self._hub.servers.get(server_id)
        await self._hub.servers.delete(server_id)
        await self._hub.changed(spec, "removed")

    async def refresh(self, server_id: str, *, by: str) -> Trial:
        """Reconnect and list the server's tools again.

        Raises:
            ServerNotFound: there is none.
        """
        await self._hub.restart(await self._hub.servers.get(server_id))
        return await self.test(server_id, by=by)

    async def test(self, server_id: str, *, by: str) -> Trial:
        """Connect to a server now, and return how that went.

        Raises:
            ServerNotFound: there is none.
        """
        spec = await self._hub.servers.get(server_id)
        return await run_trial(self._hub, spec, user_id=spec.user_id or by)

    async def _view(self, spec: ServerSpec) -> ServerView:
        return await view_of(self._hub, spec, user_id=spec.user_id)

    # -- tools ----------------------------------------------------------------------------------

    async def tools(
        self, *, server_id: str | None = None, status: ToolStatus | None = None
    ) -> builtins.list[CatalogueTool]:
        """Return the matching tools of the catalogue, by number."""
        return await self._hub.catalogue.list(server_id=server_id, status=status)

    async def tool(self, tool_id: int) -> CatalogueTool:
        """Return a tool of the catalogue. Raises: `ToolNotFound`."""
        return await self._hub.catalogue.find(tool_id)

    async def diff(self, tool_id: int) -> DefinitionDiff:
        """Return what changed since the tool was approved. Raises: `ToolNotFound`."""
        return await self._hub.catalogue.diff(tool_id)

    async def approve(self, tool_id: int, *, definition_hash: str, by: Principal) -> CatalogueTool:
        """Approve the reviewed definition, and believe it if it says that it only reads.

        Administrators do so for any tool, users for those of their own servers.

        Raises:
            Denied: the caller is neither an administrator nor the owner of the tool's server.
            ToolNotFound: there is none.
            Conflict: it has changed once more since.
        """
        if not by.is_admin and not await self._is_own(tool_id, by.user_id):
            raise Denied("Only an administrator, or the owner of its server, may approve a tool.")
        tool = await self._hub.catalogue.approve(
            tool_id, by=by.user_id, definition_hash=definition_hash
        )
        await self._hub.publish_tools_change(tool.server_id)
        return tool

    async def _is_own(self, tool_id: int, user_id: str) -> bool:
        """Whether a tool belongs to one of the user's own servers."""
        try:
            tool = await self._hub.catalogue.find(tool_id)
        except ToolNotFound:
            return False
        own = await self._hub.servers.list(scope="user", user_id=user_id)
        return tool.server_id in {spec.server_id for spec in own}

    async def set_tool(
        self,
        tool_id: int,
        *,
        enabled: bool | None,
        retry_safe: bool | None,
        timeout_seconds: float | None,
        is_timeout_set: bool,
    ) -> CatalogueTool:
        """Enable or disable a tool, and set whether it may be retried and its timeout.

        Raises:
            ToolNotFound: there is none.
        """
        tool = await self.tool(tool_id)
        changed = await self._hub.catalogue.set(
            tool_id,
            enabled=tool.enabled if enabled is None else enabled,
            retry_safe=tool.retry_safe if retry_safe is None else retry_safe,
            timeout_seconds=timeout_seconds if is_timeout_set else tool.timeout_seconds,
        )
        await self._hub.publish_tools_change(tool.server_id)
        return changed

    # -- allow-lists ----------------------------------------------------------------------------

    async def allowlist(self, *, agent_id: str | None, api_key_id: str | None) -> Allowlist:
        """Return which MCP tools an agent or a key may use.

        Raises:
            BadInput: not exactly one of them is named.
            AgentNotFound, NotFound: there is none.
        """
        agent, key = _one_subject(agent_id, api_key_id)
        numbers = await (self._bound(agent) if agent else self._hub.keys.allowed(key))
        tools = None if numbers is None else tuple(await self._names(numbers))
        return Allowlist(agent_id, api_key_id, tools)

    async def replace_allowlist(
        self,
        tools: Sequence[ToolName] | None,
        *,
        agent_id: str | None,
        api_key_id: str | None,
    ) -> Allowlist:
        """Replace the tools an agent or a key may use; None lifts a key's restriction.

        Raises:
            BadInput: not exactly one of them is named, or an agent's list is None.
            ToolNotFound: a tool is not in the catalogue, or a user's own.
            AgentBusy: a run of the agent is active.
            AgentNotFound, NotFound: there is no such agent or key.
        """
        agent, key = _one_subject(agent_id, api_key_id)
        if agent and tools is None:
            raise BadInput("An agent has a list of tools: send [] for none.")
        numbers = None if tools is None else await self._numbers(tools)
        if agent:
            await self._bind(agent, numbers or ())
        else:
            await self._hub.keys.replace(key, numbers)
        return await self.allowlist(agent_id=agent_id, api_key_id=api_key_id)

    async def _numbers(self, wanted: Sequence[ToolName]) -> frozenset[int]:
        shared = await self._hub.catalogue.list()
        numbers = {ToolName(tool.server_id, tool.name): tool.tool_id for tool in shared}
        for each in wanted:
            if each not in numbers:
                raise ToolNotFound(
                    f"Shared server {each.server_id[:64]!r} has no tool {each.tool_name[:128]!r}."
                )
        return frozenset(numbers[each] for each in wanted)

    async def _names(self, numbers: Iterable[int]) -> builtins.list[ToolName]:
        wanted = frozenset(numbers)
        shared = await self._hub.catalogue.list()
        return [ToolName(t.server_id, t.name) for t in shared if t.tool_id in wanted]


def _one_subject(agent_id: str | None, api_key_id: str | None) -> tuple[str, str]:
    if bool(agent_id) == bool(api_key_id):
        raise BadInput("An allow-list is an agent's or a key's: name `agent_id` or `api_key_id`.")
    return agent_id or "", api_key_id or ""
