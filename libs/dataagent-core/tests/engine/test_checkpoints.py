"""Threads are kept, forgotten whole, and never name code to run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from sqlalchemy import Connection

from dataagent_core.engine import (
    AgentConfig,
    AgentExecutor,
    AgentFactory,
    Checkpoints,
    MemoryCheckpoints,
    fence_threads,
    open_checkpoints,
)
from dataagent_core.engine import graph as lg
from dataagent_core.engine.checkpoints.savers import CachingSerialiser
from dataagent_core.engine.checkpoints.sqlite import SqliteCheckpoints
from dataagent_core.errors import StaleAttempt
from dataagent_core.storage import open_database
from tests.requirements import requirement
from tests.services import fresh_database
from tests.tiers import SQL_STORES


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncGenerator[Checkpoints]:
    database = open_database(f"sqlite:///{tmp_path / 'threads.db'}")
    opened = open_checkpoints(database)
    await opened.setup()
    yield opened
    await opened.close()
    await database.close()


@pytest.fixture(params=["memory", *SQL_STORES])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    """An empty database of each kind; nothing for memory."""
    if request.param == "memory":
        yield ""
        return
    with fresh_database(request.param, tmp_path) as made:
        yield made


@pytest.fixture
async def kept(url: str) -> AsyncGenerator[Checkpoints]:
    """Threads in each kind of place."""
    if not url:
        yield MemoryCheckpoints()
        return
    database = open_database(url)
    first = open_checkpoints(database, pool_size=3)
    await first.setup()
    await first.close()
    opened = open_checkpoints(database, pool_size=3)
    await opened.setup()  # a second start finds its tables
    yield opened
    await opened.close()
    await database.close()


async def turn(factory: AgentFactory, kept: Checkpoints, message: str, session: str = "s") -> None:
    graph, _ = factory.create_agent(AgentConfig("agent"))
    async for _event in AgentExecutor(graph, kept.saver()).execute(message, session):
        pass


async def texts(factory: AgentFactory, kept: Checkpoints, session: str = "s") -> list[str]:
    graph = lg.bind(factory.create_agent(AgentConfig("agent"))[0], kept.saver())
    return [m.text for m in (await lg.snapshot(graph, lg.thread(session, 10))).messages]


@requirement("G3")
async def test_run_that_is_lost_writes_nothing_to_its_thread(
    factory: AgentFactory, kept: Checkpoints
) -> None:
    await turn(factory, kept, "!echo one")

    async def refuse() -> None:
        raise StaleAttempt("Another process has it.")

    async def lost() -> None:
        fence_threads(refuse)
        await turn(factory, kept, "!echo two")

    await asyncio.create_task(lost())
    assert await texts(factory, kept) == ["!echo one", "one"]


async def test_thread_grows_turn_by_turn(factory: AgentFactory, kept: Checkpoints) -> None:
    for number in range(3):
        await turn(factory, kept, f"q{number}")
    assert await texts(factory, kept) == ["q0", "q0", "q1", "q1", "q2", "q2"]


async def test_long_thread_comes_back_whole(factory: AgentFactory, kept: Checkpoints) -> None:
    graph = lg.bind(factory.create_agent(AgentConfig("agent"))[0], kept.saver())
    said = [f"line {number}" for number in range(120)]
    for text in said:
        await lg.add_messages(graph, lg.thread("s", 10), [AIMessage(text)])
    assert await texts(factory, kept) == said
    await turn(factory, kept, "and now?")
    assert await texts(factory, kept) == [*said, "and now?", "and now?"]


async def test_deleted_thread_is_gone_and_others_stay(
    factory: AgentFactory, kept: Checkpoints
) -> None:
    await turn(factory, kept, "mine", "a")
    await turn(factory, kept, "yours", "b")
    await kept.delete("a")
    assert await texts(factory, kept, "a") == []
    assert await texts(factory, kept, "b") == ["yours", "yours"]
    await kept.delete("never was")


async def test_threads_written_at_once_do_not_mix(factory: AgentFactory, kept: Checkpoints) -> None:
    names = [f"s{number}" for number in range(8)]
    await asyncio.gather(*(turn(factory, kept, f"for {name}", name) for name in names))
    for name in names:
        assert await texts(factory, kept, name) == [f"for {name}", f"for {name}"]


async def test_checkpoints_are_listed_newest_first(
    factory: AgentFactory, sqlite: Checkpoints
) -> None:
    await turn(factory, sqlite, "one")
    await turn(factory, sqlite, "two")
    config: Any = {"configurable": {"thread_id": "s", "checkpoint_ns": ""}}
    found = [item.checkpoint["id"] async for item in sqlite.saver().alist(config)]
    assert found == sorted(found, reverse=True)
    assert len(found) >= 2
    first = [item async for item in sqlite.saver().alist(config, limit=1)]
    assert [item.checkpoint["id"] for item in first] == found[:1]


# -- a checkpoint never names code to run ---------------------------------------------------------


def attacks(mark: Path) -> list[bytes]:
    """Stored values that make a lenient reader run a command."""
    command = f"touch {mark}"
    calls: list[tuple[int, Any]] = [
        (0, ("subprocess", "getoutput", command)),
        (1, ("subprocess", "getoutput", [command])),
        (2, ("subprocess", "getoutput", {"cmd": command})),
        (4, ("subprocess", "getoutput", {"cmd": command})),
        (5, ("subprocess", "getoutput", {"cmd": command}, "model_validate_json")),
    ]
    return [
        ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(payload))) for code, payload in calls
    ]


def test_stored_value_that_names_a_function_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for stored in attacks(mark):
        CachingSerialiser().loads_typed(("msgpack", stored))
        assert not mark.exists()


def test_library_default_would_have_run_it(tmp_path: Path) -> None:
    for number, code in enumerate(attacks(tmp_path / "ran")):
        (tmp_path / "ran").unlink(missing_ok=True)
        JsonPlusSerializer().loads_typed(("msgpack", code))
        assert (tmp_path / "ran").exists(), number


def test_pickles_are_refused() -> None:
    with pytest.raises((NotImplementedError, ValueError)):
        CachingSerialiser().loads_typed(("pickle", b"cos\nsystem\n(S'true'\ntR."))


async def test_every_saver_reads_with_the_strict_serialiser(
    kept: Checkpoints, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    saver: BaseCheckpointSaver[Any] = kept.saver()
    for stored in attacks(mark):
        saver.serde.loads_typed(("msgpack", stored))
    assert not mark.exists()


async def test_planted_write_is_not_run_when_its_thread_is_read(
    sqlite: Checkpoints, factory: AgentFactory, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    await turn(factory, sqlite, "hello")
    stored = attacks(mark)[0]

    def plant(connection: Connection) -> None:
        connection.exec_driver_sql("UPDATE writes SET value = ?", (stored,))

    assert isinstance(sqlite, SqliteCheckpoints)
    await sqlite._database.write(plant)
    await texts(factory, sqlite)
    assert not mark.exists()


# -- the serialiser's memory ----------------------------------------------------------------------


def test_messages_come_back_equal_and_containers_are_never_shared() -> None:
    serialiser = CachingSerialiser()
    value = {"messages": [HumanMessage("q", id="1"), AIMessage("a", id="2")], "n": [1, {"x": [2]}]}
    stored = serialiser.dumps_typed(value)
    first, second = serialiser.loads_typed(stored), serialiser.loads_typed(stored)
    assert first == second == value
    first["messages"].append("more")
    first["n"][1]["x"].append(3)
    assert serialiser.loads_typed(stored) == value


def test_memory_is_bounded() -> None:
    serialiser = CachingSerialiser(max_bytes=40_000)
    for number in range(200):
        stored = serialiser.dumps_typed(f"text {number:050}")
        assert serialiser.loads_typed(stored) == f"text {number:050}"
    assert len(serialiser._cached) == 12  # of three kilobytes and its text each
    assert sum(len(data) + 3072 for _, data in serialiser._cached) == serialiser._bytes <= 40_000
    large = serialiser.dumps_typed("x" * 20_000)
    assert serialiser.loads_typed(large) == "x" * 20_000
    assert large not in serialiser._cached


async def test_empty_checkpoint_round_trips(kept: Checkpoints) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    saver = kept.saver()
    put = await saver.aput(config, empty_checkpoint(), {"source": "input", "step": -1}, {})
    found = await saver.aget_tuple(put)
    assert found is not None
    assert found.metadata.get("step") == -1
