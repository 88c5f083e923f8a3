"""A turn that is stopped stops, and its thread stays usable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from dataagent_core.engine import AgentExecutor, Suspended
from dataagent_core.engine import executor as executor_module
from dataagent_core.engine import graph as lg
from dataagent_core.engine.thread import repair
from dataagent_core.errors import ModelUnavailable
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent, ToolResultEvent
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.models.rule_based import Call, Fail, Say, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

ExecutorOf = Callable[..., AgentExecutor]


async def thread_of(executor: AgentExecutor) -> list[BaseMessage]:
    turn = executor._turn("s", None, None)
    state = await lg.snapshot(turn.graph, turn.config)
    assert (state.results, state.interrupts) == ([], ())
    return state.messages


def shape(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(m.type, m.text) for m in messages]


async def stopped_after(
    executor: AgentExecutor, message: str, is_last: Callable[[AnyEvent], bool]
) -> list[AnyEvent]:
    """Run a turn in a task and cancel it when an event comes; the events until then."""
    events: list[AnyEvent] = []
    seen = asyncio.Event()

    async def listen() -> None:
        async for event in executor.execute(message, "s"):
            events.append(event)
            if is_last(event):
                seen.set()

    task = asyncio.create_task(listen())
    async with asyncio.timeout(WAIT_SECONDS):
        await seen.wait()
    task.cancel()
    await asyncio.wait({task}, timeout=WAIT_SECONDS)
    assert task.cancelled()
    return events


def is_text(event: AnyEvent) -> bool:
    return isinstance(event, TextEvent)


@requirement("R24.2", "G6")
async def test_cancelled_text_is_kept_as_far_as_it_was_said(executor_of: ExecutorOf) -> None:
    calls = 0

    def turns(messages: Sequence[BaseMessage]) -> Turn:
        nonlocal calls
        calls += 1
        return [Say(["Well, "]), Say(["never"], delay_seconds=60)]

    executor = executor_of(model=ScriptedChatModel(turns))
    before = asyncio.all_tasks()
    events = await stopped_after(executor, "tell me", is_text)
    assert asyncio.all_tasks() <= before
    assert calls == 1
    assert [e.reason for e in events if isinstance(e, DoneEvent)] == ["user_cancelled"]
    assert shape(await thread_of(executor)) == [("human", "tell me"), ("ai", "Well, ")]


@requirement("G6", "R24.6")
async def test_cancelled_tool_is_stopped_and_marked_and_its_finished_sibling_kept(
    executor_of: ExecutorOf,
) -> None:
    ended = asyncio.Event()

    @tool
    async def stuck() -> str:
        """Never return."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    calls: list[Any] = [Call("ls", {"path": "/"}), Call("stuck")]
    extra: list[BaseTool] = [stuck]
    executor = executor_of(model=ScriptedChatModel([calls, "End."]), extra_tools=extra)
    await stopped_after(executor, "go", lambda e: isinstance(e, ToolResultEvent))
    assert ended.is_set()
    results = {
        m.name: (m.status, m.text) for m in await thread_of(executor) if isinstance(m, ToolMessage)
    }
    assert results["ls"][0] == "success"
    assert results["stuck"][0] == "error"
    assert "stopped before it finished" in results["stuck"][1]


async def test_next_turn_goes_on_from_what_was_seen(executor_of: ExecutorOf) -> None:
    heard: list[list[tuple[str, str]]] = []

    def turns(messages: Sequence[BaseMessage]) -> Turn:
        heard.append(shape([m for m in messages if m.type != "system"]))
        if len(heard) == 1:
            return [Say(["Half "]), Say(["never"], delay_seconds=60)]
        return [Say("Whole.")]

    executor = executor_of(model=ScriptedChatModel(turns))
    await stopped_after(executor, "first", is_text)
    events = [e async for e in executor.execute("second", "s")]
    assert isinstance(events[-1], DoneEvent)
    assert heard[1] == [("human", "first"), ("ai", "Half "), ("human", "second")]


