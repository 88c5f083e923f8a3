"""Request and response models of the MCP tool catalogue, allow-lists and the call log.

Arguments and results of calls are not stored, so no model has them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from dataagent_core.mcp.catalogue.definitions import DefinitionDiff
from dataagent_core.mcp.gateway.call_log import CallFilter, CallRow
from dataagent_core.mcp.servers.administration import Allowlist, ToolName
from dataagent_core.mcp.types import CallStatus, CatalogueTool, ToolStatus
from dataagent_server.models.fields import (
    Id,
    Moment,
    RequestModel,
    ResponseModel,
    SafeText,
    UtcTime,
)
from dataagent_server.models.mcp import Seconds

ToolNumber = Annotated[int, Path(ge=1, lt=2**53)]
RemoteName = Annotated[SafeText, StringConstraints(min_length=1, max_length=256)]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_SCHEMA = {"type": "object", "properties": {"orderId": {"type": "string"}}, "required": ["orderId"]}


class McpToolInfo(ResponseModel):
    """A tool of the catalogue: its server's description and its state here."""

    id: int = Field(examples=[41])
    server_id: str
    name: str = Field(examples=["get_order"])
    exposed_name: str = Field(examples=["orders__get_order"])
    title: str | None = Field(examples=["Order"])
    description: str = Field(examples=["An order with its lines."])
    input_schema: dict[str, Any] = Field(examples=[_SCHEMA])
    output_schema: dict[str, Any] | None = Field(examples=[None])
    annotations: dict[str, Any] = Field(examples=[{"readOnlyHint": True}])
    schema_version: int = Field(examples=[1])
    definition_hash: str = Field(examples=["9f86d081" * 8])
    status: ToolStatus
    enabled: bool = Field(examples=[True])
    retry_safe: bool
    timeout: float | None = Field(description="Null: the server's.", examples=[None])
    asks_first: bool = Field(
        description="A call needs approval: not if its definition says that it "
        "only reads and somebody approved that definition."
    )
    first_seen_at: UtcTime | None = Field(examples=["2026-03-01T09:30:00.000Z"])
    last_seen_at: UtcTime | None = Field(examples=["2026-03-01T09:30:00.000Z"])

    @classmethod
    def of(cls, tool: CatalogueTool) -> Self:
        """The public form of a catalogue row."""
        found = tool.definition
        return cls(
            id=tool.tool_id,
            server_id=tool.server_id,
            name=tool.name,
            exposed_name=tool.exposed_name,
            title=found.title,
            description=found.description,
            input_schema=found.input_schema,
            output_schema=found.output_schema,
            annotations=found.annotations,
            schema_version=tool.schema_version,
            definition_hash=tool.definition_hash,
            status=tool.status,
            enabled=tool.enabled,
            retry_safe=tool.retry_safe,
            timeout=tool.timeout_seconds,
            asks_first=tool.asks_first,
            first_seen_at=tool.first_seen_at,
            last_seen_at=tool.last_seen_at,
        )


class McpToolQuery(BaseModel):
    """Which tools; all conditions that are given hold."""

    model_config = ConfigDict(extra="forbid")

    server_id: Id | None = None
    status: ToolStatus | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, lt=2**31)


McpToolSearch = Annotated[McpToolQuery, Query()]


class McpToolUpdate(RequestModel):
    """How a tool may be used; what is left out stays unchanged."""

    model_config = ConfigDict(json_schema_extra={"example": {"enabled": False}})

    enabled: bool | None = None
    retry_safe: bool | None = Field(
        default=None, description="It is safe to call twice, and retried after a failure."
    )
    timeout: Seconds | None = Field(default=None, description="Null is the server's.")


class McpToolApproval(RequestModel):
    """The definition to approve: the `definition_hash` of the tool or of its diff."""

    definition_hash: Hash = Field(examples=["9f86d081" * 8])


class DiffInfo(ResponseModel):
    """What changed in a tool since it was approved."""

    id: int = Field(examples=[41])
    definition_hash: str = Field(examples=["9f86d081" * 8])
    changed: list[str] = Field(examples=[["description"]])
    approved: dict[str, Any] | None = Field(examples=[{"description": "An order."}])
    current: dict[str, Any] = Field(examples=[{"description": "An order with its lines."}])
    text: str = Field(
        description="Line by line.", examples=["-An order.\n+An order with its lines."]
    )

    @classmethod
    def of(cls, diff: DefinitionDiff, tool: CatalogueTool) -> Self:
        """The public form of a difference."""
        return cls(
            id=tool.tool_id,
            definition_hash=tool.definition_hash,
            changed=list(diff.changed),
            approved=diff.approved,
            current=diff.current,
            text=diff.text,
        )


