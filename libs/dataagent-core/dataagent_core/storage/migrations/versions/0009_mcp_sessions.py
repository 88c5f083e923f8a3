"""Which MCP servers sessions in progress began with."""

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

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    create_table(
        "mcp_sessions",
        sa.Column("session_id", id_type(), primary_key=True),
        sa.Column("used_at", time_type(), nullable=False),
    )
    create_index("mcp_sessions", "used_at")
    create_table(
        "mcp_session_servers",
        sa.Column("session_id", id_type(), primary_key=True),
        sa.Column("server_id", id_type(), primary_key=True),
        sa.Column("config", long_text(), nullable=True),
        belongs_to("mcp_session_servers", "session_id", "mcp_sessions"),
        belongs_to("mcp_session_servers", "server_id", "mcp_servers"),
    )
    create_index("mcp_session_servers", "server_id")


def downgrade() -> None:
    """Drop them: sessions in progress have what is registered."""
    op.drop_table("mcp_session_servers")
    op.drop_table("mcp_sessions")
