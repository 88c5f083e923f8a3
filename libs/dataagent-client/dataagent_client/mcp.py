"""MCP servers as `client.mcp`: a user's own, and below `admin` those of an administrator.

Only reads are repeated when the connection fails: after a lost answer a change may have been made.
Secrets are never returned: `env` and `headers` have the names, with dots for values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypedDict, Unpack

import orjson

from dataagent_client.http import Http, child_path
from dataagent_client.models import Page, parse_page
from dataagent_client.parsing import JsonDict, make_parser


class ServerSettings(TypedDict, total=False):
    """What can be said of a server; what is left out stays as it is, or is the default."""

    transport: str
    """`stdio`, `sse`, `streamable_http`, or `auto`."""
    command: str
    args: list[str]
    env: dict[str, str]
    url: str
    headers: dict[str, str]
    timeout: float
    call_timeout: float
    disabled: bool


class UserServerSettings(ServerSettings, total=False):
    """Of a user's own server: an administrator's template may stand in place of a command."""

    template: str
    parameters: dict[str, str]


class SharedServerSettings(ServerSettings, total=False):
    """Of a server that many use."""

    alias: str
    cwd: str
    proxy_url: str
    session_scope: str
    """Who shares a connection: `shared`, `user` or `session`."""
    max_concurrency: int
    on_change: str
    """What happens to a tool whose definition changes: `accept` or `quarantine`."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of a server, in short."""

    id: int
    name: str
    exposed_name: str
    description: str
    status: str
    enabled: bool
    annotations: JsonDict = field(default_factory=dict[str, Any])
    asks_first: bool = True
    definition_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server a user has; of a shared one it is not said how it is reached."""

    name: str
    scope: str
    transport: str
    command: str | None
    args: tuple[str, ...]
    env: dict[str, str]
    url: str | None
    headers: dict[str, str]
    template: str | None
    timeout: float
    call_timeout: float
    disabled: bool
    has_credentials: bool
    status: str
    """`connected`, `disconnected` or `error`."""
    status_detail: str
    tools: tuple[McpTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMcpServer(McpServer):
    """A server as administrators see it."""

    server_id: str
    alias: str
    tenant_id: str | None
    user_id: str | None
    cwd: str | None
    proxy_url: str | None
    session_scope: str
    max_concurrency: int
    on_change: str
    protocol_version: str | None
    server_info: JsonDict | None
    fail_count: int
    next_retry_at: datetime | None
    last_ok_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTrial:
    """What came of trying a server out; one that does not answer is not `ok`."""

    ok: bool
    status: str
    status_detail: str
    protocol_version: str | None
    server_info: JsonDict | None
    duration_ms: float
    tools: tuple[McpTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueTool:
    """A tool as its server describes it, with its state in the catalogue."""

    id: int
    server_id: str
    name: str
    exposed_name: str
    title: str | None
    description: str
    input_schema: JsonDict
    output_schema: JsonDict | None
    annotations: JsonDict
    schema_version: int
    definition_hash: str
    status: str
    """`active`, `quarantined` or `removed`."""
    enabled: bool
    retry_safe: bool
    timeout: float | None
    asks_first: bool
    first_seen_at: datetime | None
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDiff:
    """What changed in a tool since it was approved."""

    id: int
    definition_hash: str
    changed: tuple[str, ...]
    approved: JsonDict | None
    current: JsonDict
    text: str


@dataclass(frozen=True, slots=True)
class AllowedTool:
    """A tool of a shared server."""

    server_id: str
    tool_name: str


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The tools of shared servers an agent, or an API key, may use; None: a key without a limit."""

    agent_id: str | None
    api_key_id: str | None
    tools: tuple[AllowedTool, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateParameter:
    """What a user fills in; a secret one is never shown again."""

    name: str
    description: str = ""
    is_secret: bool = False
    is_required: bool = True
    pattern: str | None = None


class TemplateSettings(TypedDict, total=False):
    """What else can be said of a template; `{NAME}` in it is a parameter's value."""

    description: str
    args: list[str]
    env: dict[str, str]
    parameters: list[TemplateParameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTemplate:
    """A command users may start with their own parameters; only administrators see the command."""

    template_id: str
    name: str
    description: str
    parameters: tuple[TemplateParameter, ...]
    command: str | None
    args: tuple[str, ...] | None
    env: dict[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpCall:
    """A call of a tool: on whose behalf, of what, and how it ended. Never what was said."""

    call_id: str
    trace_id: str
    span_id: str
    tenant_id: str | None
    user_id: str
    session_id: str
    agent_id: str
    api_key_id: str | None
    server_id: str
    tool_id: int | None
    tool_name: str
    schema_version: int | None
    definition_hash: str | None
    protocol_version: str | None
    connection_generation: int | None
    started_at: datetime
    ended_at: datetime | None
    duration_ms: float | None
    queue_ms: float | None
    attempts: int
    input_valid: bool | None
    output_valid: bool | None
    status: str
    error_code: str | None
    error_message: str | None
    args_redacted: dict[str, str] | None
    result_bytes: int | None


parse_server = make_parser(McpServer, "MCP server")
parse_shared_server = make_parser(SharedMcpServer, "MCP server")
parse_trial = make_parser(McpTrial, "trial")
parse_catalogue_tool = make_parser(CatalogueTool, "MCP tool")
parse_diff = make_parser(ToolDiff, "difference")
parse_allowlist = make_parser(Allowlist, "allow-list")
parse_call = make_parser(McpCall, "call")
parse_template = make_parser(McpTemplate, "template")


_SERVERS, _TOOLS, _ALLOWLISTS = "mcp/servers", "mcp/tools", "mcp/allowlists"
_TEMPLATES = "mcp/templates"
_NULL = orjson.Fragment(b"null")  # said, while an option that is None is not sent


class McpCalls:
    """What users do with their MCP servers; administrators may do it for any user."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.admin = McpAdmin(http)
        self.templates = McpTemplates(http)

    async def servers(self, user_id: str, *, include_shared: bool = False) -> Page[McpServer]:
        """The user's own servers, each with its status and tools, by name.

        With `include_shared` the shared ones they have are among them; `scope` says which.
        """
        params = {"include": "shared" if include_shared else None}
        return parse_page(
            await self._http.request("GET", _of(user_id), params=params), parse_server
        )

    async def server(self, user_id: str, name: str) -> McpServer:
        """One of them, with its status now. `NotFoundError` if there is none."""
        return parse_server(await self._http.request("GET", _of(user_id, name)))

    async def add(
        self, user_id: str, name: str, **settings: Unpack[UserServerSettings]
    ) -> McpServer:
        """Add a server; sessions that begin from now on can use it.

        Raises:
            ConflictError: the user has one of that name.
            LimitError: they have as many as they may.
        """
        body = {"name": name, **settings}
        return parse_server(await self._http.request("POST", _of(user_id), body=body))

    async def update(
        self, user_id: str, name: str, **settings: Unpack[UserServerSettings]
    ) -> McpServer:
        """Change a server; what is not named stays, its secrets too.

        Sessions in progress go on with it as it was, unless it is disabled.
        """
        found = await self._http.request("PUT", _of(user_id, name), body=dict(settings))
        return parse_server(found)

    async def delete(self, user_id: str, name: str) -> None:
        """Forget a server with its secrets; it is disconnected at once, everywhere."""
        await self._http.request("DELETE", _of(user_id, name))

    async def test(self, user_id: str, name: str) -> McpTrial:
        """Connect now and list the tools."""
        path = f"{_of(user_id, name)}/test"
        return parse_trial(await self._http.request("POST", path, has_time=True))

    async def set_credentials(
        self,
        user_id: str,
        name: str,
        *,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> McpServer:
        """Keep the user's own credentials for a shared server; with none they are forgotten."""
        body = {"headers": dict(headers or {}), "env": dict(env or {})}
        path = f"{_of(user_id, name)}/credentials"
        return parse_server(await self._http.request("PUT", path, body=body))


class McpAdmin:
    """The registry, the catalogue, allow-lists and the call log. For an administrator's key."""

    def __init__(self, http: Http) -> None:
        self._http = http

    # -- servers ------------------------------------------------------------------------------

    async def servers(
        self, *, scope: str | None = None, tenant_id: str | None = None, user_id: str | None = None
    ) -> Page[SharedMcpServer]:
        """All servers that fit, users' too."""
        params = {"scope": scope, "tenant_id": tenant_id, "user_id": user_id}
        found = await self._http.request("GET", _SERVERS, params=params)
        return parse_page(found, parse_shared_server)

    async def server(self, server_id: str) -> SharedMcpServer:
        """A server with its status and tools."""
        return parse_shared_server(await self._http.request("GET", child_path(_SERVERS, server_id)))

    async def add(
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
        body = {"server_id": server_id, "name": name, "scope": scope, "tenant_id": tenant_id}
        body |= settings
        return parse_shared_server(await self._http.request("POST", _SERVERS, body=body))

    async def update(
        self, server_id: str, **settings: Unpack[SharedServerSettings]
    ) -> SharedMcpServer:
        """Change a server; what is not named stays, its secrets too."""
        path = child_path(_SERVERS, server_id)
        return parse_shared_server(await self._http.request("PUT", path, body=dict(settings)))

    async def delete(self, server_id: str) -> None:
        """Forget a server with its secrets and tools."""
        await self._http.request("DELETE", child_path(_SERVERS, server_id))

    async def enable(self, server_id: str) -> SharedMcpServer:
        """Let a server be used."""
        path = f"{child_path(_SERVERS, server_id)}/enable"
        return parse_shared_server(await self._http.request("POST", path, is_repeatable=True))

    async def disable(self, server_id: str) -> SharedMcpServer:
        """Disable a server for everyone; its registration stays."""
        path = f"{child_path(_SERVERS, server_id)}/disable"
        return parse_shared_server(await self._http.request("POST", path, is_repeatable=True))

    async def test(self, server_id: str) -> McpTrial:
        """Connect and list the tools, changing nothing."""
        path = f"{child_path(_SERVERS, server_id)}/test"
        return parse_trial(await self._http.request("POST", path, has_time=True))

    async def refresh(self, server_id: str) -> McpTrial:
        """Connect anew and read the tools again."""
        path = f"{child_path(_SERVERS, server_id)}/refresh"
        return parse_trial(await self._http.request("POST", path, has_time=True))

    # -- tools --------------------------------------------------------------------------------

    async def tools(
        self,
        *,
        server_id: str | None = None,
        status: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Page[CatalogueTool]:
        """The catalogue: tools in use, in quarantine, and those that are gone."""
        params = {"server_id": server_id, "status": status, "limit": limit, "offset": offset}
        found = await self._http.request("GET", _TOOLS, params=params)
        return parse_page(found, parse_catalogue_tool)

    async def tool(self, tool_id: int) -> CatalogueTool:
        """One of them."""
        return parse_catalogue_tool(
            await self._http.request("GET", child_path(_TOOLS, str(tool_id)))
        )

    async def set_tool(
        self,
        tool_id: int,
        *,
        enabled: bool | None = None,
        retry_safe: bool | None = None,
        timeout: float | None = None,
    ) -> CatalogueTool:
        """Switch a tool on or off, say how long it may take, and whether it may be tried again."""
        body = {"enabled": enabled, "retry_safe": retry_safe, "timeout": timeout}
        found = await self._http.request("PATCH", child_path(_TOOLS, str(tool_id)), body=body)
        return parse_catalogue_tool(found)

    async def diff(self, tool_id: int) -> ToolDiff:
        """What its server changed in a tool since it was approved."""
        path = f"{child_path(_TOOLS, str(tool_id))}/diff"
        return parse_diff(await self._http.request("GET", path))

    async def approve(self, tool_id: int, definition_hash: str) -> CatalogueTool:
        """Let a tool be used as it is now. `ConflictError` if that is not what was looked at."""
        path = f"{child_path(_TOOLS, str(tool_id))}/approve"
        body = {"definition_hash": definition_hash}
        return parse_catalogue_tool(await self._http.request("POST", path, body=body))

    # -- who may use them ---------------------------------------------------------------------

    async def allowlist(
        self, *, agent_id: str | None = None, api_key_id: str | None = None
    ) -> Allowlist:
        """The tools of shared servers an agent, or a key, may use. Name one of the two."""
        params = {"agent_id": agent_id, "api_key_id": api_key_id}
        return parse_allowlist(await self._http.request("GET", _ALLOWLISTS, params=params))

    async def replace_allowlist(
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
        named = [{"server_id": each.server_id, "tool_name": each.tool_name} for each in tools or ()]
        subject = {"agent_id": agent_id} if agent_id is not None else {"api_key_id": api_key_id}
        body = {**subject, "tools": _NULL if tools is None else named}
        return parse_allowlist(await self._http.request("PUT", _ALLOWLISTS, body=body))

    # -- calls --------------------------------------------------------------------------------

    async def calls(
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
        params = {
            "tenant_id": tenant_id,
            "trace_id": trace_id,
            "user_id": user_id,
            "session_id": session_id,
            "agent_id": agent_id,
            "server_id": server_id,
            "tool_name": tool_name,
            "status": status,
            "from": None if since is None else since.isoformat(),
            "to": None if until is None else until.isoformat(),
            "limit": limit,
            "offset": offset,
        }
        return parse_page(await self._http.request("GET", "mcp/calls", params=params), parse_call)


class McpTemplates:
    """Commands that users may start with parameters of their own; written by administrators."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self) -> Page[McpTemplate]:
        """All templates; the command is visible to administrators."""
        return parse_page(await self._http.request("GET", _TEMPLATES), parse_template)

    async def create(
        self, name: str, command: str, **more: Unpack[TemplateSettings]
    ) -> McpTemplate:
        """Add a template."""
        body = _template(name, command, more)
        return parse_template(await self._http.request("POST", _TEMPLATES, body=body))

    async def get(self, template_id: str) -> McpTemplate:
        """A template."""
        return parse_template(await self._http.request("GET", child_path(_TEMPLATES, template_id)))

    async def replace(
        self, template_id: str, name: str, command: str, **more: Unpack[TemplateSettings]
    ) -> McpTemplate:
        """Say anew what a template is."""
        path, body = child_path(_TEMPLATES, template_id), _template(name, command, more)
        return parse_template(await self._http.request("PUT", path, body=body, is_repeatable=True))

    async def delete(self, template_id: str) -> None:
        """Remove a template."""
        await self._http.request("DELETE", child_path(_TEMPLATES, template_id))


def _template(name: str, command: str, more: TemplateSettings) -> dict[str, Any]:
    parameters = [asdict(each) for each in more.get("parameters", ())]
    return {"name": name, "command": command, **more, "parameters": parameters}


def _of(user_id: str, name: str | None = None) -> str:
    path = f"{child_path('users', user_id)}/mcp-servers"
    return path if name is None else child_path(path, name)
