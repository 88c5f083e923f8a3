"""What a SQLite file says about its tables: declarations, keys, views.

SQLite keeps no comments, so there are none. Above: `sqlite.py`. Below: a connection that may read
the schema, which statements never get.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict

from dataagent_core.data.types import Column, ForeignKey, Table

_TABLES = """
    SELECT name, type FROM pragma_table_list
    WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%'
    ESCAPE '\\' ORDER BY name
"""
_HIDDEN = 1  # columns of a virtual table that `*` leaves out


def tables_of(connection: sqlite3.Connection) -> list[Table]:
    """Every table and view, without row counts."""
    listed = connection.execute(_TABLES).fetchall()
    return [
        table
        for name, kind in listed
        if (table := _table(connection, name, is_view=kind == "view")) is not None
    ]


def _table(connection: sqlite3.Connection, name: str, *, is_view: bool) -> Table | None:
    """One table; None for a view over something that is no longer there."""
    try:
        rows = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
    except sqlite3.OperationalError:
        return None
    columns = tuple(
        Column(name=row[1], type=row[2], is_nullable=not (row[3] or row[5]))
        for row in rows
        if row[6] != _HIDDEN
    )
    keyed = sorted((row[5], row[1]) for row in rows if row[5])
    return Table(
        name=name,
        columns=columns,
        is_view=is_view,
        primary_key=tuple(column for _, column in keyed),
        foreign_keys=() if is_view else _foreign_keys(connection, name),
    )


def _foreign_keys(connection: sqlite3.Connection, name: str) -> tuple[ForeignKey, ...]:
    rows = connection.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (name,)
    ).fetchall()
    grouped: dict[int, list[tuple[str, str, str | None]]] = defaultdict(list)
    for number, target, origin, to in rows:
        grouped[number].append((target, origin, to))
    return tuple(
        ForeignKey(
            columns=tuple(origin for _, origin, _ in parts),
            target_table=parts[0][0],
            target_columns=_targets(connection, parts),
        )
        for parts in grouped.values()
    )


def _targets(
    connection: sqlite3.Connection, parts: list[tuple[str, str, str | None]]
) -> tuple[str, ...]:
    """The columns pointed at; a key that names none points at the primary key."""
    named = tuple(to for _, _, to in parts if to is not None)
    if named:
        return named
    rows = connection.execute(
        "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (parts[0][0],)
    ).fetchall()
    return tuple(row[0] for row in rows)
