"""The answers of the REST API as dataclasses; unknown fields are ignored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, TypedDict, TypeVar

from dataagent_client.parsing import JsonDict, apply_parser, json_field, make_parser
from dataagent_client.wire import Received, received_from
from dataagent_protocol.events import TextEvent
from dataagent_protocol.hitl import ActionRequest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A stretch of a list, and how long the list is."""

    items: list[T]
    total: int


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A conversation."""

    session_id: str
    thread_id: str
    user_id: str
    assistant_id: str
    title: str
    created_at: datetime
    last_active: datetime
    metadata: JsonDict = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class MessageInfo:
    """One message of a conversation. `status`: complete, cancelled, failed, running."""

    message_id: str
    session_id: str
    role: str
    content: str
    status: str
    created_at: datetime
    run_id: str | None = None
    metadata: JsonDict = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that waits for a decision."""

    request_id: str
    action: ActionRequest
    allowed: tuple[str, ...]
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One message being answered, or answered."""

    run_id: str
    session_id: str
    assistant_id: str
    status: str
    attempt: int
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    token_usage: dict[str, int] | None = None
    error: JsonDict | None = None
    pending: tuple[PendingApproval, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatResult:
    """A run that was waited for. `status` is `waiting` when it needs an approval to go on."""

    session_id: str
    run_id: str
    status: str
    events: tuple[Received, ...]

    @property
    def text(self) -> str:
        """The main agent's answer."""
        pieces = (item.event for item in self.events)
        texts = (event for event in pieces if isinstance(event, TextEvent))
        return "".join(event.content for event in texts if event.subagent is None)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A stored message, whose run has started."""

    session_id: str
    run_id: str
    status: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A run that is being cancelled."""

    session_id: str
    run_id: str
    status: str


@dataclass(frozen=True, slots=True)
class Health:
    """The server's state. `raw` is all it said."""

    status: str
    version: str
    uptime: float
    raw: JsonDict


parse_session = make_parser(SessionInfo, "session")
parse_message = make_parser(MessageInfo, "message")
parse_accepted = make_parser(Accepted, "chat")
parse_cancelled = make_parser(Cancelled, "cancel")


def parse_run(data: object) -> RunInfo:
    """A run. Raises `ProtocolError` if it is none."""
    return apply_parser(_run, data, "run")


def parse_chat(data: object) -> ChatResult:
    """The answer of `POST /chat`. Raises `ProtocolError` if it is none."""
    return apply_parser(_chat, data, "chat answer")


def parse_health(data: object) -> Health:
    """The server's state. Raises `ProtocolError` if it is none."""
    return apply_parser(_health, data, "health")


def parse_page(data: object, parse_item: Callable[[object], T]) -> Page[T]:
    """A list `{"items", "total"}`. Raises `ProtocolError` if it is none."""
    return apply_parser(
        lambda d: Page([parse_item(item) for item in d["items"]], int(d["total"])), data, "list"
    )


def _time(value: Any) -> datetime:
    return datetime.fromisoformat(value)


def _time_or_none(value: Any) -> datetime | None:
    return None if value is None else _time(value)


def _run(data: JsonDict) -> RunInfo:
    return RunInfo(
        run_id=data["run_id"],
        session_id=data["session_id"],
        assistant_id=data["assistant_id"],
        status=data["status"],
        attempt=data["attempt"],
        created_at=_time(data["created_at"]),
        started_at=_time_or_none(data.get("started_at")),
        ended_at=_time_or_none(data.get("ended_at")),
        token_usage=data.get("token_usage"),
        error=data.get("error"),
        pending=tuple(_pending(item) for item in data.get("pending") or ()),
    )


def _pending(data: JsonDict) -> PendingApproval:
    action = data["action"]
    return PendingApproval(
        request_id=data["request_id"],
        action=ActionRequest(
            action["name"], action["args"], action.get("description", ""), data["request_id"]
        ),
        allowed=tuple(data["allowed"]),
        expires_at=_time_or_none(data.get("expires_at")),
    )


def _chat(data: JsonDict) -> ChatResult:
    found = (received_from(item) for item in data["events"])
    return ChatResult(
        session_id=data["session_id"],
        run_id=data["run_id"],
        status=data["status"],
        events=tuple(item for item in found if isinstance(item, Received)),
    )


def _health(data: JsonDict) -> Health:
    return Health(data["status"], data["version"], float(data["uptime"]), data)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """An agent; its prompt is visible to administrators."""

    agent_id: str = json_field("id")
    name: str
    description: str
    system_prompt: str | None
    model: str | None
    icon: str
    show_in_selector: bool
    kind: str
    """`builtin`, `package` or `custom`."""
    status: str
    tool_ids: tuple[int, ...] = json_field("toolIds")


