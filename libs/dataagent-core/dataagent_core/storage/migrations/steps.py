"""The operations that migrations use.

MySQL commits after each such statement, so an interrupted migration leaves some tables behind: each
operation checks first, and a second attempt continues from there.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql


def id_type(length: int = 64) -> Any:
    """Return the type of an id, compared byte by byte on every database."""
    binary = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(binary, "mysql", "mariadb")


def long_text() -> Any:
    """Return the type of unbounded text."""
    return sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def time_type() -> Any:
    """Return the type of a UTC time with milliseconds."""
    return sa.DateTime().with_variant(mysql.DATETIME(fsp=3), "mysql", "mariadb")


def create_table(name: str, *parts: Any, **options: Any) -> None:
    """Create a table unless it exists."""
    options |= {
        "if_not_exists": True,
        "mysql_engine": "InnoDB",
        "mysql_charset": "utf8mb4",
        "mysql_collate": "utf8mb4_unicode_ci",
    }
    op.create_table(name, *parts, **options)


def create_index(table: str, *columns: str) -> None:
    """Create an index, named after its columns, unless it exists."""
    name = f"ix_{table}_{'_'.join(columns)}"
    known = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}
    if name not in known:
        op.create_index(name, table, list(columns))


def belongs_to(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    """Return a foreign key whose rows are deleted with their parent."""
    return sa.ForeignKeyConstraint(
        [column], [f"{parent}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE"
    )


def add_column(table: str, column: sa.Column[Any]) -> None:
    """Add a column unless it exists."""
    if column.name not in {known["name"] for known in sa.inspect(op.get_bind()).get_columns(table)}:
        op.add_column(table, column)


def rename_column(table: str, old: str, new: str, type_: Any, *, nullable: bool = True) -> None:
    """Rename a column unless it has the new name. Foreign keys to it follow."""
    if new not in {known["name"] for known in sa.inspect(op.get_bind()).get_columns(table)}:
        op.alter_column(
            table, old, new_column_name=new, existing_type=type_, existing_nullable=nullable
        )
