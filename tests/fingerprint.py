"""All data of a user, in the database and on disk, to compare before and after."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy import Connection, select

from dataagent_core.storage.tables import metadata

VOLATILE = {"last_used", "lease_until"}  # they change by themselves
NOT_COMPARED = {"audit_log", "audit_head", "catalogues"}  # they record others' requests, too
SHARED = {"sample"}  # folders without an owner


def rows_with(connection: Connection, words: Sequence[str]) -> list[str]:
    """Every row that has one of the words in it."""
    found: list[str] = []
    for table in metadata.sorted_tables:
        if table.name not in NOT_COMPARED:
            columns = [column for column in table.columns if column.name not in VOLATILE]
            lines = (f"{table.name} {row!r}" for row in connection.execute(select(*columns)))
            found += [line for line in lines if any(word in line for word in words)]
    return found


def files_with(home: Path, words: Sequence[str]) -> list[str]:
    """Every file under a data directory that has one of the words in its path or its content."""
    return sorted(_files_with(home, [word.encode() for word in words]))


def _files_with(home: Path, words: list[bytes]) -> Iterator[str]:
    for path in home.rglob("*"):
        is_database = ".db" in path.name
        if is_database or not path.is_file() or path.relative_to(home).parts[0] in SHARED:
            continue
        content = path.read_bytes()
        if any(word in content or word in bytes(path) for word in words):
            yield f"{path} {hashlib.sha256(content).hexdigest()}"
