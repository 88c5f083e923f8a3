"""Stores that a program opens by itself, each on a real server of its kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection
from sqlalchemy.util import await_only

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.errors import SessionNotFound, StorageUnavailable
from dataagent_core.session import (
    ConversationStore,
    MemoryMessageStore,
    MemorySessionStore,
    Message,
    MessageStore,
    MySQLMessageStore,
    MySQLSessionStore,
    PostgresMessageStore,
    PostgresSessionStore,
    RedisMessageStore,
    RedisSessionStore,
    SessionStoreFactory,
    SQLiteMessageStore,
    SQLiteSessionStore,
)
from dataagent_core.storage import Database
from dataagent_core.storage.pooled import PooledDatabase
from tests.requirements import requirement
from tests.services import store_options
from tests.tiers import examples
from tests.waiting import WAIT_SECONDS

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
IDS = TEXT.filter(lambda text: 0 < len(text.encode()) <= 64)
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, JSON_VALUES, max_size=4)
STORES: dict[str, tuple[type[ConversationStore], type[MessageStore]]] = {
    "sqlite": (SQLiteSessionStore, SQLiteMessageStore),
    "mysql": (MySQLSessionStore, MySQLMessageStore),
    "postgres": (PostgresSessionStore, PostgresMessageStore),
    "redis": (RedisSessionStore, RedisMessageStore),
}


@pytest.fixture(params=list(STORES))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def given_place(kind: str, tmp_path: Path) -> Generator[dict[str, Any]]:
    with store_options(kind, tmp_path) as options:
        yield options


@requirement("R13.5", "R25.1", "R25.4", "R25.7")
async def test_store_makes_its_tables_and_keeps_sessions_and_messages(
    kind: str, given_place: dict[str, Any]
) -> None:
    sessions_of, messages_of = STORES[kind]
    async with sessions_of(**given_place) as store:
        session = await store.create("alice", "agent")
        session.state["step"] = 2
        await store.update(session)
        message_id = await store.messages.save_message(session.session_id, "user", "How many?")

    async with SessionStoreFactory.create(kind, **given_place) as again:
        assert await again.get(session.session_id) == session
        assert await again.list_by_user("alice") == [session]
        assert await again.list_by_assistant("agent") == [session]
        async with messages_of(**given_place) as messages:
            [message] = await messages.get_messages(session.session_id)
            assert (message.message_id, message.content) == (message_id, "How many?")
            with pytest.raises(SessionNotFound):
                await messages.save_message("unknown", "user", "Hello")
        assert await again.cleanup_expired(3600) == 0
        assert await again.cleanup_expired(-3600) == 1
        assert await again.messages.get_messages(session.session_id) == []


@requirement("R25.7")
async def test_tables_are_made_by_name_and_again(kind: str, given_place: dict[str, Any]) -> None:
    store = STORES[kind][0](**given_place)
    await store.init_tables()
    session = await store.create("alice", "agent")

    await store.init_tables()

    assert await store.get(session.session_id) == session
    await store.close()


async def test_messages_that_share_connections_do_not_close_them(
    kind: str, given_place: dict[str, Any]
) -> None:
    async with STORES[kind][0](**given_place) as store:
        session = await store.create("alice", "agent")
        await store.messages.close()
        assert await store.get(session.session_id) == session


@pytest.fixture
async def mysql_store(tmp_path: Path) -> AsyncGenerator[MySQLSessionStore]:
    with store_options("mysql", tmp_path) as options:
        async with MySQLSessionStore(**options) as store:
            yield store


@requirement("R13.1", "R25.1", "R25.4", "P42")
@settings(max_examples=examples(100))
@given(user_id=IDS, assistant_id=IDS, title=TEXT, state=OBJECTS, metadata=OBJECTS)
async def test_any_session_comes_back_from_mysql(
    mysql_store: MySQLSessionStore,
    user_id: str,
    assistant_id: str,
    title: str,
    state: dict[str, Any],
    metadata: dict[str, Any],
) -> None:
    session = await mysql_store.create(user_id, assistant_id)
    assert await mysql_store.get(session.session_id) == session

    session.title, session.state, session.metadata = title, state, metadata
    await mysql_store.update(session)

    assert await mysql_store.get(session.session_id) == session


# -- in memory ------------------------------------------------------------------------------------


async def test_messages_in_memory_alone_are_of_any_session() -> None:
    messages = MemoryMessageStore()
    message_id = await messages.save_message("anything", "user", "Hello", {"tokens": 1})

    [message] = await messages.get_messages("anything")
    assert message == Message(
        message_id, "anything", "user", "Hello", message.created_at, {"tokens": 1}
    )
    assert await messages.count_messages("anything") == 1
    assert await messages.delete_messages("anything") == 1


async def test_messages_in_memory_of_a_session_store_are_of_its_sessions() -> None:
    store = MemorySessionStore()
    session = await store.create("alice", "agent")
    await store.messages.save_message(session.session_id, "user", "Hello")

    assert await store.messages.count_messages(session.session_id) == 1
    with pytest.raises(SessionNotFound):
        await store.messages.save_message("unknown", "user", "Hello")


# -- the pool -------------------------------------------------------------------------------------


async def most_connections(database: Database, expected: int) -> bool:
    """Whether the pool hands out so many connections at once, and no more."""
    assert isinstance(database, PooledDatabase)
    all_hold, may_go_on = asyncio.Event(), asyncio.Event()
    holding: list[Connection] = []

    def hold(connection: Connection) -> None:
        holding.append(connection)
        if len(holding) == expected:
            all_hold.set()
        await_only(may_go_on.wait())

    calls = [asyncio.create_task(database.read(hold)) for _ in range(expected)]
    async with asyncio.timeout(WAIT_SECONDS):
        await all_hold.wait()
        pool: Any = database._engine.pool
        pool._timeout = 0  # one more is refused now, instead of in half a minute
        try:
            with pytest.raises(StorageUnavailable):
                await database.ping()
        finally:
            may_go_on.set()
            await asyncio.gather(*calls)
    return True


@requirement("R25.8", "P44")
@pytest.mark.parametrize(
    ("set_to", "expected"), [({}, 30), ({"POOL_SIZE": 2, "MAX_OVERFLOW": 1}, 3)]
)
async def test_settings_size_the_pool_of_mysql(
    set_to: dict[str, int], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store_options("mysql", tmp_path) as options:
        for name, value in (options | set_to).items():
            monkeypatch.setenv(f"DATAAGENT_MYSQL_{name.upper()}", str(value))
        made = Settings(home=tmp_path / "home", session_store="mysql", model="scripted")
        async with open_core(made) as core:
            assert await most_connections(core.database, expected)


@requirement("R25.8", "P44")
async def test_arguments_size_the_pool_of_a_store(tmp_path: Path) -> None:
    with store_options("mysql", tmp_path) as options:
        async with MySQLSessionStore(**options, pool_size=1, max_overflow=1) as store:
            assert await most_connections(store._db, 2)
            session = await store.create("alice", "agent")
            assert await store.get(session.session_id) == session
