"""The tables of agents, their tools, MCP servers and calls.

Built-in and MCP tools are numbered together in `tools`. Importing this module completes the
`metadata` of all tables.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    false,
    true,
)

from dataagent_core.storage.tables import LONG_TEXT, MYSQL, UtcTime, id_type, metadata

_SECONDS: Double[float] = Double()

agents = Table(
    "agents",
    metadata,
    Column("agent_id", id_type(), primary_key=True),
    Column("name", id_type(), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),  # builtin, package, custom
    # NULL in a row of a built-in or package agent: as it was shipped
    Column("description", LONG_TEXT, nullable=True),
    Column("system_prompt", LONG_TEXT, nullable=True),
    Column("model", String(200), nullable=True),
    Column("icon", String(64), nullable=True),
    Column("show_in_selector", Boolean, nullable=True),
    Column("bindings", String(16), nullable=False),  # shipped, all, listed (in agent_tools)
    # whether it may use the tools of its user's own MCP servers
    Column("allow_user_tools", Boolean, nullable=False, default=True, server_default=true()),
    Column("created_at", UtcTime(), nullable=False),
    Column("updated_at", UtcTime(), nullable=False),
    **MYSQL,
)

tools = Table(
    "tools",
    metadata,
    Column("tool_id", Integer, primary_key=True),  # given once, never again
    Column("tool_key", id_type(255), nullable=False, unique=True),  # whose it is, and its name
    Column("name", id_type(128), nullable=False),  # as the model calls it
    Column("kind", String(16), nullable=False),  # builtin, mcp
    Column("server_id", id_type(), nullable=True, index=True),  # of an MCP tool
    Column("description", LONG_TEXT, nullable=False),
    Column("input_schema", JSON, nullable=False),
    Column("enabled", Boolean, nullable=False, default=True, server_default=true()),
    Column("retry_safe", Boolean, nullable=False, default=False, server_default=false()),
    Column("timeout_s", _SECONDS, nullable=True),  # NULL: its server's
    Column("created_at", UtcTime(), nullable=False),
    sqlite_autoincrement=True,
    **MYSQL,
)

agent_tools = Table(
    "agent_tools",
    metadata,
    Column(
        "agent_id", id_type(), ForeignKey("agents.agent_id", ondelete="CASCADE"), primary_key=True
    ),
    Column(
        "tool_id",
        Integer,
        ForeignKey("tools.tool_id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    ),
    **MYSQL,
)

versions = Table(
    "versions",
    metadata,
    # of what processes cache: a writer locks the row and increments the number
    Column("name", id_type(), primary_key=True),
    Column("number", BigInteger, nullable=False),
    **MYSQL,
)


_FRACTION: Double[float] = Double()


def _server_fk() -> Any:
    return ForeignKey("mcp_servers.server_id", ondelete="CASCADE")


def _tool_fk() -> Any:
    return ForeignKey("tools.tool_id", ondelete="CASCADE")


mcp_servers = Table(
    "mcp_servers",
    metadata,
    Column("id", id_type(), key="server_id", primary_key=True),  # `server_id` of other tables
    Column("scope", String(16), nullable=False),  # global, tenant, user
    Column("tenant_id", id_type(), nullable=False),  # "" unless it is a tenant's
    Column("user_id", id_type(), nullable=False, index=True),  # "" unless it is a user's
    Column("name", id_type(100), nullable=False),
    Column("alias", id_type(32), nullable=False),
    Column("transport", String(16), nullable=False),  # stdio, sse, streamable_http, auto
    Column("command", LONG_TEXT, nullable=True),
    Column("args", JSON, nullable=False),
    Column("cwd", LONG_TEXT, nullable=True),
    Column("url", LONG_TEXT, nullable=True),
    Column("proxy_url", LONG_TEXT, nullable=True),
    Column("template_id", id_type(), nullable=True, index=True),
    Column("template_version", Integer, nullable=True),  # with which it was filled in
    Column("session_scope", String(16), nullable=False),  # shared, user, session
    Column("timeout", _FRACTION, nullable=False),  # seconds to connect
    Column("call_timeout_s", _FRACTION, nullable=False),
    Column("max_concurrency", Integer, nullable=False),
    Column("on_change", String(16), nullable=False),  # accept, quarantine
    Column("disabled", Boolean, nullable=False),
    # how its connection was last seen
    Column("status", String(16), nullable=False),
    Column("status_reason", String(500), nullable=False),
    Column("protocol_version", String(32), nullable=True),
    Column("server_info", JSON, nullable=True),
    Column("fail_count", Integer, nullable=False),
    Column("next_retry_at", UtcTime(), nullable=True),
    Column("last_ok_at", UtcTime(), nullable=True),
    # grows with each change of how it is reached, and of its tools
    Column("config_version", Integer, nullable=False),
    Column("catalogue_version", BigInteger, nullable=False),
    Column("created_by", id_type(), nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("updated_by", id_type(), nullable=False),
    Column("updated_at", UtcTime(), nullable=False),
    UniqueConstraint("scope", "tenant_id", "user_id", "name"),
    **MYSQL,
)

mcp_server_secrets = Table(
    "mcp_server_secrets",
    metadata,
    Column("server_id", id_type(), _server_fk(), primary_key=True),
    Column("owner_user_id", id_type(), primary_key=True),  # "": everyone's
    Column("kind", String(16), primary_key=True),  # env, header
    Column("name", id_type(128), primary_key=True),
    Column("ciphertext", LONG_TEXT, nullable=False),  # sealed for exactly this row
    Column("updated_at", UtcTime(), nullable=False),
    Index("ix_mcp_server_secrets_owner_user_id", "owner_user_id"),
    **MYSQL,
)

mcp_sessions = Table(
    "mcp_sessions",
    metadata,
    # of sessions in progress; no key of `sessions`, which may be kept elsewhere
    Column("session_id", id_type(), primary_key=True),
    Column("used_at", UtcTime(), nullable=False, index=True),
    **MYSQL,
)

mcp_session_servers = Table(
    "mcp_session_servers",
    metadata,
    Column(
        "session_id",
        id_type(),
        ForeignKey("mcp_sessions.session_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("server_id", id_type(), _server_fk(), primary_key=True, index=True),
    Column("config", LONG_TEXT, nullable=True),  # sealed; NULL: as it is registered now
    **MYSQL,
)

mcp_templates = Table(
    "mcp_templates",
    metadata,
    Column("template_id", id_type(), primary_key=True),
    Column("name", id_type(100), nullable=False, unique=True),
    Column("description", LONG_TEXT, nullable=False),
    Column("command", LONG_TEXT, nullable=False),
    Column("args", JSON, nullable=False),  # `{name}` stands for a parameter
    Column("env", JSON, nullable=False),
    Column("parameters", JSON, nullable=False),  # those a user fills
    Column("version", Integer, nullable=False),  # grows when it starts something else
    Column("created_by", id_type(), nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("updated_at", UtcTime(), nullable=False),
    **MYSQL,
)

mcp_tools = Table(
    "mcp_tools",
    metadata,
    Column("tool_id", Integer, _tool_fk(), primary_key=True, autoincrement=False),
    Column("server_id", id_type(), _server_fk(), nullable=False),
    Column("name", id_type(200), nullable=False),  # as its server calls it
    Column("title", String(200), nullable=True),
    Column("description", LONG_TEXT, nullable=False),
    Column("input_schema", JSON, nullable=False),
    Column("output_schema", JSON, nullable=True),
    Column("annotations", JSON, nullable=False),
    Column("definition_hash", String(64), nullable=False),
    Column("schema_version", Integer, nullable=False),
    Column("approved_hash", String(64), nullable=False),  # the definition that may be used
    Column("approved_by", id_type(), nullable=True),
    Column("status", String(16), nullable=False),  # active, quarantined, removed
    Column("first_seen_at", UtcTime(), nullable=False),
    Column("last_seen_at", UtcTime(), nullable=False),
    UniqueConstraint("server_id", "name"),
    **MYSQL,
)

mcp_tool_versions = Table(
    "mcp_tool_versions",
    metadata,
    Column("tool_id", Integer, _tool_fk(), primary_key=True, autoincrement=False),
    Column("schema_version", Integer, primary_key=True, autoincrement=False),
    Column("definition_hash", String(64), nullable=False),
    Column("definition", JSON, nullable=False),
    Column("seen_at", UtcTime(), nullable=False),
    **MYSQL,
)

api_key_tools = Table(
    "api_key_tools",
    metadata,
    Column(
        "key_id", id_type(), ForeignKey("api_keys.key_id", ondelete="CASCADE"), primary_key=True
    ),
    Column("tool_id", Integer, _tool_fk(), primary_key=True, autoincrement=False, index=True),
    **MYSQL,
)

mcp_tool_call_log = Table(
    "mcp_tool_call_log",
    metadata,
    Column("call_id", id_type(), primary_key=True),
    Column("trace_id", id_type(), nullable=False, index=True),
    Column("span_id", id_type(32), nullable=False),
    Column("tenant_id", id_type(), nullable=True),
    Column("user_id", id_type(), nullable=False),
    Column("session_id", id_type(), nullable=False, index=True),
    Column("run_id", id_type(), nullable=False),
    Column("agent_id", id_type(), nullable=False),
    Column("api_key_id", id_type(), nullable=True),
    # nothing here refers to other tables: a call stays on record when its server is gone
    Column("server_id", id_type(), nullable=False),
    Column("tool_id", Integer, nullable=True),
    Column("tool_name", id_type(200), nullable=False),
    Column("schema_version", Integer, nullable=True),
    Column("definition_hash", String(64), nullable=True),
    Column("protocol_version", String(32), nullable=True),
    Column("connection_generation", Integer, nullable=True),
    Column("started_at", UtcTime(), nullable=False, index=True),
    Column("ended_at", UtcTime(), nullable=False),
    Column("duration_ms", _FRACTION, nullable=False),
    Column("queue_ms", _FRACTION, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("input_valid", Boolean, nullable=True),
    Column("output_valid", Boolean, nullable=True),
    Column("status", String(16), nullable=False),  # ok, error, timeout, denied, invalid, …
    Column("error_code", String(64), nullable=True),
    Column("error_message", String(500), nullable=True),
    Column("args_digest", String(64), nullable=True),
    Column("args_redacted", JSON, nullable=True),
    Column("result_bytes", BigInteger, nullable=True),
    Index("ix_mcp_tool_call_log_tenant_id_started_at", "tenant_id", "started_at"),
    Index("ix_mcp_tool_call_log_server_id_started_at", "server_id", "started_at"),
    **MYSQL,
)
