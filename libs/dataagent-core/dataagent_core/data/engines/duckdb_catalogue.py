"""What DuckDB says about its tables: four questions, whatever their number.

`schema` is None for the schema `main`. Above: `duckdb.py`, which brings the answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from dataagent_core.data.types import Column, ForeignKey, Table

_RELATIONS = """
    SELECT schema_name, table_name, false, comment FROM duckdb_tables()
    WHERE database_name = current_database() AND NOT internal AND NOT temporary
    UNION ALL
    SELECT schema_name, view_name, true, comment FROM duckdb_views()
    WHERE database_name = current_database() AND NOT internal AND NOT temporary
    ORDER BY 1, 2
"""
_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type, is_nullable, comment
    FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
    ORDER BY schema_name, table_name, column_index
"""
_KEYS = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table,
           referenced_column_names
    FROM duckdb_constraints()
    WHERE database_name = current_database() AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
    ORDER BY schema_name, table_name, constraint_index
"""
_DEFAULT = "main"

Fetch = Callable[[str], Sequence[Sequence[Any]]]  # Any: whatever a row holds


def tables_of(fetch: Fetch) -> list[Table]:
    """Every table and view, without row counts."""
    columns: dict[tuple[str, str], list[Column]] = defaultdict(list)
    for schema, table, name, kind, is_nullable, comment in fetch(_COLUMNS):
        columns[schema, table].append(Column(name, kind, is_nullable, comment))
    keys: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for schema, table, *key in fetch(_KEYS):
        keys[schema, table].append(tuple(key))
    return [
        Table(
            name=name,
            schema=_shown(schema),
            columns=tuple(columns[schema, name]),
            is_view=is_view,
            comment=comment,
            primary_key=tuple(
                column
                for kind, own, _, _ in keys[schema, name]
                if kind == "PRIMARY KEY"
                for column in own
            ),
            foreign_keys=tuple(
                ForeignKey(
                    columns=tuple(own),
                    target_table=".".join(part for part in (_shown(schema), target) if part),
                    target_columns=tuple(others),
                )
                for kind, own, target, others in keys[schema, name]
                if kind == "FOREIGN KEY"
            ),
        )
        for schema, name, is_view, comment in fetch(_RELATIONS)
    ]


def _shown(schema: str) -> str | None:
    return None if schema == _DEFAULT else schema