async def test_turn_cancelled_while_it_waits_for_a_person_is_closed(
    executor_of: ExecutorOf,
) -> None:
    asked = asyncio.Event()

    class Silent:
        async def request_approval(
            self, action_request: ActionRequest, session_id: str
        ) -> Decision:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    executor = executor_of(hitl_handler=Silent())
    args = json.dumps({"file_path": "/files/a", "content": "x"})

    async def listen() -> None:
        async for _event in executor.execute(f"!tool write_file {args}", "s"):
            pass

    task = asyncio.create_task(listen())
    async with asyncio.timeout(WAIT_SECONDS):
        await asked.wait()
    task.cancel()
    await asyncio.wait({task}, timeout=WAIT_SECONDS)
    assert [kind for kind, _ in shape(await thread_of(executor))] == ["human", "ai", "tool"]


async def test_reader_that_closes_the_iterator_stops_the_turn(executor_of: ExecutorOf) -> None:
    executor = executor_of(
        model=ScriptedChatModel([[Say(["A "]), Say(["never"], delay_seconds=60)]])
    )
    before = asyncio.all_tasks()
    events: Any = executor.execute("go", "s")
    assert is_text(await anext(events))
    await events.aclose()
    assert asyncio.all_tasks() <= before
    assert shape(await thread_of(executor)) == [("human", "go"), ("ai", "A ")]


@requirement("G6")
async def test_cancel_inside_a_sub_agent_closes_the_main_thread(executor_of: ExecutorOf) -> None:
    task = json.dumps({"description": "!slow 1000 60", "subagent_type": "general-purpose"})
    executor = executor_of()
    before = asyncio.all_tasks()
    await stopped_after(executor, f"!tool task {task}", is_text)
    assert asyncio.all_tasks() <= before
    assert [kind for kind, _ in shape(await thread_of(executor))] == ["human", "ai", "tool"]


# -- turns that died with their process -----------------------------------------------------------


async def test_adopted_turn_is_in_the_thread_as_it_was_seen(executor_of: ExecutorOf) -> None:
    executor = executor_of()
    await executor.record_interrupted_turn("first", "Half an", "s")
    await executor.record_interrupted_turn("second", "", "s")
    assert shape(await thread_of(executor)) == [
        ("human", "first"),
        ("ai", "Half an"),
        ("human", "second"),
    ]


@requirement("G3")
async def test_turn_that_died_after_an_approval_has_its_question_once(
    executor_of: ExecutorOf,
) -> None:
    class Dying:
        async def request_approval(
            self, action_request: ActionRequest, session_id: str
        ) -> Decision:
            raise Suspended

    args = json.dumps({"file_path": "/files/a", "content": "x"})
    executor = executor_of(hitl_handler=Dying())
    message = f"!echo First.\n!tool write_file {args}"
    with suppress(Suspended):  # the thread waits, as it would after a death
        async for _event in executor.execute(message, "s"):
            pass
    await executor.record_interrupted_turn(message, "Then.", "s")
    assert shape(await thread_of(executor)) == [
        ("human", message),
        ("ai", "First."),
        ("tool", "This call was stopped before it finished; it may have had effects."),
        ("ai", "Then."),
    ]


@requirement("P7")
async def test_failed_turn_that_is_cancelled_while_its_thread_is_repaired_leaves_it_whole(
    executor_of: ExecutorOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held(*arguments: Any, **more: Any) -> None:
        begun.set()
        await go_on.wait()
        await repair(*arguments, **more)

    monkeypatch.setattr(executor_module, "repair", held)
    executor = executor_of(
        model=ScriptedChatModel([[Say(["Half "]), Fail(ModelUnavailable("gone"))]])
    )
    events: list[AnyEvent] = []

    async def listen() -> None:
        async for event in executor.execute("hello", "s"):
            events.append(event)

    task = asyncio.create_task(listen())
    async with asyncio.timeout(WAIT_SECONDS):
        await begun.wait()
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.wait({task})
    assert [event.event_type for event in events][-2:] == ["error", "done"]
    assert shape(await thread_of(executor)) == [("human", "hello"), ("ai", "Half ")]