class AgentSettings(TypedDict, total=False):
    """What can be said of an agent; what is left out stays as it is, or is the default."""

    description: str
    system_prompt: str
    model: str
    icon: str
    show_in_selector: bool
    tool_ids: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChanged(AgentInfo):
    """An agent after a change; `ignored_tool_ids` are the numbers no tool has."""

    ignored_tool_ids: tuple[int, ...] = json_field("ignoredToolIds")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    """An agent that can be chosen, as anyone may see it."""

    agent_id: str = json_field("id")
    name: str
    description: str
    icon: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """What agents can call. `server_id` is the MCP server's, if it comes from one."""

    tool_id: int = json_field("id")
    name: str
    description: str
    kind: str
    server_id: str | None
    input_schema: JsonDict


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsage:
    """What a user used on a day (UTC); without prices it has no cost."""

    user_id: str
    username: str | None
    day: date
    runs: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    sql_seconds: float
    wall_seconds: float
    cost: float | None
    currency: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """The server; the model's name is visible to authenticated callers."""

    version: str
    model: str | None
    is_offline: bool
    max_upload_bytes: int
    sandbox: bool
    multi_tenant: bool
    auth_disabled: bool


@dataclass(frozen=True, slots=True)
class Readiness:
    """The server can take work; what it looked at for that."""

    status: str
    checks: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceInfo:
    """Where a user's files are, and how full it is, in bytes."""

    user_id: str
    path: str
    bytes_used: int
    quota: int
    files: int


parse_agent = make_parser(AgentInfo, "agent")
parse_changed_agent = make_parser(AgentChanged, "agent")
parse_choice = make_parser(AgentChoice, "agent")
parse_tool = make_parser(ToolInfo, "tool")
parse_usage = make_parser(DayUsage, "usage")
parse_info = make_parser(ServerInfo, "info")
parse_readiness = make_parser(Readiness, "readiness")
parse_workspace = make_parser(WorkspaceInfo, "workspace")


class TenantSettings(TypedDict, total=False):
    """A tenant's limits; one that is left out does not hold."""

    max_users: int
    max_sessions_per_user: int
    max_mcp_servers: int
    workspace_quota: int
    features_enabled: dict[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantInfo:
    """Users who share limits."""

    tenant_id: str
    name: str
    max_users: int | None
    max_sessions_per_user: int | None
    max_mcp_servers: int | None
    workspace_quota: int | None
    features_enabled: dict[str, bool]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TenantMember:
    """A user of a tenant: `admin` or `member`."""

    tenant_id: str
    user_id: str
    role: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantInvitation:
    """A place in a tenant that a user may take until `expires_at`."""

    tenant_id: str
    tenant_name: str
    user_id: str
    role: str
    invited_by: str
    created_at: datetime
    expires_at: datetime


class AuditSearch(TypedDict, total=False):
    """Which records; all conditions that are given hold."""

    user_id: str
    action: str
    outcome: str
    """`success`, `denied` or `failed`."""
    run_id: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """Who did what. Each row has the hash of the one before it."""

    position: int
    at: datetime
    user_id: str | None
    via: str | None
    address: str | None
    action: str
    target: str | None
    outcome: str
    request_id: str | None
    session_id: str | None
    run_id: str | None
    details: JsonDict
    previous_hash: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict:
    """Whether the chain of hashes is whole, and where it is not."""

    is_whole: bool = json_field("whole")
    checked: int
    position: int
    hash: str
    first_bad: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Versions:
    """What runs."""

    dataagent: str
    python: str


@dataclass(frozen=True, slots=True)
class RunsState:
    """Runs now."""

    active: int
    queued: int | None


@dataclass(frozen=True, slots=True)
class ConnectionsState:
    """Connections now, and how many there may be."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class SandboxState:
    """Where code runs."""

    kind: str
    ready: int
    in_use: int


@dataclass(frozen=True, slots=True)
class McpState:
    """MCP servers, and the names of those that fail."""

    servers: int
    connected: int
    failing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemInfo:
    """The server's state."""

    status: str
    checks: dict[str, str]
    uptime: float
    versions: Versions
    model: str
    is_offline: bool
    database: str
    runs_in: str
    runs: RunsState
    connections: ConnectionsState
    sandbox: SandboxState | None
    mcp: McpState | None


parse_tenant = make_parser(TenantInfo, "tenant")
parse_member = make_parser(TenantMember, "member")
parse_invitation = make_parser(TenantInvitation, "invitation")
parse_record = make_parser(AuditRecord, "audit record")
parse_verdict = make_parser(AuditVerdict, "verdict")
parse_system = make_parser(SystemInfo, "state")
