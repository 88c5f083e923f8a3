"""Agents, tools, and which tools are bound to which agent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dataagent_core.storage.migrations.steps import (
    belongs_to,
    create_index,
    create_table,
    id_type,
    long_text,
    time_type,
)

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TABLES = ("agent_tools", "tools", "agents", "versions")
_VERSIONS = sa.table("versions", sa.column("name"), sa.column("number"))


def upgrade() -> None:
    """Create the tables; their rows come with the start of the first process."""
    _create_agents()
    _create_tools()
    _create_versions()


def downgrade() -> None:
    """Drop them. Agents that were created go; sessions keep the names of theirs."""
    for table in _TABLES:
        op.drop_table(table)


def _create_agents() -> None:
    create_table(
        "agents",
        sa.Column("agent_id", id_type(), primary_key=True),
        sa.Column("name", id_type(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("description", long_text(), nullable=True),
        sa.Column("system_prompt", long_text(), nullable=True),
        sa.Column("model", sa.String(200), nullable=True),
        sa.Column("icon", sa.String(64), nullable=True),
        sa.Column("show_in_selector", sa.Boolean(), nullable=True),
        sa.Column("bindings", sa.String(16), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
        sa.UniqueConstraint("name", name="uq_agents_name"),
    )


def _create_tools() -> None:
    create_table(
        "tools",
        sa.Column("tool_id", sa.Integer(), primary_key=True),
        sa.Column("name", id_type(128), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("server_id", id_type(), nullable=True),
        sa.Column("description", long_text(), nullable=False),
        sa.Column("input_schema", sa.JSON(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.UniqueConstraint("name", name="uq_tools_name"),
        sqlite_autoincrement=True,
    )
    create_index("tools", "server_id")
    create_table(
        "agent_tools",
        sa.Column("agent_id", id_type(), primary_key=True),
        sa.Column("tool_id", sa.Integer(), primary_key=True, autoincrement=False),
        belongs_to("agent_tools", "agent_id", "agents"),
        belongs_to("agent_tools", "tool_id", "tools"),
    )
    create_index("agent_tools", "tool_id")


def _create_versions() -> None:
    create_table(
        "versions",
        sa.Column("name", id_type(), primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False),
    )
    bind = op.get_bind()
    is_there = sa.select(_VERSIONS.c.name).where(_VERSIONS.c.name == "agents")
    if bind.execute(is_there).first() is None:
        bind.execute(sa.insert(_VERSIONS).values(name="agents", number=0))
