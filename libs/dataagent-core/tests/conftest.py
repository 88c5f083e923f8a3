"""`stores`: every kind of store, one after another, in its own place, emptied for each test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, ExitStack

import pytest
from sqlalchemy import Connection, delete

from dataagent_core.storage.tables import sessions
from tests.services import clear_redis, fresh_redis_prefix, migrated_database
from tests.stores import Stores, open_stores
from tests.tiers import SQL_STORES, STORES


@pytest.fixture(scope="session")
def place_of(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[str], str]]:
    """Where the stores of a kind are, made on first use and removed at the end."""
    places: dict[str, str] = {"memory": ""}
    with ExitStack() as stack:

        def place(kind: str) -> str:
            if kind not in places:
                places[kind] = stack.enter_context(_made(kind, tmp_path_factory))
            return places[kind]

        yield place


def _made(kind: str, folders: pytest.TempPathFactory) -> AbstractContextManager[str]:
    if kind == "redis":
        return fresh_redis_prefix()
    return migrated_database(kind, folders.mktemp("stores"))


@pytest.fixture(params=STORES)
def store_kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=SQL_STORES)
def sql_kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store_place(store_kind: str, place_of: Callable[[str], str]) -> str:
    return place_of(store_kind)


@pytest.fixture
def sql_place(sql_kind: str, place_of: Callable[[str], str]) -> str:
    return place_of(sql_kind)


@pytest.fixture
async def stores(store_kind: str, store_place: str) -> AsyncGenerator[Stores]:
    """Empty stores of each kind."""
    async with open_stores(store_kind, store_place) as opened:
        await _empty(opened, store_place)
        yield opened


@pytest.fixture
async def sql_stores(sql_kind: str, sql_place: str) -> AsyncGenerator[Stores]:
    """Empty stores of each kind that is a SQL database."""
    async with open_stores(sql_kind, sql_place) as opened:
        await _empty(opened, sql_place)
        yield opened


async def _empty(stores: Stores, place: str) -> None:
    if stores.kind == "redis":
        clear_redis(place)
    elif stores.database is not None:
        await stores.database.write(_delete_all)


def _delete_all(connection: Connection) -> None:
    connection.execute(delete(sessions))
