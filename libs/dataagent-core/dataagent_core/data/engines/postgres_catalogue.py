"""What PostgreSQL says about its tables: four questions, whatever their number.

Only what the account may read is told. `schema` is None for tables that a query finds without
naming a schema. Above: `postgres.py`. Below: a connection inside a transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import psycopg

from dataagent_core.data.types import Column, ForeignKey, Table

Connection = psycopg.Connection[tuple[Any, ...]]
K = TypeVar("K")
V = TypeVar("V")

_RELATIONS = """
    SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm'), pg_table_is_visible(c.oid),
           obj_description(c.oid, 'pg_class')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname, c.relname
"""
_COLUMNS = """
    SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
           NOT a.attnotnull, col_description(a.attrelid, a.attnum)
    FROM pg_attribute a
    WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
      AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum
"""
_KEYS = """
    SELECT k.conrelid, k.contype::text, k.conkey, k.confrelid, k.confkey
    FROM pg_constraint k
    WHERE k.conrelid = ANY(%s) AND k.contype IN ('p', 'f') ORDER BY k.conrelid, k.conname
"""
_POINTED_AT = "SELECT attrelid, attnum, attname FROM pg_attribute WHERE attrelid = ANY(%s)"


def tables_of(connection: Connection) -> list[Table]:
    """Every table and view that the account may read, without row counts."""
    relations = connection.execute(_RELATIONS).fetchall()
    numbers = [relation[0] for relation in relations]
    names = {
        number: (None if is_visible else schema, name)
        for number, schema, name, _, is_visible, _ in relations
    }
    columns = _grouped(connection.execute(_COLUMNS, [numbers]), lambda row: row[0])
    keys = _grouped(connection.execute(_KEYS, [numbers]), lambda row: row[0])
    attributes = {
        (row[0], row[1]): row[2] for row in connection.execute(_POINTED_AT, [numbers]).fetchall()
    }
    return [
        Table(
            name=names[number][1],
            schema=names[number][0],
            columns=tuple(_column(row) for row in columns[number]),
            is_view=is_view,
            comment=comment,
            primary_key=tuple(
                attributes[number, at]
                for _, kind, on, _, _ in keys[number]
                if kind == "p"
                for at in on
            ),
            foreign_keys=tuple(
                ForeignKey(
                    columns=tuple(attributes[number, at] for at in on),
                    target_table=".".join(part for part in names[target] if part),
                    target_columns=tuple(attributes[target, at] for at in to),
                )
                for _, kind, on, target, to in keys[number]
                if kind == "f" and target in names
            ),
        )
        for number, _, _, is_view, _, comment in relations
    ]


def _column(row: tuple[Any, ...]) -> Column:
    return Column(name=row[2], type=row[3], is_nullable=row[4], comment=row[5])


def _grouped(rows: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups
