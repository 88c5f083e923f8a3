"""What a server has to offer: agents, tools, and what was used. Shapes and their parsers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TypedDict

from dataagent_client.parsing import JsonDict, json_field, make_parser


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """Who can answer. The prompt is told to administrators."""

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
    """Who can be chosen, as it is told to anyone."""

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
    """The server. The model's name is told to who is known."""

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
