"""The tables about people: tenants, what they may use, what they did, what they uploaded.

The rest is in `tables.py`, whose types these share; importing either gives the same `metadata`.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Date,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
)

from dataagent_core.storage.tables import LONG_TEXT, MYSQL, UtcTime, id_type, metadata

__all__ = [
    "audit_head",
    "audit_log",
    "ended_logins",
    "files",
    "login_addresses",
    "login_failures",
    "metadata",
    "tenant_invitations",
    "tenants",
    "usage_days",
    "user_tenants",
]

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
