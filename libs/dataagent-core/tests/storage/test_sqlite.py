"""An outage of SQLite reaches a caller as an error of ours, a bug as sqlite3's."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from dataagent_core.errors import StorageFull, StorageUnavailable
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
    assert isinstance(outcomes[1], sqlite3.OperationalError)
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


@pytest.mark.parametrize("statement", ["SELECT * FROM missing", "SELEC 1", "SELECT nothing"])
async def test_a_statement_that_is_wrong_is_no_outage(tmp_path: Path, statement: str) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}")
    for work in (database.read, database.write):
        with pytest.raises(OperationalError):
            await work(lambda c: c.execute(text(statement)).close())
        with pytest.raises(sqlite3.OperationalError):
            await work(lambda c: raw(c).execute(statement).close())
    await database.close()


async def test_a_full_disk_is_reported_and_the_next_write_works_once_there_is_space(
    tmp_path: Path,
) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}")
    await database.write(lambda c: raw(c).execute("CREATE TABLE kept (name TEXT)").close())

    def limit_pages(connection: Connection, count: int) -> None:
        raw(connection).execute(f"PRAGMA max_page_count={count}").close()

    def fill(connection: Connection) -> None:
        raw(connection).execute("INSERT INTO kept VALUES (hex(zeroblob(100000)))").close()

    def good(connection: Connection) -> None:
        raw(connection).execute("INSERT INTO kept VALUES ('small')").close()

    await database.write(lambda c: limit_pages(c, 1))  # SQLite allows no fewer than are in use
    with pytest.raises(StorageFull, match="is full") as refused:
        await database.write(fill)
    assert refused.value.details == {
        "hint": "make room on the disk, or choose another data directory."
    }
    together = await asyncio.gather(
        database.write(good), database.write(fill), database.write(good), return_exceptions=True
    )
    assert {type(each) for each in together} <= {type(None), StorageFull}
    assert isinstance(together[1], StorageFull)
    await database.write(lambda c: limit_pages(c, 1_000_000))
    await database.write(fill)
    await database.close()
