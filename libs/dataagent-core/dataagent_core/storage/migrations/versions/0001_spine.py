"""Sessions, messages, runs, events, approvals, users and what belongs to them.

MySQL commits after each statement of this kind, so a migration cut short there leaves some tables
behind: each step looks first and the second try goes on from there.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

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


def _id(length: int = 64) -> Any:
    binary = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(binary, "mysql", "mariadb")


def _long_text() -> Any:
    return sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def _time() -> Any:
    return sa.DateTime().with_variant(mysql.DATETIME(fsp=3), "mysql", "mariadb")


def _create_table(name: str, *parts: Any) -> None:
    op.create_table(
        name, *parts, if_not_exists=True, mysql_engine="InnoDB", mysql_charset="utf8mb4"
    )


def _create_index(table: str, *columns: str) -> None:
    name = f"ix_{table}_{'_'.join(columns)}"
    known = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}
    if name not in known:
        op.create_index(name, table, list(columns))


def _belongs_to(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{parent}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE"
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
    _create_table(
        "sessions",
        sa.Column("session_id", _id(), primary_key=True),
        sa.Column("thread_id", _id(16), nullable=False),
        sa.Column("user_id", _id(), nullable=False),
        sa.Column("assistant_id", _id(), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("created_at", _time(), nullable=False),
        sa.Column("last_active", _time(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.UniqueConstraint("thread_id", name="uq_sessions_thread_id"),
    )
    _create_index("sessions", "assistant_id")
    _create_index("sessions", "last_active")
    _create_index("sessions", "user_id", "last_active")


def _create_messages() -> None:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    _create_table(
        "messages",
        sa.Column("position", number, primary_key=True),
        sa.Column("message_id", _id(), nullable=False),
        sa.Column("session_id", _id(), nullable=False),
        sa.Column("run_id", _id(), nullable=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("content", _long_text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("created_at", _time(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.UniqueConstraint("message_id", name="uq_messages_message_id"),
        _belongs_to("messages", "session_id", "sessions"),
    )
    _create_index("messages", "session_id", "position")


def _create_runs() -> None:
    _create_table(
        "runs",
        sa.Column("run_id", _id(), primary_key=True),
        sa.Column("session_id", _id(), nullable=False),
        sa.Column("active_session", _id(), nullable=True),
        sa.Column("user_id", _id(), nullable=False),
        sa.Column("assistant_id", _id(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("message_id", _id(), nullable=False),
        sa.Column("answer_id", _id(), nullable=False),
        sa.Column("client_message_id", _id(128), nullable=True),
        sa.Column("created_at", _time(), nullable=False),
        sa.Column("started_at", _time(), nullable=True),
        sa.Column("ended_at", _time(), nullable=True),
        sa.Column("lease_owner", _id(), nullable=True),
        sa.Column("lease_until", _time(), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("token_usage", sa.JSON(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("input", sa.JSON(), nullable=False),
        sa.UniqueConstraint("active_session", name="uq_runs_active_session"),
        sa.UniqueConstraint(
            "session_id", "client_message_id", name="uq_runs_session_id_client_message_id"
        ),
        _belongs_to("runs", "session_id", "sessions"),
    )
    _create_index("runs", "lease_owner")


def _create_event_batches() -> None:
    _create_table(
        "event_batches",
        sa.Column("session_id", _id(), primary_key=True),
        sa.Column("last_seq", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("run_id", _id(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("events", _long_text(), nullable=False),
        _belongs_to("event_batches", "session_id", "sessions"),
    )


def _create_approvals() -> None:
    _create_table(
        "approvals",
        sa.Column("run_id", _id(), primary_key=True),
        sa.Column("request_id", _id(), primary_key=True),
        sa.Column("session_id", _id(), nullable=False),
        sa.Column("action", sa.JSON(), nullable=False),
        sa.Column("allowed", sa.JSON(), nullable=False),
        sa.Column("created_at", _time(), nullable=False),
        sa.Column("expires_at", _time(), nullable=False),
        sa.Column("decision", sa.JSON(), nullable=True),
        sa.Column("decided_at", _time(), nullable=True),
        _belongs_to("approvals", "run_id", "runs"),
    )


def _create_users() -> None:
    _create_table(
        "users",
        sa.Column("user_id", _id(), primary_key=True),
        sa.Column("username", _id(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("password_hash", sa.String(128), nullable=True),
        sa.Column("created_at", _time(), nullable=False),
        sa.UniqueConstraint("username", name="uq_users_username"),
    )
    _create_table(
        "api_keys",
        sa.Column("key_id", _id(), primary_key=True),
        sa.Column("user_id", _id(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("prefix", _id(16), nullable=False),
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("created_at", _time(), nullable=False),
        sa.Column("last_used", _time(), nullable=True),
        _belongs_to("api_keys", "user_id", "users"),
    )
    _create_index("api_keys", "prefix")
    _create_table(
        "login_links",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("user_id", _id(), nullable=False),
        sa.Column("expires_at", _time(), nullable=False),
        _belongs_to("login_links", "user_id", "users"),
    )


def _create_secrets() -> None:
    _create_table(
        "secrets",
        sa.Column("name", _id(), primary_key=True),
        sa.Column("value", _long_text(), nullable=False),
        sa.Column("created_at", _time(), nullable=False),
    )


def _create_workspace_usage() -> None:
    _create_table(
        "workspace_usage",
        sa.Column("user_id", _id(), primary_key=True),
        sa.Column("bytes_used", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", _time(), nullable=False),
    )
