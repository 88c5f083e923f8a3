"""Invitations to tenants, who made a key, where users logged in, a row that readiness writes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dataagent_core.storage.migrations.steps import (
    add_column,
    belongs_to,
    create_index,
    create_table,
    id_type,
    time_type,
)

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, and the column of who made a key."""
    add_column("api_keys", sa.Column("created_by", id_type(), nullable=True))
    create_table(
        "storage_checks",
        sa.Column("name", id_type(16), primary_key=True),
        sa.Column("checked_at", time_type(), nullable=False),
    )
    create_table(
        "login_addresses",
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("address", id_type(), primary_key=True),
        sa.Column("last_at", time_type(), nullable=False),
        belongs_to("login_addresses", "user_id", "users"),
    )
    create_index("login_addresses", "last_at")
    create_table(
        "tenant_invitations",
        sa.Column("tenant_id", id_type(), primary_key=True),
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("invited_by", id_type(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("expires_at", time_type(), nullable=False),
        belongs_to("tenant_invitations", "tenant_id", "tenants"),
        belongs_to("tenant_invitations", "user_id", "users"),
    )
    create_index("tenant_invitations", "user_id")


def downgrade() -> None:
    """Drop them."""
    op.drop_column("api_keys", "created_by")
    op.drop_table("tenant_invitations")
    op.drop_table("login_addresses")
    op.drop_table("storage_checks")
