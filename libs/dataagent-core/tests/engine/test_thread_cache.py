"""A thread read on from the last turn is the thread read from the beginning."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory, MemoryCheckpoints
from dataagent_core.engine import graph as lg
from dataagent_core.engine.checkpoints.sqlite import SqliteCheckpoints, ThreadCache
from dataagent_core.identity import RunContext
from dataagent_core.models.messages import Thread
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.storage import Database, open_database

CONTEXT = RunContext("alice", "s1", "r1", "agent", auto_approve=True)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'threads.db'}")
    await SqliteCheckpoints(opened).setup()
    yield opened
    await opened.close()


async def thread_of(factory: AgentFactory, checkpoints: SqliteCheckpoints) -> list[Any]:
    graph, _ = factory.create_agent(AgentConfig("agent"))
    snapshot = await lg.snapshot(lg.bind(graph, checkpoints.saver()), lg.thread("s1", 100))
    return [message.model_dump() for message in snapshot.messages]


async def turn(
    factory: AgentFactory, checkpoints: SqliteCheckpoints, message: str, *, stop_after: int = 0
) -> None:
    """One turn; it is left after some events if told to."""
    graph, _ = factory.create_agent(AgentConfig("agent"))
    events = AgentExecutor(graph, checkpoints.saver()).execute(message, "s1", CONTEXT)
    seen = 0
    async for _ in events:
        seen += 1
        if seen == stop_after:
            break
    await events.aclose()


async def test_thread_read_on_equals_the_thread_read_whole(
    factory: AgentFactory, database: Database
) -> None:
    checkpoints = SqliteCheckpoints(database)
    for number in range(70):  # far enough for LangGraph to write a snapshot of the whole
        match number % 5:
            case 1:
                await turn(factory, checkpoints, '!tool ls {"path": "/"}')
            case 2:
                await turn(factory, checkpoints, "!slow 20 1", stop_after=3)
            case 3:
                await turn(factory, checkpoints, "!fail")
            case 4:
                calls = '[{"name": "ls", "args": {"path": "/"}}, {"name": "glob", "args": {}}]'
                await turn(factory, checkpoints, f"!tools {calls}")
            case _:
                await turn(factory, checkpoints, f"!echo {number}")
        if number % 7 == 0:
            anew = SqliteCheckpoints(database)
            assert await thread_of(factory, checkpoints) == await thread_of(factory, anew)
    assert len(await thread_of(factory, checkpoints)) > 150


async def test_turn_of_another_process_is_read_as_well(
    factory: AgentFactory, database: Database
) -> None:
    ours, theirs = SqliteCheckpoints(database), SqliteCheckpoints(database)
    for number in range(12):
        await turn(factory, ours if number % 4 == 0 else theirs, f"!echo {number}")
    assert await thread_of(factory, ours) == await thread_of(factory, theirs)
    said = [message["content"] for message in await thread_of(factory, ours)]
    assert said[1::2] == [str(number) for number in range(12)]


async def test_long_conversation_is_not_read_from_its_beginning(
    factory: AgentFactory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`monkeypatch` counts what is read: nothing else shows it."""
    checkpoints = SqliteCheckpoints(database)
    for number in range(6):
        await turn(factory, checkpoints, f"!echo {number}")
    read: list[int] = []
    look = checkpoints._serialiser.loads_typed  # pyright: ignore[reportPrivateUsage] see above

    def loads(data: tuple[str, bytes]) -> Any:
        value = look(data)
        read.append(sum(isinstance(item, HumanMessage | AIMessage) for item in _items(value)))
        return value

    # see above
    monkeypatch.setattr(checkpoints._serialiser, "loads_typed", loads)
    await turn(factory, checkpoints, "!echo last")
    assert sum(read) == 2


def _items(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, list) else [value]


def test_what_is_kept_is_bounded() -> None:
    folded = ThreadCache(max_messages=10)
    for number in range(6):
        folded.keep(f"t{number}", "", "c", Thread([HumanMessage("x")] * 3))
    assert [folded.get(f"t{number}", "") is not None for number in range(6)] == [False] * 3 + [
        True
    ] * 3
    folded.keep("t5", "", "d", Thread([HumanMessage("x")] * 11))
    assert folded.get("t5", "") is None


async def test_model_gets_the_system_message_and_the_thread(factory: AgentFactory) -> None:
    seen: list[list[Any]] = []

    class Listening(ScriptedChatModel):
        def turn_for(self, messages: Any) -> Any:
            seen.append(list(messages))
            return super().turn_for(messages)

    checkpoints = MemoryCheckpoints()
    graph, _ = factory.create_agent(AgentConfig("agent", model=Listening()))
    for number in range(2):
        events = AgentExecutor(graph, checkpoints.saver()).execute(f"!echo {number}", "s1", CONTEXT)
        assert [event async for event in events]
    kinds = [[message.type for message in heard] for heard in seen]
    assert kinds == [["system", "human"], ["system", "human", "ai", "human"]]


async def test_a_deleted_thread_is_not_held_any_more(
    factory: AgentFactory, database: Database
) -> None:
    checkpoints = SqliteCheckpoints(database)
    for _ in range(2):
        await turn(factory, checkpoints, "!echo hello")
    folded = checkpoints._cache  # pyright: ignore[reportPrivateUsage] what it holds is not shown
    assert folded.get("s1", "") is not None
    await checkpoints.delete("s1")
    assert folded.get("s1", "") is None
    assert await thread_of(factory, checkpoints) == []
