"""MCP servers, tools, calls and outcomes as plain data.

Registration (`ServerSpec`), catalogue (`CatalogueTool`), binding (in `agents/` and on API keys) and
connection (`ServerState`) are four separate things. Nothing here imports the `mcp` package, a
database or LangChain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import SecretStr

JsonObject = dict[str, Any]

# -- registration ---------------------------------------------------------------------------------

Scope = Literal["global", "tenant", "user", "file"]
"""Who owns a server; `file`: a configuration file, in memory only."""
Transport = Literal["stdio", "sse", "streamable_http", "auto"]
SessionScope = Literal["shared", "user", "session"]
"""Who shares one connection: everyone, a user's runs, one conversation."""
OnChange = Literal["accept", "quarantine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """How to reach a server. Its secrets are not shown by `repr`."""

    server_id: str
    scope: Scope
    name: str
    alias: str
    """What its tools' exposed names begin with: `{alias}__{tool}`. 1 to 32 of A-Z a-z 0-9 `_` `-`,
    without a double underscore."""
    transport: Transport = "auto"
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    cwd: str | None = None
    env: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr], repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr], repr=False)
    proxy_url: str | None = field(default=None, repr=False)
    tenant_id: str = ""
    user_id: str = ""
    template_id: str | None = None
    session_scope: SessionScope = "shared"
    connect_timeout_seconds: float = 30.0
    call_timeout_seconds: float = 30.0
    max_concurrency: int = 16
    on_change: OnChange = "accept"
    disabled: bool = False
    config_version: int = 1
    read_only_tools: tuple[str, ...] = ()
    """Tools of which a configuration file confirms that they only read."""

    @property
    def label(self) -> str:
        """Name, owner and id, for log lines."""
        whose = f" of user {self.user_id}" if self.user_id else ""
        return f"{self.name}{whose} ({self.server_id})"


# -- connection -----------------------------------------------------------------------------------

ServerState = Literal[
    "idle", "connecting", "ready", "backoff", "auth_required", "quarantined", "disabled", "closed"
]
ServerStatus = Literal["connected", "disconnected", "error"]


@dataclass(frozen=True, slots=True)
class ConnectionKey:
    """Identifies a connection: a server and a principal."""

    server_id: str
    principal: str
    """`shared`, `user:{id}` or `session:{id}`."""
    version: int = 0
    """Of a user's own server: which version of its registration."""


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The status of a connection."""

    state: ServerState
    reason: str = ""
    """Why it is not ready, for people; scrubbed."""
    generation: int = 0
    protocol_version: str | None = None
    server_info: JsonObject | None = None
    fail_count: int = 0
    next_retry_at: datetime | None = None
    last_ok_at: datetime | None = None

    @property
    def status(self) -> ServerStatus:
        """The status in one word: connected, disconnected or error."""
        if self.state == "ready":
            return "connected"
        return "error" if self.state in ("backoff", "auth_required") else "disconnected"


# -- catalogue ------------------------------------------------------------------------------------

ToolStatus = Literal["active", "quarantined", "removed"]


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it. Untrusted."""

    name: str
    title: str | None = None
    description: str = ""
    input_schema: JsonObject = field(default_factory=dict[str, Any])
    output_schema: JsonObject | None = None
    annotations: JsonObject = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueTool:
    """A tool of the catalogue, with its number and status."""

    tool_id: int
    server_id: str
    name: str
    exposed_name: str
    """As the model calls it: `^[A-Za-z0-9_-]{1,64}$`, unique among the tools of a run."""
    definition: RemoteTool
    definition_hash: str
    schema_version: int
    status: ToolStatus
    enabled: bool = True
    retry_safe: bool = False
    timeout_seconds: float | None = None
    approved_by: str | None = None
    """Who approved the definition; None: no one has."""
    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None

    @property
    def says_read_only(self) -> bool:
        """Whether its server says that it changes nothing."""
        hints = self.definition.annotations
        return bool(hints.get("readOnlyHint", False)) and not hints.get("destructiveHint", False)

    @property
    def asks_first(self) -> bool:
        """Whether a call needs approval.

        The server's hint counts only once its definition has been approved.
        """
        return not (self.says_read_only and self.approved_by is not None)


# -- calls ----------------------------------------------------------------------------------------

CallCode = Literal[
    "MCP_TOOL_FORBIDDEN",
    "MCP_TOOL_NOT_FOUND",
    "MCP_INVALID_ARGUMENT",
    "MCP_INVALID_OUTPUT",
    "MCP_TIMEOUT",
    "MCP_SERVER_UNAVAILABLE",
    "MCP_AUTH_REQUIRED",
    "MCP_DEFINITION_CHANGED",
    "MCP_RESULT_TOO_LARGE",
    "MCP_RATE_LIMITED",
    "MCP_TOOL_ERROR",
    "MCP_CANCELLED",
]
CallStatus = Literal["ok", "error", "timeout", "denied", "invalid", "cancelled", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """On whose behalf a call is made, for authorisation and the call log."""

    user_id: str
    agent_id: str
    session_id: str = ""
    run_id: str = ""
    tenant_id: str | None = None
    api_key_id: str | None = None
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """A value does not fit its schema."""

    path: str
    rule: str
    message: str
    expected: Any = None


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Why a call has no result, in words a model can act on."""

    code: CallCode
    message: str
    retryable: bool = False
    faults: tuple[SchemaFault, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """A server's result."""

    content: tuple[JsonObject, ...] = ()
    """Content blocks as JSON: text, image, audio, resource, resource_link."""
    structured: Any = None
    is_error: bool = False
    byte_size: int = 0


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended: a result or a failure, never an exception."""

    call_id: str
    tool: CatalogueTool | None
    result: RemoteResult | None = None
    failure: CallFailure | None = None
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """A call's progress, as its server reports it."""

    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A server's question to the user during a call."""

    message: str
    schema: JsonObject
    """Of the answer: a flat object."""
    server_name: str = ""


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """The user's answer."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject | None = None


OnProgress = Callable[[Progress], None]
OnElicit = Callable[[Elicitation], Awaitable[ElicitationAnswer]]


class CallFailed(Exception):
    """A call failed. Internal to this package: the gateway returns the `CallFailure`."""

    def __init__(self, failure: CallFailure, *, was_sent: bool = True) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.was_sent = was_sent
        """False when the request provably never left: only then may it be tried again."""


def is_mcp_name(tool_name: str) -> bool:
    """Whether a name has the form of MCP tools' exposed names, which no other tool's has."""
    return "__" in tool_name
