"""Defaults of the documented schema: limits of tenants, roles of their members, MCP servers."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_LIMITS = {
    "max_users": "100",
    "max_sessions_per_user": "10",
    "max_mcp_servers": "5",
    "workspace_quota_bytes": "1073741824",
}
# of what a program that writes rows by itself may leave out
_POSTGRES_DEFAULTS = {
    "tenants": {
        **_LIMITS,
        "features_enabled": "'{}'",
        "created_at": "timezone('utc', now())",
        "updated_at": "timezone('utc', now())",
    },
    "user_tenants": {"role": "'member'", "created_at": "timezone('utc', now())"},
    "mcp_servers": {
        "args": "'[]'",
        "disabled": "false",
        "timeout": "30",
        "created_at": "timezone('utc', now())",
        "updated_at": "timezone('utc', now())",
    },
}
_MYSQL_DEFAULTS = {
    "tenants": {
        **_LIMITS,
        "features_enabled": "('{}')",
        "created_at": "(utc_timestamp(3))",
        "updated_at": "(utc_timestamp(3))",
    },
    "user_tenants": {"role": "'member'", "created_at": "(utc_timestamp(3))"},
    "mcp_servers": {
        "args": "('[]')",
        "disabled": "false",
        "timeout": "30",
        "created_at": "(utc_timestamp(3))",
        "updated_at": "(utc_timestamp(3))",
    },
}


def upgrade() -> None:
    """Set them where a table takes them as it is."""
    for table, columns in _defaults().items():
        for column, default in columns.items():
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT {default}")


def downgrade() -> None:
    """Take them away."""
    for table, columns in _defaults().items():
        for column in columns:
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} DROP DEFAULT")


def _defaults() -> dict[str, dict[str, str]]:
    dialect = op.get_bind().dialect.name
    return {
        "postgresql": _POSTGRES_DEFAULTS,
        "mysql": _MYSQL_DEFAULTS,
        "mariadb": _MYSQL_DEFAULTS,
    }.get(dialect, {})
