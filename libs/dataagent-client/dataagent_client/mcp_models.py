"""MCP servers, tools, allow-lists and calls, as the server shows them. Shapes and their parsers.

Secrets never come back: `env` and `headers` have the names, with dots for values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

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
    """A tool as its server describes it, and as it stands in the catalogue."""

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
