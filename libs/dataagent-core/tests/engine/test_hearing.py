"""What the main agent's model says is heard at once; everything else comes in its order."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessageChunk
from langgraph.constants import TAG_NOSTREAM

from dataagent_core.engine import AgentExecutor, SubAgentConfig
from dataagent_core.errors import ModelRefused
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent, ToolCallEvent, ToolResultEvent
from dataagent_core.models.merge import TextWindow, merge_chunks
from dataagent_core.models.rule_based import Call, Fail, Say, Think, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.models.token_stream import (
    CallSink,
    SubagentChunk,
    current_call_sink,
    model_call,
    set_token_sink,
)
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

ExecutorOf = Callable[..., AgentExecutor]
LS = Call("ls", {"path": "/"})


def scripted(*turns: Turn) -> Any:
    return merge_chunks(ScriptedChatModel(turns), TextWindow(0.02))


def as_event(said: AnyEvent | str) -> AnyEvent:
    """What was said, as an event."""
    return TextEvent(content=said) if isinstance(said, str) else said


async def collect_events(executor: AgentExecutor) -> list[AnyEvent]:
    """All events, said or yielded, in the order they came."""
    events: list[AnyEvent] = []

    async def run() -> None:
        async for event in executor.execute("go", "s1", emit=lambda e: events.append(as_event(e))):
            events.append(event)

    await asyncio.create_task(run())
    return events


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
async def test_events_are_the_same_and_in_the_same_order_as_without_listening(
    executor_of: ExecutorOf,
) -> None:
    turns = ([Think("hm "), Say("one two "), LS], [Say("three "), LS, LS], [Say("four five")])
    heard = await collect_events(executor_of(model=scripted(*turns)))
    plain = [e async for e in executor_of(model=scripted(*turns)).execute("go", "s2")]
    assert shape(heard) == shape(plain)
    assert shape(heard)[:4] == ["thinking", "one two ", "tool_call", "tool_result"]
    assert heard[-1].data() == plain[-1].data()


async def test_chunks_are_said_while_the_model_still_speaks(executor_of: ExecutorOf) -> None:
    gate, heard = asyncio.Event(), asyncio.Event()

    class Held(ScriptedChatModel):
        async def _astream(  # pyright: ignore[reportIncompatibleMethodOverride] a generator here
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Any:
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                yield chunk
                if "first" in chunk.text:
                    await asyncio.wait_for(gate.wait(), WAIT_SECONDS)

    said: list[AnyEvent] = []

    def emit(event: AnyEvent | str) -> None:
        said.append(as_event(event))
        heard.set()

    held: Any = Held
    model = merge_chunks(held([[Say(["first ", "second "])]]), TextWindow(3600.0))
    executor = executor_of(model=model)

    async def run() -> list[AnyEvent]:
        return [event async for event in executor.execute("go", "s1", emit=emit)]

    task = asyncio.create_task(run())
    await asyncio.wait_for(heard.wait(), WAIT_SECONDS)
    assert [e.content for e in said if isinstance(e, TextEvent)] == ["first "]
    gate.set()
    await task
    assert "".join(e.content for e in said if isinstance(e, TextEvent)) == "first second "


async def test_sub_agent_is_heard_in_the_stream_under_its_name(executor_of: ExecutorOf) -> None:
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


async def test_model_that_breaks_has_said_what_it_said(executor_of: ExecutorOf) -> None:
    model = scripted([Say("so far "), Fail(ModelRefused("no"))], [Say("again")])
    executor = executor_of(model=model)
    events = await collect_events(executor)
    assert shape(events) == ["so far ", "error", "done"]
    again = [event async for event in executor.execute("more", "s1")]
    assert again[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


@pytest.mark.parametrize("is_heard", [True, False])
async def test_model_that_cannot_stream_is_shown_whole(
    executor_of: ExecutorOf, is_heard: bool
) -> None:
    class Whole(FakeListChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    executor = executor_of(model=Whole(responses=["all at once"], disable_streaming=True))
    if is_heard:
        events = await collect_events(executor)
    else:
        events = [event async for event in executor.execute("go", "s1")]
    assert [(e.content, e.is_final) for e in events if isinstance(e, TextEvent)] == [
        ("all at once", True)
    ]


def test_who_is_heard_is_decided_by_where_a_model_is_called() -> None:
    told_to_stream: list[SubagentChunk] = []
    hearing = _Noting()

    def called(ns: str, *, tags: tuple[str, ...] = (), **metadata: str) -> CallSink | None:
        metadata = {"langgraph_node": "model", "langgraph_checkpoint_ns": ns, **metadata}
        with model_call(SimpleNamespace(run_id="r", metadata=metadata, tags=tags)):
            return current_call_sink()

    def all_calls() -> list[CallSink | None]:
        set_token_sink(hearing, told_to_stream.append, depth=0)
        return [
            called("model:1"),
            called("tools:1|model:2", lc_agent_name="helper"),
            called("model:1", lc_source="summarization"),
            called("tools:1", langgraph_node="tools"),
            called("model:1", tags=(TAG_NOSTREAM,)),
        ]

    main, sub, *others = contextvars.Context().run(all_calls)
    assert others == [None, None, None]
    assert main is not None
    assert main.is_immediate
    main.text("mine")
    assert hearing.texts == [("lc_run--r", "mine")]
    assert sub is not None
    sub.chunk(AIMessageChunk(content="its own"))
    assert [(each.agent, each.chunk.text) for each in told_to_stream] == [("helper", "its own")]


class _Noting:
    """An ear that remembers."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    def write_text(self, message_id: str, text: str) -> None:
        self.texts.append((message_id, text))

    def write_chunk(self, message_id: str, chunk: AIMessageChunk) -> None:
        self.texts.append((message_id, chunk.text))


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