# -- allow-lists ------------------------------------------------------------------------------


class ToolNameBody(RequestModel):
    """A tool of a shared server."""

    server_id: Id = Field(examples=["01JNV3Q4ZC0000000000000000"])
    tool_name: RemoteName = Field(examples=["get_order"])


class AllowlistBody(RequestModel):
    """All MCP tools an agent, or an API key, may use. Null removes the limit of a key."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "agent_id": "general",
                "tools": [{"server_id": "01JNV3Q4ZC0000000000000000", "tool_name": "get_order"}],
            }
        }
    )

    agent_id: Id | None = None
    api_key_id: Id | None = None
    tools: Annotated[list[ToolNameBody], Field(max_length=10_000)] | None

    @property
    def names(self) -> list[ToolName] | None:
        """As the core has them."""
        if self.tools is None:
            return None
        return [ToolName(each.server_id, each.tool_name) for each in self.tools]


class AllowedTool(ResponseModel):
    """A tool of a shared server."""

    server_id: str
    tool_name: str = Field(examples=["get_order"])


class AllowlistInfo(ResponseModel):
    """The MCP tools an agent, or an API key, may use; null: a key that is not limited."""

    agent_id: str | None = Field(examples=["general"])
    api_key_id: str | None = Field(examples=[None])
    tools: list[AllowedTool] | None

    @classmethod
    def of(cls, found: Allowlist) -> Self:
        """The public form of an allow-list."""
        return cls.model_validate(found, from_attributes=True)


# -- calls ------------------------------------------------------------------------------------


class CallQuery(BaseModel):
    """Which calls; all conditions that are given hold."""

    model_config = ConfigDict(extra="forbid")

    tenant_id: Id | None = None
    user_id: Id | None = None
    session_id: Id | None = None
    agent_id: Id | None = None
    server_id: Id | None = None
    tool_name: RemoteName | None = None
    status: CallStatus | None = None
    trace_id: Id | None = None
    since: Moment | None = Field(default=None, alias="from", description="Not before.")
    until: Moment | None = Field(default=None, alias="to", description="Not after.")
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, lt=2**31)

    @property
    def wanted(self) -> CallFilter:
        """The conditions as the core takes them; a time without a zone is UTC."""
        return CallFilter(
            tenant_id=self.tenant_id,
            user_id=self.user_id,
            session_id=self.session_id,
            agent_id=self.agent_id,
            server_id=self.server_id,
            tool_name=self.tool_name,
            status=self.status,
            trace_id=self.trace_id,
            since=_utc(self.since),
            until=_utc(self.until),
        )


CallSearch = Annotated[CallQuery, Query()]


def _utc(at: datetime | None) -> datetime | None:
    if at is None:
        return None
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:  # the first or last day of all, in another zone
        return at.replace(tzinfo=UTC)


class CallInfo(ResponseModel):
    """A call of an MCP tool: caller, tool and outcome, without arguments and result."""

    call_id: str = Field(examples=["01JNV3Q4ZC1111111111111111"])
    trace_id: str = Field(examples=["4bf92f3577b34da6a3ce929d0e0e4736"])
    span_id: str = Field(examples=["00f067aa0ba902b7"])
    tenant_id: str | None
    user_id: str
    session_id: str
    agent_id: str = Field(examples=["general"])
    api_key_id: str | None = Field(examples=[None])
    server_id: str
    tool_id: int | None = Field(examples=[41])
    tool_name: str = Field(examples=["get_order"])
    schema_version: int | None = Field(examples=[1])
    definition_hash: str | None = Field(examples=["9f86d081" * 8])
    protocol_version: str | None = Field(examples=["2026-07-28"])
    connection_generation: int | None = Field(examples=[1])
    started_at: UtcTime
    ended_at: UtcTime | None
    duration_ms: float | None
    queue_ms: float | None = Field(examples=[0.2])
    attempts: int = Field(examples=[1])
    input_valid: bool | None = Field(examples=[True])
    output_valid: bool | None = Field(examples=[True])
    status: CallStatus
    error_code: str | None = Field(examples=[None])
    error_message: str | None = Field(examples=[None])
    args_redacted: dict[str, str] | None = Field(examples=[{"order_id": "string (12)"}])
    """The arguments by name: what kind of value, and how large."""
    result_bytes: int | None = Field(examples=[512])

    @classmethod
    def of(cls, row: CallRow) -> Self:
        """The public form of a row of the call log."""
        return cls.model_validate(row, from_attributes=True)
