"""Names other programs know: `users.id`, `user_tenants`, its quota in bytes, `conversations`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dataagent_core.storage.migrations.steps import (
    belongs_to,
    create_index,
    create_table,
    id_type,
    rename_column,
    time_type,
)

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_MEMBER = ["user_id", "tenant_id", "role", "created_at"]
_CONVERSATIONS = """
CREATE {options} VIEW conversations AS
SELECT session_id AS id, thread_id, user_id, title, created_at, last_active AS updated_at,
    deleted_at IS NOT NULL AS is_deleted
FROM sessions
"""


def upgrade() -> None:
    """Rename, and show sessions as conversations. Rows and foreign keys stay."""
    rename_column("users", "user_id", "id", id_type(), nullable=False)
    rename_column("tenants", "workspace_quota", "workspace_quota_bytes", sa.BigInteger())
    _move_members("tenant_users", "user_tenants")
    if "conversations" not in sa.inspect(op.get_bind()).get_view_names():
        # whoever reads it needs the right to read the table, wherever a dump of it was restored
        is_mysql = op.get_bind().dialect.name in ("mysql", "mariadb")
        op.execute(_CONVERSATIONS.format(options="SQL SECURITY INVOKER" if is_mysql else ""))


def downgrade() -> None:
    """Take the names back."""
    op.execute("DROP VIEW IF EXISTS conversations")
    _move_members("user_tenants", "tenant_users")
    rename_column("tenants", "workspace_quota_bytes", "workspace_quota", sa.BigInteger())
    rename_column("users", "id", "user_id", id_type(), nullable=False)


def _move_members(old: str, new: str) -> None:
    """Move the members of tenants to a new table, whose keys and indexes are named after it."""
    create_table(
        new,
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("tenant_id", id_type(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        belongs_to(new, "tenant_id", "tenants"),
    )
    create_index(new, "tenant_id")
    if not sa.inspect(op.get_bind()).has_table(old):
        return
    source, target = (sa.table(name, *map(sa.column, _MEMBER)) for name in (old, new))
    missing = sa.select(*source.c).where(source.c.user_id.not_in(sa.select(target.c.user_id)))
    op.execute(sa.insert(target).from_select(_MEMBER, missing))
    op.drop_table(old)
