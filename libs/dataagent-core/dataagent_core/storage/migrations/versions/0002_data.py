"""Data sources with their grants, policies and catalogues; artefacts; users' attributes."""

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

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = (
    "user_attributes",
    "artifacts",
    "catalogues",
    "data_policies",
    "data_grants",
    "data_sources",
)


def upgrade() -> None:
    """Create the tables."""
    _create_sources()
    _create_what_belongs_to_sources()
    _create_artifacts()
    create_table(
        "user_attributes",
        sa.Column("user_id", id_type(), primary_key=True),
        sa.Column("name", id_type(64), primary_key=True),
        sa.Column("value", sa.JSON(), nullable=False),
    )


def downgrade() -> None:
    """Drop the tables."""
    for table in _TABLES:
        op.drop_table(table)


def _create_sources() -> None:
    create_table(
        "data_sources",
        sa.Column("source_id", id_type(), primary_key=True),
        sa.Column("name", id_type(100), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("owner_id", id_type(), nullable=True),
        sa.Column("secret_url", long_text(), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
        sa.UniqueConstraint("name", name="uq_data_sources_name"),
    )


def _create_what_belongs_to_sources() -> None:
    create_table(
        "data_grants",
        sa.Column("source_id", id_type(), primary_key=True),
        sa.Column("subject_kind", sa.String(16), primary_key=True),
        sa.Column("subject_id", id_type(), primary_key=True),
        belongs_to("data_grants", "source_id", "data_sources"),
    )
    create_table(
        "data_policies",
        sa.Column("policy_id", id_type(), primary_key=True),
        sa.Column("source_id", id_type(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("updated_at", time_type(), nullable=False),
        belongs_to("data_policies", "source_id", "data_sources"),
    )
    create_index("data_policies", "source_id")
    create_table(
        "catalogues",
        sa.Column("source_id", id_type(), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("refreshed_at", time_type(), nullable=False),
        sa.Column("content", long_text(), nullable=False),
        belongs_to("catalogues", "source_id", "data_sources"),
    )


def _create_artifacts() -> None:
    create_table(
        "artifacts",
        sa.Column("artifact_id", id_type(), primary_key=True),
        sa.Column("user_id", id_type(), nullable=False),
        sa.Column("session_id", id_type(), nullable=True),
        sa.Column("run_id", id_type(), nullable=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("byte_size", sa.BigInteger(), nullable=False),
        sa.Column("row_count", sa.BigInteger(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("receipt", sa.JSON(), nullable=True),
        sa.Column("spec", sa.JSON(), nullable=True),
        sa.Column("parent_id", id_type(), nullable=True),
        sa.Column("created_at", time_type(), nullable=False),
        sa.Column("expires_at", time_type(), nullable=True),
    )
    create_index("artifacts", "session_id")
    create_index("artifacts", "expires_at")
    create_index("artifacts", "user_id", "created_at")
