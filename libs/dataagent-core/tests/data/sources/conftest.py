"""`sources`: an empty store on each SQL database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Connection, delete

from dataagent_core.data.sources import SourceStore
from dataagent_core.storage import Database, open_database, tables


@pytest.fixture
async def database(sql_place: str) -> AsyncIterator[Database]:
    opened = open_database(sql_place)
    await opened.write(_empty)
    yield opened
    await opened.close()


def _empty(connection: Connection) -> None:
    for table in (tables.data_sources, tables.user_attributes, tables.secrets):
        connection.execute(delete(table))  # grants, policies and catalogues go with their source


@pytest.fixture
def sources(database: Database) -> SourceStore:
    return SourceStore(database)
