"""000 R25, R26 and 001 MySQL Session Storage Design, P42-P46: on a real MariaDB."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pymysql
import pytest
from sqlalchemy import URL, make_url

from tests.acceptance.running import Running, running, said
from tests.acceptance.states import states
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.waiting import until

_POOL_SECONDS = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    """An empty database for stores that are opened by hand."""
    with fresh_database("mysql", tmp_path_factory.mktemp("stores")) as url:
        yield make_url(url)


@pytest.fixture(scope="module")
def servers_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    """An empty database for a server."""
    with fresh_database("mysql", tmp_path_factory.mktemp("servers")) as url:
        yield make_url(url)


@pytest.fixture(scope="module")
def server(servers_place: URL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(
        tmp_path_factory.mktemp("server"),
        DATAAGENT_SESSION_STORE="mysql",
        DATAAGENT_MYSQL_HOST=servers_place.host or "",
        DATAAGENT_MYSQL_PORT=str(servers_place.port or 3306),
        DATAAGENT_MYSQL_USER=servers_place.username or "",
        DATAAGENT_MYSQL_PASSWORD=servers_place.password or "",
        DATAAGENT_MYSQL_DATABASE=servers_place.database or "",
    ) as started:
        yield started


def connected(place: URL) -> Any:
    """A connection to a database."""
    return pymysql.connect(**arguments(place), autocommit=True)


def query(place: URL, statement: str, *values: object) -> list[Any]:
    """The rows of a statement in a database."""
    connection = connected(place)
    with connection, connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def columns(place: URL, table: str) -> dict[str, dict[str, Any]]:
    """What the database knows of the columns of a table."""
    rows = query(
        place,
        "SELECT column_name, is_nullable, column_default, extra, column_type, column_key"
        " FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s",
        table,
    )
    names = ("nullable", "default", "extra", "type", "key")
    return {name: dict(zip(names, rest, strict=True)) for name, *rest in rows}


def indexed(place: URL, table: str) -> set[str]:
    """The first columns of the indexes of a table."""
    rows = query(
        place,
        "SELECT column_name FROM information_schema.statistics"
        " WHERE table_schema = DATABASE() AND table_name = %s AND seq_in_index = 1",
        table,
    )
    return {name for (name,) in rows}


def arguments(place: URL) -> dict[str, Any]:
    """How a store is told where its database is."""
    return {
        "host": place.host,
        "port": place.port or 3306,
        "user": place.username,
        "password": place.password or "",
        "database": place.database,
    }


async def close(store: Any) -> None:
    """Give its connections back, by whichever name that has."""
    for name in ("aclose", "close"):
        if hasattr(store, name):
            await getattr(store, name)()
            return


@pytest.fixture
async def sessions(place: URL) -> AsyncIterator[Any]:
    """A `MySQLSessionStore` as the document builds it."""
    from dataagent_core.session import MySQLSessionStore

    store = MySQLSessionStore(**arguments(place))
    await store.init_tables()
    yield store
    await close(store)


@pytest.fixture
async def messages(place: URL, sessions: Any) -> AsyncIterator[Any]:
    """A `MySQLMessageStore` on the same database."""
    from dataagent_core.session import MySQLMessageStore

    store = MySQLMessageStore(**arguments(place))
    yield store
    await close(store)


# -- the stores -------------------------------------------------------------------------------


@states("R25.1", "MySQL keeps the sessions")
@states(
    "001 §MySQLSessionStore Implementation",
    "MySQLSessionStore is a SessionStore",
    "host",
    "port",
    "user",
    "password",
    "database",
    "pool_size: int = 10",
    "max_overflow: int = 20",
)
def test_the_mysql_store_takes_the_documented_arguments() -> None:
    session = import_module("dataagent_core.session")
    assert issubclass(session.MySQLSessionStore, session.SessionStore)
    parameters = inspect.signature(session.MySQLSessionStore).parameters
    assert list(parameters)[:7] == [
        *("host", "port", "user", "password", "database", "pool_size", "max_overflow")
    ]
    assert parameters["pool_size"].default == 10
    assert parameters["max_overflow"].default == 20


@states("001 §MySQLSessionStore Implementation", "init_tables() makes the tables")
async def test_init_tables_makes_the_tables(sessions: Any, place: URL) -> None:
    assert "session_id" in columns(place, "sessions")
    assert "message_id" in columns(place, "messages")
    await sessions.init_tables()


@states("R25.4", "create", "get", "update", "delete")
@states("P42", "a session comes back as it was created")
@states(
    "001 §MySQLSessionStore Implementation",
    "create(user_id, assistant_id) -> Session",
    "get(session_id) -> Session | None",
    "update(session) -> None",
    "delete(session_id)",
)
async def test_a_session_comes_back_as_it_was(sessions: Any) -> None:
    made = await sessions.create("ana", "helper")
    assert (made.user_id, made.assistant_id, made.state, made.metadata) == ("ana", "helper", {}, {})
    assert await sessions.get(made.session_id) == made
    made.state = {"step": 2}
    made.metadata = {"ticket": "A-17", "标题": "总销售额"}
    assert await sessions.update(made) is None
    again = await sessions.get(made.session_id)
    assert (again.state, again.metadata) == (made.state, made.metadata)
    await sessions.delete(made.session_id)
    assert await sessions.get(made.session_id) is None


@states("R25.4", "list_by_user", "list_by_assistant")
@states(
    "001 §MySQLSessionStore Implementation",
    "list_by_user(user_id) -> list[Session]",
    "list_by_assistant(assistant_id) -> list[Session]",
)
async def test_sessions_are_listed_by_user_and_by_assistant(sessions: Any) -> None:
    one = await sessions.create("bea", "helper-1")
    two = await sessions.create("bea", "helper-2")
    other = await sessions.create("carl", "helper-2")
    assert {each.session_id for each in await sessions.list_by_user("bea")} == {
        one.session_id,
        two.session_id,
    }
    assert {each.session_id for each in await sessions.list_by_assistant("helper-2")} == {
        two.session_id,
        other.session_id,
    }


@states("R25.4", "cleanup_expired")
@states("001 §MySQLSessionStore Implementation", "cleanup_expired(timeout_seconds) -> int")
async def test_expired_sessions_are_deleted(sessions: Any) -> None:
    made = await sessions.create("dora", "helper")
    assert await sessions.cleanup_expired(timeout_seconds=3600.0) == 0
    assert await sessions.cleanup_expired(timeout_seconds=-1) >= 1
    assert await sessions.get(made.session_id) is None


@states("R25.8", "a pool of connections, many at once")
@states("P44", "connections are taken and given back")
async def test_many_at_once_share_a_few_connections(place: URL, sessions: Any) -> None:
    from dataagent_core.session import MySQLSessionStore

    store = MySQLSessionStore(**arguments(place), pool_size=2, max_overflow=1)
    try:
        made = await asyncio.gather(*(store.create("eve", "helper") for _ in range(30)))
        found = await asyncio.gather(*(store.get(each.session_id) for each in made))
        rows = query(place, "SHOW PROCESSLIST")
    finally:
        await close(store)
    assert found == made
    ours = [row for row in rows if row[3] == place.database]
    assert len(ours) <= 3 + 1 + 10  # this store's, this query's, the fixture's


@states(
    "001 §Message Store Interface",
    "save_message(session_id, role, content, metadata) -> message_id",
    "get_messages(session_id, limit, offset) -> list[Message]",
    "delete_messages(session_id) -> how many",
    "MySQLMessageStore is a MessageStore",
)
@states("P46", "limit and offset choose the page, in order")
async def test_messages_are_saved_read_and_deleted(sessions: Any, messages: Any) -> None:
    from dataagent_core.session import MessageStore

    assert isinstance(messages, MessageStore)
    session = await sessions.create("ana", "helper")
    roles: list[Any] = ["user", "assistant", "user"]
    ids = [
        await messages.save_message(session.session_id, role, f"说 {number}", {"n": number})
        for number, role in enumerate(roles)
    ]
    assert all(isinstance(each, str) for each in ids)
    found = await messages.get_messages(session.session_id)
    assert [each.message_id for each in found] == ids
    assert [each.content for each in found] == ["说 0", "说 1", "说 2"]
    page = await messages.get_messages(session.session_id, limit=1, offset=1)
    assert [(each.message_id, each.role, each.metadata) for each in page] == [
        (ids[1], "assistant", {"n": 1})
    ]
    assert await messages.delete_messages(session.session_id) == 3
    assert await messages.get_messages(session.session_id) == []


@states(
    "001 §Message Store Interface",
    "metadata: dict | None = None",
    "limit: int = 100",
    "offset: int = 0",
)
def test_the_message_store_has_the_documented_defaults() -> None:
    from dataagent_core.session import MessageStore

    save = inspect.signature(MessageStore.save_message).parameters
    get = inspect.signature(MessageStore.get_messages).parameters
    assert save["metadata"].default is None
    assert (get["limit"].default, get["offset"].default) == (100, 0)


@states(
    "001 §Message Store Interface",
    "MessageStore is abstract",
    "a MessageStore of one's own has these three methods",
)
def test_a_message_store_of_ones_own_needs_three_methods() -> None:
    from dataagent_core.session import MessageStore

    assert inspect.isabstract(MessageStore)
    assert MessageStore.__abstractmethods__ <= {"save_message", "get_messages", "delete_messages"}


@states("R26.2", "message_id", "session_id", "role", "content", "created_at")
def test_a_message_has_its_fields() -> None:
    from dataagent_core.session import Message

    names = {field.name for field in dataclasses.fields(Message)}
    assert {"message_id", "session_id", "role", "content", "created_at"} <= names


@states("001 §Storage Factory", 'create("memory") -> MemorySessionStore')
def test_the_factory_makes_a_memory_store() -> None:
    session = import_module("dataagent_core.session")
    made = session.SessionStoreFactory.create("memory")
    assert isinstance(made, session.MemorySessionStore)


@states("001 §Storage Factory", 'create("mysql", host=…, …) -> MySQLSessionStore')
@states("P43", "each kind of store is made by its name")
async def test_the_factory_makes_a_mysql_store(place: URL) -> None:
    session = import_module("dataagent_core.session")
    made = session.SessionStoreFactory.create("mysql", **arguments(place))
    assert isinstance(made, session.MySQLSessionStore)
    await close(made)


@states(
    "001 §Storage Factory",
    "defaults localhost, 3306, root, no password, dataagent",
    "create is a static method: store_type, then keywords",
)
async def test_the_factory_has_defaults() -> None:
    session = import_module("dataagent_core.session")
    made = session.SessionStoreFactory.create(store_type="mysql")
    await close(made)
    assert isinstance(made, session.MySQLSessionStore)
    parameters = inspect.signature(session.MySQLSessionStore).parameters
    names = ("host", "port", "user", "password", "database")
    assert [parameters[name].default for name in names] == [
        *("localhost", 3306, "root", "", "dataagent")
    ]


@states("001 §Storage Factory", "ValueError: Unknown store type: …")
def test_the_factory_refuses_what_it_does_not_know() -> None:
    factory = import_module("dataagent_core.session").SessionStoreFactory
    with pytest.raises(ValueError, match="Unknown store type: marzipan"):
        factory.create("marzipan")


# -- the server on MySQL ----------------------------------------------------------------------


@states("R25.2", "DATAAGENT_SESSION_STORE=mysql")
@states(
    "R25.3",
    "DATAAGENT_MYSQL_HOST",
    "DATAAGENT_MYSQL_PORT",
    "DATAAGENT_MYSQL_USER",
    "DATAAGENT_MYSQL_PASSWORD",
    "DATAAGENT_MYSQL_DATABASE",
)
@states("R25.5", "the table sessions")
@states("R25.6", "the table messages")
@states("R25.7", "tables are made when the server starts")
@states("R26.1", "question and answer are saved")
@states("P45", "question and answer are in messages")
def test_messages_are_in_the_database(server: Running, servers_place: URL) -> None:
    session_id = server.chat("!echo 四十二 albums.")["session_id"]
    [(user_id,)] = query(
        servers_place, "SELECT user_id FROM sessions WHERE session_id = %s", session_id
    )
    assert user_id == "alice"
    rows = query(
        servers_place,
        "SELECT role, content FROM messages WHERE session_id = %s ORDER BY created_at, role DESC",
        session_id,
    )
    assert rows == [("user", "!echo 四十二 albums."), ("assistant", "四十二 albums.")]


@states("R25.2", "DATAAGENT_SESSION_STORE=memory")
def test_memory_is_a_store_of_the_server(tmp_path: Path) -> None:
    with running(tmp_path, DATAAGENT_SESSION_STORE="memory") as started:
        assert said(started.chat("!echo Hi.")["events"]) == "Hi."
        assert len(started.get("/api/v1/sessions").json()["items"]) == 1
        started.stop()
        started.start()
        assert started.get("/api/v1/sessions").json()["items"] == []


@pytest.mark.slow
@states("R13.5", "Redis")
def test_redis_is_a_store_of_the_server(tmp_path: Path) -> None:
    with fresh_redis_prefix() as prefix:
        where = {"DATAAGENT_REDIS_URL": redis_url(), "DATAAGENT_REDIS_PREFIX": prefix}
        with running(tmp_path, DATAAGENT_SESSION_STORE="redis", **where) as started:
            assert said(started.chat("!echo Hi.")["events"]) == "Hi."
            started.stop()
            started.start()
            assert len(started.get("/api/v1/sessions").json()["items"]) == 1


@states("R26.3", "GET /api/v1/sessions/{session_id}/messages")
@states("R26.4", "limit", "offset")
@states("R26.5", "the oldest first")
def test_the_history_is_read_in_pages(server: Running) -> None:
    session_id = server.chat("!echo one")["session_id"]
    server.chat("!echo two", session_id=session_id)
    path = f"/api/v1/sessions/{session_id}/messages"
    found = server.get(path).json()["items"]
    assert [each["content"] for each in found] == ["!echo one", "one", "!echo two", "two"]
    assert [each["role"] for each in found] == ["user", "assistant", "user", "assistant"]
    wanted = {"message_id", "session_id", "role", "content", "created_at"}
    assert all(wanted <= set(each) for each in found)
    page = server.get(path, limit=2, offset=1).json()["items"]
    assert [each["content"] for each in page] == ["one", "!echo two"]


@states("R25.1", "after a restart sessions and history are there")
def test_a_restart_loses_nothing(server: Running) -> None:
    session_id = server.chat("!echo kept")["session_id"]
    server.stop()
    server.start()
    found = server.get(f"/api/v1/sessions/{session_id}/messages").json()["items"]
    assert [each["content"] for each in found] == ["!echo kept", "kept"]


# -- the tables -------------------------------------------------------------------------------


@states(
    "001 §Database Schema",
    "sessions.session_id is the primary key",
    "sessions.user_id",
    "sessions.assistant_id",
    "sessions.created_at",
    "sessions.last_active",
    "sessions.state",
    "sessions.metadata",
    "messages.message_id",
    "messages.session_id",
    "messages.role",
    "messages.content",
    "messages.created_at",
    "messages.metadata",
)
@pytest.mark.usefixtures("server")
def test_the_tables_have_their_columns(servers_place: URL) -> None:
    sessions, messages = columns(servers_place, "sessions"), columns(servers_place, "messages")
    wanted = "session_id user_id assistant_id created_at last_active state metadata"
    assert set(wanted.split()) <= set(sessions)
    assert sessions["session_id"]["key"] == "PRI"
    wanted = "message_id session_id role content created_at metadata"
    assert set(wanted.split()) <= set(messages)
    required = ("session_id", "role", "content", "created_at")
    assert all(messages[name]["nullable"] == "NO" for name in required)


@states(
    "001 §Database Schema",
    "sessions.session_id, user_id and assistant_id: VARCHAR(64) NOT NULL",
    "messages.message_id and session_id: VARCHAR(64) NOT NULL",
    "created_at and last_active: DATETIME NOT NULL",
    "state and metadata: JSON",
)
@pytest.mark.usefixtures("server")
def test_the_columns_have_their_types(servers_place: URL) -> None:
    sessions, messages = columns(servers_place, "sessions"), columns(servers_place, "messages")
    ids = [sessions[name] for name in ("session_id", "user_id", "assistant_id")]
    ids += [messages[name] for name in ("message_id", "session_id")]
    times = [sessions["created_at"], sessions["last_active"], messages["created_at"]]
    assert {(each["type"], each["nullable"]) for each in ids} == {("varchar(64)", "NO")}
    assert {(each["type"].split("(")[0], each["nullable"]) for each in times} == {
        ("datetime", "NO")
    }
    # MariaDB's JSON is LONGTEXT with a check
    objects = [sessions["state"], sessions["metadata"], messages["metadata"]]
    assert {each["type"] for each in objects} <= {"json", "longtext"}


@states("001 §Database Schema (departs)", "messages.message_id is a key; `position` orders them")
@pytest.mark.usefixtures("server")
def test_a_message_is_known_by_its_id(servers_place: URL) -> None:
    found = columns(servers_place, "messages")
    assert (found["message_id"]["key"], found["message_id"]["nullable"]) == ("UNI", "NO")
    assert found["position"]["key"] == "PRI"


@states(
    "001 §Database Schema",
    "sessions: indexes on user_id, assistant_id, last_active",
    "messages: index on session_id",
)
@pytest.mark.usefixtures("server")
def test_the_tables_have_their_indexes(servers_place: URL) -> None:
    assert {"user_id", "assistant_id", "last_active"} <= indexed(servers_place, "sessions")
    assert "session_id" in indexed(servers_place, "messages")


@states("001 §Database Schema", "messages: index on created_at")
@pytest.mark.usefixtures("server")
def test_messages_are_indexed_by_time(servers_place: URL) -> None:
    assert "created_at" in indexed(servers_place, "messages")


@states("001 §Database Schema", "InnoDB", "utf8mb4", "utf8mb4_unicode_ci")
@states("001 §Database Schema for MCP Configuration", "InnoDB", "utf8mb4", "utf8mb4_unicode_ci")
@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "table", ["sessions", "messages", "mcp_servers", "tenants", "user_tenants"]
)
def test_the_tables_are_innodb_in_utf8mb4(servers_place: URL, table: str) -> None:
    [(engine, collation)] = query(
        servers_place,
        "SELECT engine, table_collation FROM information_schema.tables"
        " WHERE table_schema = DATABASE() AND table_name = %s",
        table,
    )
    assert (engine, collation) == ("InnoDB", "utf8mb4_unicode_ci")


@states("001 §Database Schema", "messages go with their session (ON DELETE CASCADE)")
def test_messages_go_with_their_session(server: Running, servers_place: URL) -> None:
    session_id = server.chat("!echo gone")["session_id"]
    query(servers_place, "DELETE FROM sessions WHERE session_id = %s", session_id)
    assert query(servers_place, "SELECT * FROM messages WHERE session_id = %s", session_id) == []


@states(
    "001 §Database Schema",
    "sessions.created_at and last_active default to now",
    "sessions.state and metadata may be left out",
    "messages.created_at defaults to now",
    "messages.metadata may be left out",
    "messages.role takes user, assistant and system",
)
@pytest.mark.usefixtures("server")
def test_a_row_needs_what_the_schema_says_and_no_more(servers_place: URL) -> None:
    query(
        servers_place,
        "INSERT INTO sessions (session_id, user_id, assistant_id) VALUES ('s-1', 'ana', 'helper')",
    )
    for role in ("user", "assistant", "system"):
        query(
            servers_place,
            "INSERT INTO messages (message_id, session_id, role, content)"
            " VALUES (%s, 's-1', %s, 'Hi')",
            f"m-{role}",
            role,
        )
    [(created_at,)] = query(servers_place, "SELECT created_at FROM sessions WHERE session_id='s-1'")
    assert abs(datetime.now() - created_at) < timedelta(days=2)  # noqa: DTZ005 the database's own


# -- its settings -----------------------------------------------------------------------------


@states(
    "001 §Updated Server Configuration",
    "mysql_host: localhost",
    "mysql_port: 3306",
    "mysql_user: root",
    "mysql_password: none",
    "mysql_database: dataagent",
    "mysql_pool_size: 10",
    "mysql_max_overflow: 20",
)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mysql_host", "localhost"),
        ("mysql_port", 3306),
        ("mysql_user", "root"),
        ("mysql_password", ""),
        ("mysql_database", "dataagent"),
        ("mysql_pool_size", 10),
        ("mysql_max_overflow", 20),
    ],
)
def test_a_setting_of_mysql_has_its_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, field: str, value: object
) -> None:
    monkeypatch.chdir(tmp_path)
    found: Any = getattr(import_module("dataagent_server.config").ServerSettings(), field)
    assert getattr(found, "get_secret_value", lambda: found)() == value


@states("001 §Updated Server Configuration", "mysql_pool_size and mysql_max_overflow are in use")
def test_the_pool_is_as_large_as_is_set(
    servers_place: URL, server: Running, tmp_path: Path
) -> None:
    """As many requests wait in a locked database as there may be connections."""
    del server  # its tables
    settings = {
        f"DATAAGENT_MYSQL_{name.upper()}": str(value)
        for name, value in arguments(servers_place).items()
    }
    large = {"DATAAGENT_MYSQL_POOL_SIZE": "20", "DATAAGENT_MYSQL_MAX_OVERFLOW": "15"}
    with (
        ThreadPoolExecutor(60) as askers,
        running(tmp_path, DATAAGENT_SESSION_STORE="mysql", **settings, **large) as started,
    ):
        assert said(started.chat("!echo Hi.")["events"]) == "Hi."
        with locked(servers_place, "sessions"):
            asked = [askers.submit(started.get, "/api/v1/sessions") for _ in range(50)]
            full = until(lambda: waiting(servers_place) == 35)
            asyncio.run(asyncio.wait_for(full, _POOL_SECONDS))
        assert {each.result().status_code for each in asked} == {200}


@contextmanager
def locked(place: URL, table: str) -> Generator[None]:
    """Nobody else reads the table."""
    connection = connected(place)
    with connection, connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLES {table} WRITE")
        yield


def waiting(place: URL) -> int:
    """How many connections wait for a table of the database."""
    rows = query(place, "SHOW PROCESSLIST")
    return sum(1 for row in rows if row[3] == place.database and "lock" in str(row[6]).lower())


@states("R25 (departs)", "session_store: memory, sqlite (default), mysql, postgres, redis")
def test_the_store_is_sqlite_unless_it_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = import_module("dataagent_server.config").ServerSettings
    monkeypatch.chdir(tmp_path)
    assert settings().store_kind == "sqlite"
    for kind in ("memory", "sqlite", "mysql", "postgres", "redis"):
        monkeypatch.setenv("DATAAGENT_SESSION_STORE", kind)
        assert settings().session_store == kind
