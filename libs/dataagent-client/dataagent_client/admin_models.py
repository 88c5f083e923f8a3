"""Tenants, the audit log and the server's state, as administrators see them. Shapes, parsers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from dataagent_client.parsing import JsonDict, json_field, make_parser


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
