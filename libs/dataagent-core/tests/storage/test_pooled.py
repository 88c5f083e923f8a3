"""A database server behind a pool of connections, when things go wrong around it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from dataagent_core.errors import StorageUnavailable
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
