"""Names, defaults and checks of the documented schema: `mcp_servers.id`, `.timeout`, and others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dataagent_core.storage.migrations.steps import create_index, id_type, rename_column

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_CHECKS = {
    "ck_users_role": "role IN ('admin', 'user')",
    "ck_users_status": "status IN ('active', 'disabled')",
}
# of what a program that writes rows by itself may leave out
_POSTGRES_DEFAULTS = {
    "sessions": {
        "thread_id": "substr(md5(random()::text), 1, 8)",
        "title": "'New Conversation'",
        "created_at": "timezone('utc', now())",
        "last_active": "timezone('utc', now())",
        "state": "'{}'",
        "metadata": "'{}'",
    },
    "messages": {
        "status": "'complete'",
        "created_at": "timezone('utc', now())",
        "metadata": "'{}'",
    },
}
_MYSQL_DEFAULTS = {
    "sessions": {
        "thread_id": "(substr(md5(uuid()), 1, 8))",
        "title": "'New Conversation'",
        "created_at": "(utc_timestamp(3))",
        "last_active": "(utc_timestamp(3))",
        "state": "('{}')",
        "metadata": "('{}')",
    },
    "messages": {
        "status": "'complete'",
        "created_at": "(utc_timestamp(3))",
        "metadata": "('{}')",
    },
}


def upgrade() -> None:
    """Rename and index everywhere; defaults and checks where a table takes them as it is."""
    rename_column("mcp_servers", "server_id", "id", id_type(), nullable=False)
    rename_column("mcp_servers", "connect_timeout_s", "timeout", sa.Double(), nullable=False)
    create_index("messages", "created_at")
    for table, columns in _defaults().items():
        for column, default in columns.items():
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT {default}")
    for name, condition in _missing_checks().items():
        op.create_check_constraint(name, "users", condition)


def downgrade() -> None:
    """Take the names back, and the rest away."""
    if _dialect() != "sqlite":
        for name in _CHECKS:
            op.drop_constraint(name, "users", type_="check")
    for table, columns in _defaults().items():
        for column in columns:
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} DROP DEFAULT")
    op.drop_index("ix_messages_created_at", "messages")
    rename_column("mcp_servers", "timeout", "connect_timeout_s", sa.Double(), nullable=False)
    rename_column("mcp_servers", "id", "server_id", id_type(), nullable=False)


def _dialect() -> str:
    name = op.get_bind().dialect.name
    return "mysql" if name == "mariadb" else name


def _defaults() -> dict[str, dict[str, str]]:
    return {"postgresql": _POSTGRES_DEFAULTS, "mysql": _MYSQL_DEFAULTS}.get(_dialect(), {})


def _missing_checks() -> dict[str, str]:
    if _dialect() == "sqlite":
        return {}
    known = {each["name"] for each in sa.inspect(op.get_bind()).get_check_constraints("users")}
    return {name: condition for name, condition in _CHECKS.items() if name not in known}
