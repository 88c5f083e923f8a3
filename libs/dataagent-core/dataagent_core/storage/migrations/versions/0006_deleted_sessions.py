"""Ids of deleted sessions, which are not used again; how many bytes each session holds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dataagent_core.storage.migrations.steps import add_column, create_table, id_type, time_type

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_COUNT = """
UPDATE sessions SET bytes_used =
    COALESCE((SELECT SUM({bytes_of_content}) FROM messages
              WHERE messages.session_id = sessions.session_id), 0)
  + COALESCE((SELECT SUM({bytes_of_events}) FROM event_batches
              WHERE event_batches.session_id = sessions.session_id), 0)
"""


def upgrade() -> None:
    """Create the table of ids that are closed, and count what sessions hold.

    Sessions deleted before are not in the table.
    """
    create_table(
        "deleted_sessions",
        sa.Column("session_id", id_type(), primary_key=True),
        sa.Column("deleted_at", time_type(), nullable=False),
    )
    used = sa.Column("bytes_used", sa.BigInteger(), nullable=False, server_default="0")
    add_column("sessions", used)
    op.execute(_COUNT.format(bytes_of_content=_bytes("content"), bytes_of_events=_bytes("events")))


def downgrade() -> None:
    """Drop both: ids of deleted sessions are free again."""
    op.drop_column("sessions", "bytes_used")
    op.drop_table("deleted_sessions")


def _bytes(column: str) -> str:
    if op.get_bind().dialect.name == "sqlite":
        return f"LENGTH(CAST({column} AS BLOB))"
    return f"OCTET_LENGTH({column})"
