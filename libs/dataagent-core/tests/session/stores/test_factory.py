"""Stores by the name a setting gives them, and what happens when their server is away."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url

from dataagent_core.config.settings import Settings
from dataagent_core.errors import Misconfigured, StorageUnavailable
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores.factory import open_run_store
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.runs.stores.redis import RedisRunStore
from dataagent_core.runs.stores.sql import SqlRunStore
from dataagent_core.session.store import MessageStore, SessionStore
from dataagent_core.session.stores.factory import SessionStoreFactory
from dataagent_core.session.stores.memory import MemoryMessageStore, MemorySessionStore
from dataagent_core.session.stores.redis import RedisMessageStore, RedisSessionStore
from dataagent_core.session.stores.sql import SqlMessageStore, SqlSessionStore
from dataagent_core.storage import open_database
from dataagent_core.storage.redis import open_redis
from tests.requirements import requirement
from tests.services import mysql_url
from tests.stores import Stores

SQL = (SqlSessionStore, SqlMessageStore, SqlRunStore)
CLASSES: dict[str, tuple[type[SessionStore], type[MessageStore], type[RunStore]]] = {
    "memory": (MemorySessionStore, MemoryMessageStore, MemoryRunStore),
    "sqlite": SQL,
    "postgres": SQL,
    "mysql": SQL,
    "redis": (RedisSessionStore, RedisMessageStore, RedisRunStore),
}


@requirement("R13.5", "R25.2", "P43")
async def test_each_setting_gives_its_kind_of_store(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_SESSION_STORE", stores.kind)

    assert Settings().store_kind == stores.kind
    found = (stores.sessions, stores.messages, stores.runs)
    assert tuple(type(store) for store in found) == CLASSES[stores.kind]


@requirement("R25.2", "P43")
@pytest.mark.parametrize("kind", ["", "MEMORY", "oracle", "mysql "])
def test_unknown_kind_is_refused_with_the_kinds_there_are(kind: str) -> None:
    with pytest.raises(Misconfigured, match="memory, sqlite, mysql, postgres, redis"):
        SessionStoreFactory.create(kind)
    with pytest.raises(Misconfigured, match="memory, sqlite, mysql, postgres, redis"):
        open_run_store(kind)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("sqlite", "DATAAGENT_DATABASE_URL"),
        ("postgres", "DATAAGENT_DATABASE_URL"),
        ("mysql", "DATAAGENT_DATABASE_URL"),
        ("redis", "DATAAGENT_REDIS_URL"),
    ],
)
def test_kind_without_its_server_is_refused_with_what_to_set(kind: str, setting: str) -> None:
    with pytest.raises(Misconfigured, match=setting):
        SessionStoreFactory.create(kind)
    with pytest.raises(Misconfigured, match=setting):
        open_run_store(kind)


@requirement("R25.1", "R25.3")
async def test_mysql_is_reached_with_the_settings_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = make_url(mysql_url())
    monkeypatch.setenv("DATAAGENT_SESSION_STORE", "mysql")
    monkeypatch.setenv("DATAAGENT_MYSQL_HOST", server.host or "")
    monkeypatch.setenv("DATAAGENT_MYSQL_PORT", str(server.port or 3306))
    monkeypatch.setenv("DATAAGENT_MYSQL_USER", server.username or "")
    monkeypatch.setenv("DATAAGENT_MYSQL_PASSWORD", server.password or "")
    monkeypatch.setenv("DATAAGENT_MYSQL_DATABASE", server.database or "")

    database = open_database(Settings().sql_url())

    assert database.dialect == "mysql"
    await database.ping()
    await database.close()


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:1/nothing", "mysql://root@127.0.0.1:1/nothing"]
)
@requirement("G17")
async def test_database_that_is_away_is_storage_unavailable(url: str) -> None:
    database = open_database(url)
    sessions = SessionStoreFactory.create("mysql", database=database).sessions

    with pytest.raises(StorageUnavailable) as failure:
        await sessions.get("any")

    assert failure.value.recoverable
    await database.close()


@requirement("G17")
async def test_redis_that_is_away_is_storage_unavailable() -> None:
    space = open_redis("redis://127.0.0.1:1/0")
    sessions = SessionStoreFactory.create("redis", redis=space).sessions

    with pytest.raises(StorageUnavailable):
        await sessions.create("alice", "agent")
    with pytest.raises(StorageUnavailable):
        await space.ping()
    await space.close()


def test_redis_url_of_another_kind_is_refused() -> None:
    with pytest.raises(Misconfigured, match="redis://host:6379/0"):
        open_redis("http://127.0.0.1")
