"""Writes the sample shop as a SQLite file, whole or not at all."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from dataagent_core.data.sample.schema import INDEXES, SCHEMA
from dataagent_core.data.sample.shop import Shop


def create_sample(path: Path, *, seed: int = 7) -> None:
    """Create the sample database at `path`, or replace it. The same seed gives the same rows."""
    shop = Shop.open(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".part-{secrets.token_hex(8)}")
    try:
        with closing(sqlite3.connect(part)) as connection, connection:
            _fill(connection, shop)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, shop: Shop) -> None:
    for table, columns in SCHEMA.items():
        connection.execute(f"CREATE TABLE {table} ({columns}\n)")
        rows = shop.tables[table]
        marks = ", ".join("?" * len(rows[0]))
        # our names
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
    for table, column in INDEXES:
        connection.execute(f"CREATE INDEX IFK_{table}{column} ON {table} ({column})")
