"""The tables a statement reads, for explaining one that passed the guard, never for judging one."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dataagent_core.data.types import Catalogue, Table


def referenced_tables(sql: str, catalogue: Catalogue) -> list[Table]:
    """The catalogue's tables that a statement names, each once, in the statement's order."""
    try:
        tree = sqlglot.parse_one(sql, dialect=catalogue.dialect)
    except SqlglotError:
        return []
    named = [(node.db, node.name) for node in tree.find_all(exp.Table)]
    found: dict[str, Table] = {}
    for schema, name in named:
        for table in catalogue.tables:
            is_there = not schema or not table.schema or schema == table.schema
            if table.name == name and is_there:
                found.setdefault(table.key, table)
    return list(found.values())
