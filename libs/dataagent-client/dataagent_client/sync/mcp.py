"""The sync twin of `mcp.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Unpack

from dataagent_client.mcp import (
    AllowedTool,
    Allowlist,
    CatalogueTool,
    McpAdmin,
    McpCall,
    McpCalls,
    McpServer,
    McpTemplate,
    McpTemplates,
    McpTrial,
    SharedMcpServer,
    SharedServerSettings,
    TemplateSettings,
    ToolDiff,
    UserServerSettings,
)
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal


class SyncMcpCalls:
    """What users do with their MCP servers; administrators may do it for any user."""

    def __init__(self, portal: Portal, calls: McpCalls) -> None:
        self._portal = portal
        self._calls = calls
        self.admin = SyncMcpAdmin(portal, calls.admin)
        self.templates = SyncMcpTemplates(portal, calls.templates)

    def servers(self, user_id: str, *, include_shared: bool = False) -> Page[McpServer]:
        """The user's own servers, each with its status and tools, by name.

        With `include_shared` the shared ones they have are among them; `scope` says which.
        """
        return self._portal.call(self._calls.servers(user_id, include_shared=include_shared))

    def server(self, user_id: str, name: str) -> McpServer:
        """One of them, with its status now. `NotFoundError` if there is none."""
        return self._portal.call(self._calls.server(user_id, name))

    def add(self, user_id: str, name: str, **settings: Unpack[UserServerSettings]) -> McpServer:
        """Add a server; sessions that begin from now on can use it.

        Raises:
            ConflictError: the user has one of that name.
            LimitError: they have as many as they may.
        """
        return self._portal.call(self._calls.add(user_id, name, **settings))

    def update(self, user_id: str, name: str, **settings: Unpack[UserServerSettings]) -> McpServer:
        """Change a server; what is not named stays, its secrets too.

        Sessions in progress go on with it as it was, unless it is disabled.
        """
        return self._portal.call(self._calls.update(user_id, name, **settings))

    def delete(self, user_id: str, name: str) -> None:
        """Forget a server with its secrets; it is disconnected at once, everywhere."""
        return self._portal.call(self._calls.delete(user_id, name))

    def test(self, user_id: str, name: str) -> McpTrial:
        """Connect now and list the tools."""
        return self._portal.call(self._calls.test(user_id, name))

    def set_credentials(
        self,
        user_id: str,
        name: str,
        *,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> McpServer:
        """Keep the user's own credentials for a shared server; with none they are forgotten."""
        return self._portal.call(
            self._calls.set_credentials(user_id, name, headers=headers, env=env)
        )


