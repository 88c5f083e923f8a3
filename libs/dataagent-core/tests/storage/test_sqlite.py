"""What sqlite3 refuses reaches a caller as an error of ours, however the unit spoke to it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from dataagent_core.errors import StorageUnavailable
from dataagent_core.storage import open_database


def raw(connection: Connection) -> Any:
    return connection.connection.driver_connection


async def test_unit_that_sqlite_itself_refuses_undoes_only_itself(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}")
    await database.write(lambda c: raw(c).execute("CREATE TABLE kept (name TEXT)"))

    def refused(connection: Connection) -> None:
        raw(connection).execute("INSERT INTO kept VALUES ('undone')")
        raw(connection).execute("INSERT INTO missing VALUES (1)")

    def good(connection: Connection) -> None:
        raw(connection).execute("INSERT INTO kept VALUES ('good')")

    outcomes = await asyncio.gather(
        database.write(good), database.write(refused), return_exceptions=True
    )
    assert outcomes[0] is None
    assert isinstance(outcomes[1], StorageUnavailable)
    assert isinstance(outcomes[1].__cause__, sqlite3.OperationalError)
    rows = await database.read(lambda c: c.execute(text("SELECT name FROM kept")).scalars().all())
    assert rows == ["good"]
    await database.close()


async def test_database_that_cannot_be_written_to_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE kept (name TEXT)")
    made.close()
    database = open_database(f"sqlite:///file:{path}?mode=ro&uri=true")
    with pytest.raises(StorageUnavailable, match="readonly"):
        await database.write(lambda c: raw(c).execute("INSERT INTO kept VALUES ('x')"))
    await database.close()
