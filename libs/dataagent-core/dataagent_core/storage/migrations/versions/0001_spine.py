"""Sessions, messages, runs, events, approvals, users and what belongs to them."""

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

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    "workspace_usage",
    "secrets",
    "login_links",
    "api_keys",
    "users",
    "approvals",
    "event_batches",
    "runs",
    "messages",
    "sessions",
)


def upgrade() -> None:
    """Create the tables."""
    _create_sessions()
    _create_messages()
    _create_runs()
    _create_event_batches()
    _create_approvals()
    _create_users()
    _create_secrets()
    _create_workspace_usage()


def downgrade() -> None:
    """Drop the tables."""
    for table in _TABLES:
        op.drop_table(table)


def _create_sessions() -> None:
    create_table(
        "sessions",
        sa.Column("session_id", id_type(), primary_key=True),
        sa.Column("thread_id", id_type(16), nullable=False),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("assistant_id", id_type(), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("last_active", time_type(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.UniqueConstraint("thread_id", name="uq_sessions_thread_id"),
    )
    create_index("sessions", "assistant_id")
    create_index("sessions", "last_active")
    create_index("sessions", "user_id", "last_active")


def _create_messages() -> None:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    create_table(
        "messages",
        sa.Column("position", number, primary_key=True),
        sa.Column("message_id", id_type(), nullable=False),
        sa.Column("session_id", id_type(), nullable=False),
        sa.Column("run_id", id_type(), nullable=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("content", long_text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.UniqueConstraint("message_id", name="uq_messages_message_id"),
        belongs_to("messages", "session_id", "sessions"),
    )
    create_index("messages", "session_id", "position")


def _create_runs() -> None:
    create_table(
        "runs",
        sa.Column("run_id", id_type(), primary_key=True),
        sa.Column("session_id", id_type(), nullable=False),
        sa.Column("active_session", id_type(), nullable=True),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("assistant_id", id_type(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("message_id", id_type(), nullable=False),
        sa.Column("answer_id", id_type(), nullable=False),
        sa.Column("client_message_id", id_type(128), nullable=True),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("started_at", time_type(), nullable=True),
        sa.Column("ended_at", time_type(), nullable=True),
        sa.Column("lease_owner", id_type(), nullable=True),
        sa.Column("lease_until", time_type(), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("token_usage", sa.JSON(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("input", sa.JSON(), nullable=False),
        sa.UniqueConstraint("active_session", name="uq_runs_active_session"),
        sa.UniqueConstraint(
            "session_id", "client_message_id", name="uq_runs_session_id_client_message_id"
        ),
        belongs_to("runs", "session_id", "sessions"),
    )
    create_index("runs", "lease_owner")


def _create_event_batches() -> None:
    create_table(
        "event_batches",
        sa.Column("session_id", id_type(), primary_key=True),
        sa.Column("last_seq", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("run_id", id_type(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("events", long_text(), nullable=False),
        belongs_to("event_batches", "session_id", "sessions"),
    )


def _create_approvals() -> None:
    create_table(
        "approvals",
        sa.Column("run_id", id_type(), primary_key=True),
        sa.Column("request_id", id_type(), primary_key=True),
        sa.Column("session_id", id_type(), nullable=False),
        sa.Column("action", sa.JSON(), nullable=False),
        sa.Column("allowed", sa.JSON(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("expires_at", time_type(), nullable=False),
        sa.Column("decision", sa.JSON(), nullable=True),
        sa.Column("decided_at", time_type(), nullable=True),
        belongs_to("approvals", "run_id", "runs"),
    )


def _create_users() -> None:
    create_table(
        "users",
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("username", id_type(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("password_hash", sa.String(128), nullable=True),
        sa.Column("created_at", time_type(), nullable=False),
        sa.UniqueConstraint("username", name="uq_users_username"),
    )
    create_table(
        "api_keys",
        sa.Column("key_id", id_type(), primary_key=True),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("prefix", id_type(16), nullable=False),
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("last_used", time_type(), nullable=True),
        belongs_to("api_keys", "user_id", "users"),
    )
    create_index("api_keys", "prefix")
    create_table(
        "login_links",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("expires_at", time_type(), nullable=False),
        belongs_to("login_links", "user_id", "users"),
    )


def _create_secrets() -> None:
    create_table(
        "secrets",
        sa.Column("name", id_type(), primary_key=True),
        sa.Column("value", long_text(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
    )


def _create_workspace_usage() -> None:
    create_table(
        "workspace_usage",
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("bytes_used", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
    )