class SyncMcpAdmin:
    """The registry, the catalogue, allow-lists and the call log. For an administrator's key."""

    def __init__(self, portal: Portal, calls: McpAdmin) -> None:
        self._portal = portal
        self._calls = calls

    def servers(
        self, *, scope: str | None = None, tenant_id: str | None = None, user_id: str | None = None
    ) -> Page[SharedMcpServer]:
        """All servers that fit, users' too."""
        return self._portal.call(
            self._calls.servers(scope=scope, tenant_id=tenant_id, user_id=user_id)
        )

    def server(self, server_id: str) -> SharedMcpServer:
        """A server with its status and tools."""
        return self._portal.call(self._calls.server(server_id))

    def add(
        self,
        name: str,
        *,
        server_id: str | None = None,
        scope: str = "global",
        tenant_id: str | None = None,
        **settings: Unpack[SharedServerSettings],
    ) -> SharedMcpServer:
        """Register a server for everyone, or for one tenant (`scope="tenant"`).

        Raises:
            ConflictError: its id or its name is taken.
        """
        return self._portal.call(
            self._calls.add(name, server_id=server_id, scope=scope, tenant_id=tenant_id, **settings)
        )

    def update(self, server_id: str, **settings: Unpack[SharedServerSettings]) -> SharedMcpServer:
        """Change a server; what is not named stays, its secrets too."""
        return self._portal.call(self._calls.update(server_id, **settings))

    def delete(self, server_id: str) -> None:
        """Forget a server with its secrets and tools."""
        return self._portal.call(self._calls.delete(server_id))

    def enable(self, server_id: str) -> SharedMcpServer:
        """Let a server be used."""
        return self._portal.call(self._calls.enable(server_id))

    def disable(self, server_id: str) -> SharedMcpServer:
        """Disable a server for everyone; its registration stays."""
        return self._portal.call(self._calls.disable(server_id))

    def test(self, server_id: str) -> McpTrial:
        """Connect and list the tools, changing nothing."""
        return self._portal.call(self._calls.test(server_id))

    def refresh(self, server_id: str) -> McpTrial:
        """Connect anew and read the tools again."""
        return self._portal.call(self._calls.refresh(server_id))

    def tools(
        self,
        *,
        server_id: str | None = None,
        status: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Page[CatalogueTool]:
        """The catalogue: tools in use, in quarantine, and those that are gone."""
        return self._portal.call(
            self._calls.tools(server_id=server_id, status=status, limit=limit, offset=offset)
        )

    def tool(self, tool_id: int) -> CatalogueTool:
        """One of them."""
        return self._portal.call(self._calls.tool(tool_id))

    def set_tool(
        self,
        tool_id: int,
        *,
        enabled: bool | None = None,
        retry_safe: bool | None = None,
        timeout: float | None = None,
    ) -> CatalogueTool:
        """Switch a tool on or off, say how long it may take, and whether it may be tried again."""
        return self._portal.call(
            self._calls.set_tool(tool_id, enabled=enabled, retry_safe=retry_safe, timeout=timeout)
        )

    def diff(self, tool_id: int) -> ToolDiff:
        """What its server changed in a tool since it was approved."""
        return self._portal.call(self._calls.diff(tool_id))

    def approve(self, tool_id: int, definition_hash: str) -> CatalogueTool:
        """Let a tool be used as it is now. `ConflictError` if that is not what was looked at."""
        return self._portal.call(self._calls.approve(tool_id, definition_hash))

    def allowlist(self, *, agent_id: str | None = None, api_key_id: str | None = None) -> Allowlist:
        """The tools of shared servers an agent, or a key, may use. Name one of the two."""
        return self._portal.call(self._calls.allowlist(agent_id=agent_id, api_key_id=api_key_id))

    def replace_allowlist(
        self,
        tools: Iterable[AllowedTool] | None,
        *,
        agent_id: str | None = None,
        api_key_id: str | None = None,
    ) -> Allowlist:
        """Replace the whole list of an agent or a key; None lifts the limit of a key.

        Raises:
            ConflictError: a run of the agent is active.
        """
        return self._portal.call(
            self._calls.replace_allowlist(tools, agent_id=agent_id, api_key_id=api_key_id)
        )

    def calls(
        self,
        *,
        tenant_id: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        server_id: str | None = None,
        tool_name: str | None = None,
        status: str | None = None,
        trace_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Page[McpCall]:
        """Calls that fit, the newest first."""
        return self._portal.call(
            self._calls.calls(
                tenant_id=tenant_id,
                user_id=user_id,
                session_id=session_id,
                agent_id=agent_id,
                server_id=server_id,
                tool_name=tool_name,
                status=status,
                trace_id=trace_id,
                since=since,
                until=until,
                limit=limit,
                offset=offset,
            )
        )


class SyncMcpTemplates:
    """Commands that users may start with parameters of their own; written by administrators."""

    def __init__(self, portal: Portal, calls: McpTemplates) -> None:
        self._portal = portal
        self._calls = calls

    def list(self) -> Page[McpTemplate]:
        """All templates; the command is visible to administrators."""
        return self._portal.call(self._calls.list())

    def create(self, name: str, command: str, **more: Unpack[TemplateSettings]) -> McpTemplate:
        """Add a template."""
        return self._portal.call(self._calls.create(name, command, **more))

    def get(self, template_id: str) -> McpTemplate:
        """A template."""
        return self._portal.call(self._calls.get(template_id))

    def replace(
        self, template_id: str, name: str, command: str, **more: Unpack[TemplateSettings]
    ) -> McpTemplate:
        """Say anew what a template is."""
        return self._portal.call(self._calls.replace(template_id, name, command, **more))

    def delete(self, template_id: str) -> None:
        """Remove a template."""
        return self._portal.call(self._calls.delete(template_id))
