"""The text of agents' models in the stream of a run: what is streamed, when, and in which order."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langgraph.constants import TAG_NOSTREAM

from dataagent_core.engine import AgentExecutor, SubAgentConfig
from dataagent_core.errors import ModelRefused
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent, ToolCallEvent, ToolResultEvent
from dataagent_core.models.merge import TextWindow, merge_chunks
from dataagent_core.models.rule_based import Call, Fail, Say, Think, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.models.token_stream import (
    AnswerStream,
    current_answer_stream,
    model_call,
    stream_answers,
)
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

ExecutorOf = Callable[..., AgentExecutor]
LS = Call("ls", {"path": "/"})


def scripted(*turns: Turn) -> Any:
    return merge_chunks(ScriptedChatModel(turns), TextWindow(0.02))


async def collect_events(executor: AgentExecutor) -> list[AnyEvent]:
    """All events of a turn."""
    return [event async for event in executor.execute("go", "s1")]


def shape(events: list[AnyEvent]) -> list[str]:
    """The events in short: their words or their kind, texts of one message joined."""
    short: list[str] = []
    is_open = False
    for event in events:
        if isinstance(event, TextEvent):
            if is_open:
                short[-1] += event.content
            elif event.content:
                short.append(event.content)
            is_open = bool(event.content) and not event.is_final
        else:
            is_open = False
            short.append(event.event_type)
    return short


@requirement("R5.1")
async def test_text_comes_in_order_with_other_events(executor_of: ExecutorOf) -> None:
    turns = ([Think("hm "), Say("one two "), LS], [Say("three "), LS, LS], [Say("four five")])
    events = shape(await collect_events(executor_of(model=scripted(*turns))))
    one = ["thinking", "one two ", "tool_call", "tool_result"]
    two = ["three ", "tool_call", "tool_call", "tool_result", "tool_result"]
    assert events == [*one, *two, "four five", "done"]


async def test_text_arrives_while_the_model_still_streams(executor_of: ExecutorOf) -> None:
    gate, arrived = asyncio.Event(), asyncio.Event()

    class Held(ScriptedChatModel):
        async def _astream(  # pyright: ignore[reportIncompatibleMethodOverride] a generator here
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Any:
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                yield chunk
                if "first" in chunk.text:
                    await asyncio.wait_for(gate.wait(), WAIT_SECONDS)

    events: list[AnyEvent] = []

    held: Any = Held
    model = merge_chunks(held([[Say(["first ", "second "])]]), TextWindow(3600.0))
    executor = executor_of(model=model)

    async def read() -> None:
        async for event in executor.execute("go", "s1"):
            events.append(event)
            arrived.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(arrived.wait(), WAIT_SECONDS)
    assert shape(events) == ["first "]
    gate.set()
    await task
    assert shape(events) == ["first second ", "done"]


async def test_text_of_a_sub_agent_has_its_name(executor_of: ExecutorOf) -> None:
    sub = SubAgentConfig(
        name="helper",
        description="d",
        system_prompt="p",
        model=scripted([Say("mine "), LS], [Say("result")]),
    )
    main = scripted(
        [Say("ask "), Call("task", {"description": "x", "subagent_type": "helper"})],
        [Say("end")],
    )
    events = await collect_events(executor_of(model=main, subagents=[sub]))
    by_speaker = [
        (e.agent, e.content) for e in events if isinstance(e, TextEvent) and e.content.strip()
    ]
    assert by_speaker == [(None, "ask "), ("helper", "mine "), ("helper", "result"), (None, "end")]
    calls = [e.tool_name for e in events if isinstance(e, ToolCallEvent)]
    assert calls == ["task", "ls"]
    assert len([e for e in events if isinstance(e, ToolResultEvent)]) == 2


async def test_text_before_a_model_fails_arrives(executor_of: ExecutorOf) -> None:
    model = scripted([Say("so far "), Fail(ModelRefused("no"))], [Say("again")])
    executor = executor_of(model=model)
    events = await collect_events(executor)
    assert shape(events) == ["so far ", "error", "done"]
    again = [event async for event in executor.execute("more", "s1")]
    assert again[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


async def test_answer_of_a_model_that_cannot_stream_arrives_whole(executor_of: ExecutorOf) -> None:
    class Whole(FakeListChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    executor = executor_of(model=Whole(responses=["all at once"], disable_streaming=True))
    events = await collect_events(executor)
    assert [(e.content, e.is_final) for e in events if isinstance(e, TextEvent)] == [
        ("all at once", True)
    ]


def test_only_calls_of_agents_are_streamed() -> None:
    def called(ns: str, *, tags: tuple[str, ...] = (), **metadata: str) -> AnswerStream | None:
        metadata = {"langgraph_node": "model", "langgraph_checkpoint_ns": ns, **metadata}
        with model_call(SimpleNamespace(run_id="r", metadata=metadata, tags=tags)):
            return current_answer_stream()

    def all_calls() -> list[AnswerStream | None]:
        assert called("model:1") is None  # before anything is streamed
        stream_answers()
        return [
            called("model:1"),
            called("tools:1|model:2", lc_agent_name="helper"),
            called("model:1", lc_source="summarization"),
            called("tools:1", langgraph_node="tools"),
            called("model:1", tags=(TAG_NOSTREAM,)),
        ]

    main, helper, *others = contextvars.Context().run(all_calls)
    assert main == AnswerStream(None, "lc_run--r")
    assert helper == AnswerStream("helper", "lc_run--r")
    assert others == [None, None, None]


async def test_answer_is_the_same_with_callbacks_that_follow_it(executor_of: ExecutorOf) -> None:
    ends: list[str] = []

    class Following(AsyncCallbackHandler):
        async def on_llm_end(self, response: Any, **about: Any) -> None:
            ends.append(response.generations[0][0].text)

    model = scripted([Say("one two "), LS], [Say("three")])
    model.callbacks = [Following()]
    followed = await collect_events(executor_of(model=model))
    alone = await collect_events(executor_of(model=scripted([Say("one two "), LS], [Say("three")])))
    assert shape(followed) == shape(alone)
    assert ends == ["one two ", "three"]
