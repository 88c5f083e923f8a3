"""A database server behind a pool of connections, when things go wrong around it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.util import await_only

from dataagent_core.errors import StorageFull, StorageUnavailable
from dataagent_core.storage import open_database
from tests.requirements import requirement
from tests.services import fresh_database


@requirement("G6", "G9")
@pytest.mark.parametrize("kind", ["postgres", "mysql"])
async def test_cancelled_work_is_cancelled_even_if_the_driver_answers_with_an_outage(
    kind: str, tmp_path: Path
) -> None:
    waits = asyncio.Event()

    async def lose_the_connection() -> None:
        """What SQLAlchemy's look at a connection does when it is cancelled as the server goes."""
        try:
            waits.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionResetError("the server went away") from None

    def unit(_: Connection) -> None:
        await_only(lose_the_connection())

    def outage(_: Connection) -> None:
        raise ConnectionResetError("the server went away")

    with fresh_database(kind, tmp_path) as url:
        database = open_database(url)
        try:
            for work in (database.read, database.write):
                waits.clear()
                task = asyncio.create_task(work(unit))
                await waits.wait()
                task.cancel()
                await asyncio.wait({task})
                assert task.cancelled()
                with pytest.raises(StorageUnavailable):
                    await work(outage)
        finally:
            await database.close()


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
async def test_a_missing_table_is_no_outage_and_a_missing_database_or_user_is_named(
    kind: str, tmp_path: Path
) -> None:
    with fresh_database(kind, tmp_path) as url:
        database = open_database(url)
        for statement in ("SELECT * FROM missing", "SELEC 1"):
            for work in (database.read, database.write):
                with pytest.raises(ProgrammingError):
                    await work(lambda c, statement=statement: c.execute(text(statement)).close())
        await database.close()
        other = make_url(url).set(database="dataagent_not_there")
        stranger = make_url(url).set(username="dataagent_nobody", password="wrong")
        for wrong, why in (
            (other, r"There is no database 'dataagent_not_there' on the server at "),
            (stranger, r"refuses the user 'dataagent_nobody'\."),
        ):
            database = open_database(wrong.render_as_string(hide_password=False))
            with pytest.raises(StorageUnavailable, match=why) as refused:
                await database.ping()
            assert "DATAAGENT_DATABASE_URL" in str(refused.value.details)
            await database.close()


async def test_a_full_disk_of_the_server_is_reported_as_such(tmp_path: Path) -> None:
    with fresh_database("postgres", tmp_path) as url:
        database = open_database(url)
        full = text("DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$")
        with pytest.raises(StorageFull):
            await database.write(lambda c: c.execute(full).close())
        await database.close()
    with fresh_database("mysql", tmp_path) as url:
        database = open_database(url)
        full = text("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'is full'")
        with pytest.raises(StorageFull):
            await database.write(lambda c: c.execute(full).close())
        await database.close()
