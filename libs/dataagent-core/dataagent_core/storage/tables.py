"""The tables of sessions, runs, data, people and files, for SQLite, PostgreSQL and MySQL/MariaDB.

Ids are text made by the server. Times are UTC with milliseconds. Large text is `LONGTEXT` on MySQL,
where `TEXT` ends at 64 KiB. LangGraph's savers own their checkpoint tables. `agent_tables.py` has
the rest.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC datetime, stored with milliseconds and without a zone."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        """Fractional seconds on MySQL, plain timestamps elsewhere."""
        kind = mysql.DATETIME(fsp=3) if dialect.name in ("mysql", "mariadb") else DateTime()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Aware → naive UTC."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Naive UTC → aware."""
        return None if value is None else value.replace(tzinfo=UTC)


def id_type(length: int = 64) -> Any:
    """Return the type of an id, compared byte by byte (MySQL's default ignores case)."""
    return String(length).with_variant(
        mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb"
    )


LONG_TEXT = Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")

MYSQL: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_unicode_ci",
}


def _session_fk() -> Any:
    return ForeignKey("sessions.session_id", ondelete="CASCADE")


sessions = Table(
    "sessions",
    metadata,
    Column("session_id", id_type(), primary_key=True),
    Column("thread_id", id_type(16), nullable=False, unique=True),
    Column("user_id", id_type(), nullable=False),
    Column("assistant_id", id_type(), nullable=False, index=True),
    Column("title", String(200), nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("last_active", UtcTime(), nullable=False, index=True),
    Column("state", JSON, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("deleted_at", UtcTime(), nullable=True, index=True),  # set: gone for every reader
    # of its metadata, messages and events; what runs in it is added when it ends
    Column("bytes_used", BigInteger, nullable=False, default=0, server_default="0"),
    Index("ix_sessions_user_id_last_active", "user_id", "last_active"),
    **MYSQL,
)

deleted_sessions = Table(
    "deleted_sessions",
    metadata,
    Column("session_id", id_type(), primary_key=True),  # never given to a session again
    Column("deleted_at", UtcTime(), nullable=False),
    **MYSQL,
)

messages = Table(
    "messages",
    metadata,
    # insertion order; created_at alone would tie within a millisecond
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("message_id", id_type(), nullable=False, unique=True),
    Column("session_id", id_type(), _session_fk(), nullable=False),
    Column("run_id", id_type(), nullable=True),
    Column("role", String(16), nullable=False),
    Column("content", LONG_TEXT, nullable=False),
    Column("status", String(16), nullable=False),
    Column("created_at", UtcTime(), nullable=False, index=True),
    Column("metadata", JSON, nullable=False),
    Index("ix_messages_session_id_position", "session_id", "position"),
    **MYSQL,
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", id_type(), primary_key=True),
    Column("session_id", id_type(), _session_fk(), nullable=False),
    # the session's id while the run is active, NULL after: its uniqueness is "one run at a time"
    Column("active_session", id_type(), nullable=True, unique=True),
    Column("user_id", id_type(), nullable=False),
    Column("assistant_id", id_type(), nullable=False),
    Column("status", String(16), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("message_id", id_type(), nullable=False),
    Column("answer_id", id_type(), nullable=False),
    Column("client_message_id", id_type(128), nullable=True),
    Column("created_at", UtcTime(), nullable=False),
    Column("started_at", UtcTime(), nullable=True),
    Column("ended_at", UtcTime(), nullable=True),
    Column("lease_owner", id_type(), nullable=True),
    Column("lease_until", UtcTime(), nullable=True),
    Column("cancel_requested", Boolean, nullable=False),
    Column("token_usage", JSON, nullable=True),
    Column("error", JSON, nullable=True),
    Column("input", JSON, nullable=False),
    UniqueConstraint("session_id", "client_message_id"),
    Index("ix_runs_lease_owner", "lease_owner"),
    **MYSQL,
)

event_batches = Table(
    "event_batches",
    metadata,
    Column("session_id", id_type(), _session_fk(), primary_key=True),
    Column("last_seq", Integer, primary_key=True, autoincrement=False),
    Column("first_seq", Integer, nullable=False),
    Column("run_id", id_type(), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("events", LONG_TEXT, nullable=False),  # wire forms, one a line
    **MYSQL,
)

approvals = Table(
    "approvals",
    metadata,
    Column("run_id", id_type(), ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("request_id", id_type(), primary_key=True),
    Column("session_id", id_type(), nullable=False),
    Column("action", JSON, nullable=False),
    Column("allowed", JSON, nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("expires_at", UtcTime(), nullable=False),
    Column("decision", JSON, nullable=True),
    Column("decided_at", UtcTime(), nullable=True),
    **MYSQL,
)

users = Table(
    "users",
    metadata,
    Column("id", id_type(), primary_key=True),  # the `user_id` of all other tables
    Column("username", id_type(64), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("password_hash", String(128), nullable=True),
    Column("created_at", UtcTime(), nullable=False),
    **MYSQL,
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", id_type(), primary_key=True),
    Column("user_id", id_type(), ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(100), nullable=False),
    Column("prefix", id_type(16), nullable=False, index=True),
    Column("key_hash", String(64), nullable=False),
    # all, or those listed in api_key_tools
    Column("tool_scope", String(16), nullable=False, default="all", server_default="all"),
    Column("created_at", UtcTime(), nullable=False),
    Column("created_by", id_type(), nullable=True),  # NULL: made before this was stored
    Column("last_used", UtcTime(), nullable=True),
    **MYSQL,
)

login_links = Table(
    "login_links",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("user_id", id_type(), ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("expires_at", UtcTime(), nullable=False),
    **MYSQL,
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", id_type(), primary_key=True),
    Column("value", LONG_TEXT, nullable=False),  # generated once, shared by all processes
    Column("created_at", UtcTime(), nullable=False),
    **MYSQL,
)

storage_checks = Table(
    "storage_checks",
    metadata,
    # one row: the check of readiness writes it to see that the database takes writes
    Column("name", id_type(16), primary_key=True),
    Column("checked_at", UtcTime(), nullable=False),
    **MYSQL,
)

workspace_usage = Table(
    "workspace_usage",
    metadata,
    Column("user_id", id_type(), primary_key=True),
    Column("bytes_used", BigInteger, nullable=False),
    Column("updated_at", UtcTime(), nullable=False),
    **MYSQL,
)

data_sources = Table(
    "data_sources",
    metadata,
    Column("source_id", id_type(), primary_key=True),
    Column("name", id_type(100), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),  # database, files
    Column("owner_id", id_type(), nullable=True),  # None: the installation's own
    Column("secret_url", LONG_TEXT, nullable=True),  # encrypted; never read back to anyone
    Column("settings", JSON, nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("updated_at", UtcTime(), nullable=False),
    **MYSQL,
)


removed_sources = Table(
    "removed_sources",
    metadata,
    Column("source_id", id_type(), primary_key=True),  # one of ours that someone deleted
    Column("removed_at", UtcTime(), nullable=False),
    **MYSQL,
)


def _source_fk() -> Any:
    return ForeignKey("data_sources.source_id", ondelete="CASCADE")


data_grants = Table(
    "data_grants",
    metadata,
    Column("source_id", id_type(), _source_fk(), primary_key=True),
    Column("subject_kind", String(16), primary_key=True),  # everyone, user, tenant, agent
    Column("subject_id", id_type(), primary_key=True),  # "" for everyone
    **MYSQL,
)

data_policies = Table(
    "data_policies",
    metadata,
    Column("policy_id", id_type(), primary_key=True),
    Column("source_id", id_type(), _source_fk(), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("updated_at", UtcTime(), nullable=False),
    **MYSQL,
)

catalogues = Table(
    "catalogues",
    metadata,
    Column("source_id", id_type(), _source_fk(), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("refreshed_at", UtcTime(), nullable=False),
    Column("content", LONG_TEXT, nullable=False),  # the tables, as JSON
    **MYSQL,
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("artifact_id", id_type(), primary_key=True),
    Column("user_id", id_type(), nullable=False),
    Column("session_id", id_type(), nullable=True, index=True),
    Column("run_id", id_type(), nullable=True),
    Column("kind", String(16), nullable=False),  # table, chart, file
    Column("title", String(200), nullable=False),
    Column("byte_size", BigInteger, nullable=False),
    Column("row_count", BigInteger, nullable=False),
    Column("columns", JSON, nullable=False),
    Column("receipt", JSON, nullable=True),
    Column("spec", JSON, nullable=True),
    Column("parent_id", id_type(), nullable=True),
    Column("created_at", UtcTime(), nullable=False),
    Column("expires_at", UtcTime(), nullable=True, index=True),
    Index("ix_artifacts_user_id_created_at", "user_id", "created_at"),
    **MYSQL,
)

user_attributes = Table(
    "user_attributes",
    metadata,
    Column("user_id", id_type(), primary_key=True),
    Column("name", id_type(64), primary_key=True),
    Column("value", JSON, nullable=False),  # what `:user.NAME` stands for in a row filter
    **MYSQL,
)


_SECONDS: Double[float] = Double()

tenants = Table(
    "tenants",
    metadata,
    Column("tenant_id", id_type(), primary_key=True),
    Column("name", String(200), nullable=False),
    # NULL: no limit
    Column("max_users", Integer, nullable=True),
    Column("max_sessions_per_user", Integer, nullable=True),
    Column("max_mcp_servers", Integer, nullable=True),
    Column("workspace_quota_bytes", BigInteger, nullable=True),
    Column("features_enabled", JSON, nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("updated_at", UtcTime(), nullable=False),
    **MYSQL,
)

user_tenants = Table(
    "user_tenants",
    metadata,
    Column("user_id", id_type(), primary_key=True),  # a user is in one tenant
    Column(
        "tenant_id",
        id_type(),
        ForeignKey("tenants.tenant_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("role", String(16), nullable=False),  # admin, member
    Column("created_at", UtcTime(), nullable=False),
    **MYSQL,
)

tenant_invitations = Table(
    "tenant_invitations",
    metadata,
    Column(
        "tenant_id",
        id_type(),
        ForeignKey("tenants.tenant_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column(
        "user_id",
        id_type(),
        ForeignKey("users.id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    ),
    Column("role", String(16), nullable=False),  # admin, member
    Column("invited_by", id_type(), nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Column("expires_at", UtcTime(), nullable=False),
    **MYSQL,
)

login_failures = Table(
    "login_failures",
    metadata,
    # "name:alice", "address:192.0.2.7", "name:alice@192.0.2.7"
    Column("subject", id_type(128), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("first_at", UtcTime(), nullable=False),
    Column("last_at", UtcTime(), nullable=False),
    **MYSQL,
)

login_addresses = Table(
    "login_addresses",
    metadata,
    # where a user has logged in with the right password
    Column("user_id", id_type(), ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("address", id_type(), primary_key=True),
    Column("last_at", UtcTime(), nullable=False, index=True),
    **MYSQL,
)

ended_logins = Table(
    "ended_logins",
    metadata,
    Column("login_id", id_type(), primary_key=True),  # of a token that was logged out
    Column("expires_at", UtcTime(), nullable=False),  # when the token would have ended by itself
    **MYSQL,
)

files = Table(
    "files",
    metadata,
    Column("file_id", id_type(), primary_key=True),
    Column("user_id", id_type(), nullable=False),
    Column("session_id", id_type(), nullable=True, index=True),
    Column("run_id", id_type(), nullable=True),
    Column("origin", String(16), nullable=False),  # upload, generated
    Column("filename", String(255), nullable=False),  # as its owner named it; never a path
    Column("stored_name", id_type(128), nullable=False),  # as it lies in the owner's workspace
    Column("content_type", String(100), nullable=False),
    Column("byte_size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("created_at", UtcTime(), nullable=False),
    Index("ix_files_user_id_created_at", "user_id", "created_at"),
    **MYSQL,
)

usage_days = Table(
    "usage_days",
    metadata,
    Column("user_id", id_type(), primary_key=True),
    Column("day", Date, primary_key=True),  # UTC
    Column("runs", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("tool_calls", Integer, nullable=False),
    Column("sql_seconds", _SECONDS, nullable=False),
    Column("wall_seconds", _SECONDS, nullable=False),
    **MYSQL,
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),  # 1, 2, 3 … no gap
    Column("at", UtcTime(), nullable=False, index=True),
    Column("user_id", id_type(), nullable=True, index=True),
    Column("via", String(16), nullable=True),
    Column("address", String(64), nullable=True),
    Column("action", String(64), nullable=False, index=True),  # login, user.create, tool.call, …
    Column("target", String(255), nullable=True),
    Column("outcome", String(16), nullable=False),  # success, denied, failed
    Column("request_id", id_type(), nullable=True),
    Column("session_id", id_type(), nullable=True),
    Column("run_id", id_type(), nullable=True),
    Column("details", LONG_TEXT, nullable=False),  # canonical JSON, scrubbed
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    **MYSQL,
)

audit_head = Table(
    "audit_head",
    metadata,
    # one row, "main": where the audit log ends, so that a log cut at its end is noticed, and whose
    # lock lets one writer at a time append
    Column("chain", id_type(16), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    **MYSQL,
)
