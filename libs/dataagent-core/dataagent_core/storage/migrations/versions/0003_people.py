"""Tenants, logins, files, usage by day, the audit log, removed sources; sessions put away."""

from __future__ import annotations

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

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TABLES = (
    "removed_sources",
    "audit_head",
    "audit_log",
    "usage_days",
    "files",
    "ended_logins",
    "login_failures",
    "tenant_users",
    "tenants",
)


def upgrade() -> None:
    """Create the tables, and the column of sessions that are put away."""
    add_column("sessions", sa.Column("deleted_at", time_type(), nullable=True))
    create_index("sessions", "deleted_at")
    _create_tenants()
    _create_logins()
    _create_files()
    _create_usage()
    _create_audit()
    _create_removed_sources()


def downgrade() -> None:
    """Drop them. Sessions that were put away go, as nobody could see them."""
    for table in _TABLES:
        op.drop_table(table)
    op.execute("DELETE FROM sessions WHERE deleted_at IS NOT NULL")
    op.drop_index("ix_sessions_deleted_at", "sessions")
    op.drop_column("sessions", "deleted_at")


def _create_tenants() -> None:
    create_table(
        "tenants",
        sa.Column("tenant_id", id_type(), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("max_users", sa.Integer(), nullable=True),
        sa.Column("max_sessions_per_user", sa.Integer(), nullable=True),
        sa.Column("max_mcp_servers", sa.Integer(), nullable=True),
        sa.Column("workspace_quota", sa.BigInteger(), nullable=True),
        sa.Column("features_enabled", sa.JSON(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
    )
    create_table(
        "tenant_users",
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("tenant_id", id_type(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        belongs_to("tenant_users", "tenant_id", "tenants"),
    )
    create_index("tenant_users", "tenant_id")


def _create_logins() -> None:
    create_table(
        "login_failures",
        sa.Column("subject", id_type(128), primary_key=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("first_at", time_type(), nullable=False),
        sa.Column("last_at", time_type(), nullable=False),
    )
    create_table(
        "ended_logins",
        sa.Column("login_id", id_type(), primary_key=True),
        sa.Column("expires_at", time_type(), nullable=False),
    )


def _create_files() -> None:
    create_table(
        "files",
        sa.Column("file_id", id_type(), primary_key=True),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("session_id", id_type(), nullable=True),
        sa.Column("run_id", id_type(), nullable=True),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("filename", sa.String(255), nullable=False),
        sa.Column("stored_name", id_type(128), nullable=False),
        sa.Column("content_type", sa.String(100), nullable=False),
        sa.Column("byte_size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
    )
    create_index("files", "session_id")
    create_index("files", "user_id", "created_at")


def _create_usage() -> None:
    seconds: sa.Double[float] = sa.Double()
    create_table(
        "usage_days",
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("tool_calls", sa.Integer(), nullable=False),
        sa.Column("sql_seconds", seconds, nullable=False),
        sa.Column("wall_seconds", seconds, nullable=False),
    )


def _create_audit() -> None:
    create_table(
        "audit_log",
        sa.Column("position", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("at", time_type(), nullable=False),
        sa.Column("user_id", id_type(), nullable=True),
        sa.Column("via", sa.String(16), nullable=True),
        sa.Column("address", sa.String(64), nullable=True),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("target", sa.String(255), nullable=True),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("request_id", id_type(), nullable=True),
        sa.Column("session_id", id_type(), nullable=True),
        sa.Column("run_id", id_type(), nullable=True),
        sa.Column("details", long_text(), nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    create_index("audit_log", "at")
    create_index("audit_log", "user_id")
    create_index("audit_log", "action")
    create_table(
        "audit_head",
        sa.Column("chain", id_type(16), primary_key=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )


def _create_removed_sources() -> None:
    create_table(
        "removed_sources",
        sa.Column("source_id", id_type(), primary_key=True),
        sa.Column("removed_at", time_type(), nullable=False),
    )
