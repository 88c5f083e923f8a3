"""What MySQL says about the tables of a database: three questions, whatever their number.

Above: `mysql.py`. Below: a connection of PyMySQL's.
"""

# PyMySQL has no complete types: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import defaultdict
from typing import Any

from dataagent_core.data.engines.mysql_wire import MysqlConnection, run
from dataagent_core.data.types import Column, ForeignKey, Table

_TABLES = """
    SELECT TABLE_NAME, TABLE_TYPE LIKE '%VIEW', TABLE_COMMENT FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE IN ('BASE TABLE', 'VIEW') ORDER BY TABLE_NAME
"""
_COLUMNS = """
    SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_COMMENT
    FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION
"""
_KEYS = """
    SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA = DATABASE(),
           REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
    FROM information_schema.KEY_COLUMN_USAGE
    WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION
"""
_PRIMARY = "PRIMARY"
_NO_COMMENT = {"", "VIEW"}  # what a view has in place of a comment


def tables_of(line: MysqlConnection) -> list[Table]:
    """Every table and view of the database, without row counts."""
    columns: dict[str, list[Column]] = defaultdict(list)
    for table, name, kind, nullable, comment in run(line, _COLUMNS):
        columns[table].append(Column(name, kind, nullable == "YES", comment or None))
    keys: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in run(line, _KEYS):
        keys[row[0]][row[1]].append(row)
    return [
        Table(
            name=name,
            columns=tuple(columns[name]),
            is_view=bool(is_view),
            comment=None if comment in _NO_COMMENT else comment,
            primary_key=tuple(row[2] for row in keys[name].get(_PRIMARY, ())),
            foreign_keys=tuple(
                ForeignKey(
                    columns=tuple(row[2] for row in rows),
                    target_table=rows[0][4],
                    target_columns=tuple(row[5] for row in rows),
                )
                for rows in keys[name].values()
                if rows[0][4] is not None and rows[0][3]
            ),
        )
        for name, is_view, comment in run(line, _TABLES)
    ]
