"""MCP servers, their tools and calls; tools are told apart by whose they are, not by name."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from dataagent_core.storage.migrations.steps import (
    add_column,
    belongs_to,
    create_index,
    create_table,
    id_type,
    long_text,
    time_type,
)

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TABLES = (
    "mcp_tool_call_log",
    "api_key_tools",
    "mcp_tool_versions",
    "mcp_tools",
    "mcp_templates",
    "mcp_server_secrets",
    "mcp_servers",
)
_COPY = """
INSERT INTO tools_new (tool_id, name, kind, server_id, description, input_schema, created_at)
SELECT tool_id, name, kind, server_id, description, input_schema, created_at FROM tools
"""
_COPY_WITH_KEYS = """
INSERT INTO tools_new
    (tool_id, name, kind, server_id, description, input_schema, created_at, tool_key)
SELECT tool_id, name, kind, server_id, description, input_schema, created_at, 'builtin:' || name
FROM tools
"""
_VERSIONS = sa.table("versions", sa.column("name"), sa.column("number"))
_TOOLS = sa.table("tools", sa.column("tool_id"), sa.column("tool_key"), sa.column("name"))


def upgrade() -> None:
    """Create the tables; give each tool the key it is now known by."""
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_tools(_key_columns(), "tool_key", _COPY_WITH_KEYS)
    else:
        _give_keys()
    allowed = sa.Column("allow_user_tools", sa.Boolean(), nullable=False, server_default=sa.true())
    add_column("agents", allowed)
    scope = sa.Column("tool_scope", sa.String(16), nullable=False, server_default="all")
    add_column("api_keys", scope)
    _create_servers()
    _create_secrets_and_templates()
    _create_tools()
    _create_calls()
    _count_versions()


def downgrade() -> None:
    """Drop them. MCP tools lose their numbers, and agents their bindings to them."""
    for table in _TABLES:
        op.drop_table(table)
    op.execute("DELETE FROM tools WHERE kind <> 'builtin'")
    op.execute("DELETE FROM versions WHERE name = 'mcp'")
    op.drop_column("api_keys", "tool_scope")
    op.drop_column("agents", "allow_user_tools")
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_tools([], "name", _COPY)
        return
    op.drop_constraint("uq_tools_tool_key", "tools", type_="unique")
    for name in ("tool_key", "enabled", "retry_safe", "timeout_s"):
        op.drop_column("tools", name)
    op.create_unique_constraint("uq_tools_name", "tools", ["name"])


# -- the tools there are --------------------------------------------------------------------------


def _key_columns(*, is_key_there: bool = True) -> list[sa.Column[Any]]:
    seconds: sa.Double[float] = sa.Double()
    return [
        sa.Column("tool_key", id_type(255), nullable=not is_key_there),
        sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("retry_safe", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("timeout_s", seconds, nullable=True),
    ]


def _give_keys() -> None:
    for column in _key_columns(is_key_there=False):
        add_column("tools", column)
    bind = op.get_bind()
    keyed = sa.func.concat("builtin:", _TOOLS.c.name)
    bind.execute(sa.update(_TOOLS).where(_TOOLS.c.tool_key.is_(None)).values(tool_key=keyed))
    op.alter_column("tools", "tool_key", existing_type=id_type(255), nullable=False)
    unique = _unique_names(bind)
    if "uq_tools_tool_key" not in unique:
        op.create_unique_constraint("uq_tools_tool_key", "tools", ["tool_key"])
    if "uq_tools_name" in unique:
        op.drop_constraint("uq_tools_name", "tools", type_="unique")


def _unique_names(bind: sa.Connection) -> set[str | None]:
    return {each["name"] for each in sa.inspect(bind).get_unique_constraints("tools")}


def _rebuild_tools(added: list[sa.Column[Any]], unique: str, copy: str) -> None:
    """SQLite cannot change a constraint: copy the table and its bindings.

    The bindings go first and come back, as dropping a table takes with it what refers to it.
    """
    bind = op.get_bind()
    if f"uq_tools_{unique}" in _unique_names(bind):
        return
    create_table(
        "tools_new",
        sa.Column("tool_id", sa.Integer(), primary_key=True),
        sa.Column("name", id_type(128), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("server_id", id_type(), nullable=True),
        sa.Column("description", long_text(), nullable=False),
        sa.Column("input_schema", sa.JSON(), nullable=False),
        *added,
        sa.Column("created_at", time_type(), nullable=False),
        sa.UniqueConstraint(unique, name=f"uq_tools_{unique}"),
        sqlite_autoincrement=True,
    )
    op.execute(copy)
    op.execute(  # numbers are never given again, those of tools that are gone neither
        "UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'tools') "
        "WHERE name = 'tools_new'"
    )
    bound = bind.execute(sa.text("SELECT agent_id, tool_id FROM agent_tools")).all()
    op.drop_table("agent_tools")
    op.drop_table("tools")
    op.rename_table("tools_new", "tools")
    _create_bindings([dict(zip(("agent_id", "tool_id"), row, strict=True)) for row in bound])


def _create_bindings(bound: list[dict[str, Any]]) -> None:
    create_index("tools", "server_id")
    create_table(
        "agent_tools",
        sa.Column("agent_id", id_type(), primary_key=True),
        sa.Column("tool_id", sa.Integer(), primary_key=True, autoincrement=False),
        belongs_to("agent_tools", "agent_id", "agents"),
        belongs_to("agent_tools", "tool_id", "tools"),
    )
    create_index("agent_tools", "tool_id")
    put_back = sa.text("INSERT INTO agent_tools (agent_id, tool_id) VALUES (:agent_id, :tool_id)")
    if bound:
        op.get_bind().execute(put_back, bound)


# -- new tables -----------------------------------------------------------------------------------


def _create_servers() -> None:
    name = "uq_mcp_servers_scope_tenant_id_user_id_name"
    create_table(
        "mcp_servers",
        *_whose_and_where(),
        *_how_and_seen(),
        sa.UniqueConstraint("scope", "tenant_id", "user_id", "name", name=name),
    )
    create_index("mcp_servers", "user_id")
    create_index("mcp_servers", "template_id")


def _whose_and_where() -> list[sa.Column[Any]]:
    """Whose a server is, and what it is reached by."""
    return [
        sa.Column("server_id", id_type(), primary_key=True),
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("tenant_id", id_type(), nullable=False),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("name", id_type(100), nullable=False),
        sa.Column("alias", id_type(32), nullable=False),
        sa.Column("transport", sa.String(16), nullable=False),
        sa.Column("command", long_text(), nullable=True),
        sa.Column("args", sa.JSON(), nullable=False),
        sa.Column("cwd", long_text(), nullable=True),
        sa.Column("url", long_text(), nullable=True),
        sa.Column("proxy_url", long_text(), nullable=True),
        sa.Column("template_id", id_type(), nullable=True),
        sa.Column("template_version", sa.Integer(), nullable=True),
    ]


def _how_and_seen() -> list[sa.Column[Any]]:
    """How a server is used, how it was last seen, who registered it."""
    seconds: sa.Double[float] = sa.Double()
    return [
        sa.Column("session_scope", sa.String(16), nullable=False),
        sa.Column("connect_timeout_s", seconds, nullable=False),
        sa.Column("call_timeout_s", seconds, nullable=False),
        sa.Column("max_concurrency", sa.Integer(), nullable=False),
        sa.Column("on_change", sa.String(16), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("status_reason", sa.String(500), nullable=False),
        sa.Column("protocol_version", sa.String(32), nullable=True),
        sa.Column("server_info", sa.JSON(), nullable=True),
        sa.Column("fail_count", sa.Integer(), nullable=False),
        sa.Column("next_retry_at", time_type(), nullable=True),
        sa.Column("last_ok_at", time_type(), nullable=True),
        sa.Column("config_version", sa.Integer(), nullable=False),
        sa.Column("catalogue_version", sa.BigInteger(), nullable=False),
        sa.Column("created_by", id_type(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("updated_by", id_type(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
    ]


def _create_secrets_and_templates() -> None:
    create_table(
        "mcp_server_secrets",
        sa.Column("server_id", id_type(), primary_key=True),
        sa.Column("owner_user_id", id_type(), primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("name", id_type(128), primary_key=True),
        sa.Column("ciphertext", long_text(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
        belongs_to("mcp_server_secrets", "server_id", "mcp_servers"),
    )
    create_index("mcp_server_secrets", "owner_user_id")
    create_table(
        "mcp_templates",
        sa.Column("template_id", id_type(), primary_key=True),
        sa.Column("name", id_type(100), nullable=False),
        sa.Column("description", long_text(), nullable=False),
        sa.Column("command", long_text(), nullable=False),
        sa.Column("args", sa.JSON(), nullable=False),
        sa.Column("env", sa.JSON(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", id_type(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
        sa.UniqueConstraint("name", name="uq_mcp_templates_name"),
    )


def _create_tools() -> None:
    create_table(
        "mcp_tools",
        sa.Column("tool_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("server_id", id_type(), nullable=False),
        sa.Column("name", id_type(200), nullable=False),
        sa.Column("title", sa.String(200), nullable=True),
        sa.Column("description", long_text(), nullable=False),
        sa.Column("input_schema", sa.JSON(), nullable=False),
        sa.Column("output_schema", sa.JSON(), nullable=True),
        sa.Column("annotations", sa.JSON(), nullable=False),
        sa.Column("definition_hash", sa.String(64), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("approved_hash", sa.String(64), nullable=False),
        sa.Column("approved_by", id_type(), nullable=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("first_seen_at", time_type(), nullable=False),
        sa.Column("last_seen_at", time_type(), nullable=False),
        belongs_to("mcp_tools", "tool_id", "tools"),
        belongs_to("mcp_tools", "server_id", "mcp_servers"),
        sa.UniqueConstraint("server_id", "name", name="uq_mcp_tools_server_id_name"),
    )
    create_table(
        "mcp_tool_versions",
        sa.Column("tool_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("schema_version", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("definition_hash", sa.String(64), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("seen_at", time_type(), nullable=False),
        belongs_to("mcp_tool_versions", "tool_id", "tools"),
    )
    create_table(
        "api_key_tools",
        sa.Column("key_id", id_type(), primary_key=True),
        sa.Column("tool_id", sa.Integer(), primary_key=True, autoincrement=False),
        belongs_to("api_key_tools", "key_id", "api_keys"),
        belongs_to("api_key_tools", "tool_id", "tools"),
    )
    create_index("api_key_tools", "tool_id")


def _create_calls() -> None:
    milliseconds: sa.Double[float] = sa.Double()
    create_table(
        "mcp_tool_call_log",
        sa.Column("call_id", id_type(), primary_key=True),
        sa.Column("trace_id", id_type(), nullable=False),
        sa.Column("span_id", id_type(32), nullable=False),
        sa.Column("tenant_id", id_type(), nullable=True),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("session_id", id_type(), nullable=False),
        sa.Column("run_id", id_type(), nullable=False),
        sa.Column("agent_id", id_type(), nullable=False),
        sa.Column("api_key_id", id_type(), nullable=True),
        sa.Column("server_id", id_type(), nullable=False),
        sa.Column("tool_id", sa.Integer(), nullable=True),
        sa.Column("tool_name", id_type(200), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=True),
        sa.Column("definition_hash", sa.String(64), nullable=True),
        sa.Column("protocol_version", sa.String(32), nullable=True),
        sa.Column("connection_generation", sa.Integer(), nullable=True),
        sa.Column("started_at", time_type(), nullable=False),
        sa.Column("ended_at", time_type(), nullable=False),
        sa.Column("duration_ms", milliseconds, nullable=False),
        sa.Column("queue_ms", milliseconds, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("input_valid", sa.Boolean(), nullable=True),
        sa.Column("output_valid", sa.Boolean(), nullable=True),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("error_code", sa.String(64), nullable=True),
        sa.Column("error_message", sa.String(500), nullable=True),
        sa.Column("args_digest", sa.String(64), nullable=True),
        sa.Column("args_redacted", sa.JSON(), nullable=True),
        sa.Column("result_bytes", sa.BigInteger(), nullable=True),
    )
    for columns in (("trace_id",), ("session_id",), ("started_at",)):
        create_index("mcp_tool_call_log", *columns)
    create_index("mcp_tool_call_log", "tenant_id", "started_at")
    create_index("mcp_tool_call_log", "server_id", "started_at")


def _count_versions() -> None:
    bind = op.get_bind()
    is_there = sa.select(_VERSIONS.c.name).where(_VERSIONS.c.name == "mcp")
    if bind.execute(is_there).first() is None:
        bind.execute(sa.insert(_VERSIONS).values(name="mcp", number=0))
