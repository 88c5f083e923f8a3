"""The tables of agents, tools, and which tools are bound to which agent.

The rest is in `tables.py`, `people.py` and `mcp.py`, which gives the `metadata` of all.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Integer,
    String,
    Table,
    false,
    true,
)

from dataagent_core.storage.people import metadata
from dataagent_core.storage.tables import LONG_TEXT, MYSQL, UtcTime, id_type

__all__ = ["agent_tools", "agents", "metadata", "tools", "versions"]

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
    # of what processes keep in memory: whoever changes it counts up, and holds the row meanwhile
    Column("name", id_type(), primary_key=True),
    Column("number", BigInteger, nullable=False),
    **MYSQL,
)
