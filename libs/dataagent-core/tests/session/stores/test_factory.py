"""Stores by the name a setting gives them, and what happens when their server is away."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from dataagent_core.config.settings import Settings
from dataagent_core.errors import Misconfigured, StorageUnavailable
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.stores.factory import open_run_store
from dataagent_core.runs.stores.memory import MemoryRunStore
from dataagent_core.runs.stores.redis import RedisRunStore
from dataagent_core.runs.stores.sql import SqlRunStore
from dataagent_core.session import (
    MemoryMessageStore,
    MemorySessionStore,
    MessageStore,
    MySQLSessionStore,
    PostgresSessionStore,
    RedisMessageStore,
    RedisSessionStore,
    SessionStore,
    SessionStoreFactory,
    SQLiteSessionStore,
)
from dataagent_core.session.stores.factory import open_session_store
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
        open_session_store(kind)
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
        open_session_store(kind)
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
    sessions = open_session_store("mysql", database=database)

    with pytest.raises(StorageUnavailable) as failure:
        await sessions.get("any")

    assert failure.value.recoverable
    await database.close()


@requirement("G17")
async def test_redis_that_is_away_is_storage_unavailable() -> None:
    space = open_redis("redis://127.0.0.1:1/0")
    sessions = open_session_store("redis", redis=space)

    with pytest.raises(StorageUnavailable):
        await sessions.create("alice", "agent")
    with pytest.raises(StorageUnavailable):
        await space.ping()
    await space.close()


def test_redis_url_of_another_kind_is_refused() -> None:
    with pytest.raises(Misconfigured, match="redis://host:6379/0"):
        open_redis("http://127.0.0.1")


# -- for programs that open a store themselves ----------------------------------------------------


@requirement("R25.2", "P43")
@pytest.mark.parametrize(
    ("kind", "given", "made"),
    [
        ("memory", {}, MemorySessionStore),
        ("memory", {"host": "db", "port": 3306, "password": "p"}, MemorySessionStore),
        ("sqlite", {"path": "sessions.db"}, SQLiteSessionStore),
        ("mysql", {}, MySQLSessionStore),
        ("mysql", {"host": "db", "pool_size": 2, "max_overflow": 0}, MySQLSessionStore),
        ("postgres", {"database": "shop"}, PostgresSessionStore),
        ("redis", {"url": "redis://db:6379/1", "prefix": "shop:"}, RedisSessionStore),
    ],
)
async def test_factory_makes_one_store_of_the_kind(
    kind: str,
    given: dict[str, Any],
    made: type[SessionStore],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    store = SessionStoreFactory.create(kind, **given)

    assert type(store) is made
    assert isinstance(store, SessionStore)
    await store.close()


@requirement("R25.2", "P43")
@pytest.mark.parametrize("kind", ["", "MEMORY", "oracle"])
def test_factory_refuses_an_unknown_kind(kind: str) -> None:
    with pytest.raises(ValueError, match=f"^Unknown store type: {kind}$"):
        SessionStoreFactory.create(kind)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "mysql", "postgres", "redis"])
def test_factory_refuses_an_unknown_keyword(kind: str) -> None:
    with pytest.raises(TypeError, match="hots"):
        SessionStoreFactory.create(kind, hots="db")


def test_mysql_store_connects_where_it_is_told() -> None:
    usual = MySQLSessionStore()
    other = MySQLSessionStore("db", 3307, "anna", "a:b@c/d", "shop")

    assert usual._db.url.render_as_string() == "mysql+asyncmy://root@localhost:3306/dataagent"
    url = other._db.url
    assert (url.host, url.port, url.username, url.password) == ("db", 3307, "anna", "a:b@c/d")
    assert url.database == "shop"


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [("mysql", "asyncmy", "mysql"), ("postgres", "asyncpg", "postgres")],
)
def test_missing_driver_is_named_with_the_extra_that_has_it(
    kind: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(Misconfigured, match=rf"{package}.*dataagent-core\[{extra}\]"):
        SessionStoreFactory.create(kind)


def test_missing_driver_of_redis_is_named_with_the_extra_that_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("dataagent_core.storage.redis", "dataagent_core.session.stores.redis"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)

    with pytest.raises(Misconfigured, match=r"dataagent-core\[redis\]"):
        SessionStoreFactory.create("redis")
