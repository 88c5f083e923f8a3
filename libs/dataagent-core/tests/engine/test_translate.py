"""Recorded stream parts in, whole lists of events out."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.types import Interrupt

from dataagent_core.engine.translate import Translator
from dataagent_core.events import (
    AnyEvent,
    ArtifactEvent,
    FileOperationEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_core.models.token_stream import AnswerStream
from tests.requirements import requirement

MAIN: tuple[str, ...] = ()
SUB: tuple[str, ...] = ("tools:1",)


def chunk(text: Any, ns: tuple[str, ...] = MAIN, *, message_id: str = "m1", **more: Any) -> Any:
    """A piece of a model's message, as it comes in the stream."""
    said = AIMessageChunk(content=text, id=message_id, **more)
    agent = "helper" if ns and ns[-1].startswith("tools:") else None
    return {"type": "custom", "ns": ns, "data": AnswerStream(agent, message_id).text_of(said)}


def update(node: str, ns: tuple[str, ...] = MAIN, **values: Any) -> Any:
    return {"type": "updates", "ns": ns, "data": {node: values}}


def tool_message(content: Any, call_id: str = "c1", name: str = "ls", **more: Any) -> Any:
    message = ToolMessage(content, tool_call_id=call_id, name=name, **more)
    return update("tools", messages=[message])


def call(name: str, args: dict[str, Any], call_id: str = "c1") -> Any:
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def events_of(*parts: Any, translator: Translator | None = None) -> list[AnyEvent]:
    translator = translator or Translator()
    return [event for part in parts for event in translator.feed(part)]


@requirement("R2.2")
def test_text_comes_piece_by_piece_and_its_end_is_marked() -> None:
    assert events_of(
        chunk("Hel"),
        chunk("lo"),
        chunk("", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
        update("model", messages=[AIMessage("Hello", id="m1")]),
    ) == [
        TextEvent(content="Hel", timestamp=ANY),
        TextEvent(content="lo", timestamp=ANY),
        TextEvent(content="", is_final=True, timestamp=ANY),
    ]


@requirement("R2.3", "R2.4")
def test_tool_call_is_announced_when_its_arguments_are_complete() -> None:
    growing = [{"name": "ls", "args": '{"pa', "id": "c1", "index": 0}]
    assert events_of(
        chunk("", tool_call_chunks=growing),
        update("model", messages=[AIMessage("", tool_calls=[call("ls", {"path": "/"})])]),
        tool_message("['/a']"),
    ) == [
        ToolCallEvent(tool_name="ls", tool_args={"path": "/"}, tool_call_id="c1", timestamp=ANY),
        ToolResultEvent(
            tool_call_id="c1", tool_name="ls", result="['/a']", status="success", timestamp=ANY
        ),
    ]


@requirement("R8.5")
def test_result_says_how_the_tool_ended() -> None:
    late = {"status": "timeout"}
    parts = [
        tool_message("x", "1"),
        tool_message("x", "2", status="error"),
        tool_message("x", "3", status="error", additional_kwargs=late),
        tool_message("x", "4", status="error", additional_kwargs={"status": "denied"}),
        tool_message("x", "5", additional_kwargs={"status": "of a later version"}),
    ]
    found = [event.status for event in events_of(*parts) if isinstance(event, ToolResultEvent)]
    assert found == ["success", "error", "timeout", "denied", "error"]


def test_reasoning_is_thinking_however_the_provider_sends_it() -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "thinking", "thinking": "so "},
        {"type": "reasoning", "reasoning": "far"},
        {"type": "text", "text": "Yes."},
    ]
    assert events_of(
        chunk("", additional_kwargs={"reasoning_content": "hm"}),
        chunk("", additional_kwargs={"reasoning_content": None}),
        chunk(blocks),
    ) == [
        ThinkingEvent(content="hm", timestamp=ANY),
        ThinkingEvent(content="so far", timestamp=ANY),
        TextEvent(content="Yes.", timestamp=ANY),
    ]


@requirement("S4b")
def test_thinking_tools_show_as_thinking_and_their_results_not_at_all() -> None:
    calls = [
        call("think_tool", {"reflection": "not yet"}, "t1"),
        call("route", {"agent_name": "sql", "task_description": "count them"}, "t2"),
        call("ls", {}, "t3"),
    ]
    assert events_of(
        update("model", messages=[AIMessage("", tool_calls=calls, name="supervisor")]),
        tool_message("Noted: not yet", "t1", "think_tool"),
        tool_message("routed", "t2", "route"),
    ) == [
        ThinkingEvent(content="not yet", timestamp=ANY),
        ThinkingEvent(content="→ sql: count them", timestamp=ANY),
        ToolCallEvent(tool_name="ls", tool_args={}, tool_call_id="t3", timestamp=ANY),
    ]


def test_a_call_of_route_by_who_has_no_such_tool_is_an_ordinary_one() -> None:
    calls = [call("route", {"agent_name": "sql"}, "t1")]
    assert events_of(
        update("model", messages=[AIMessage("", tool_calls=calls, name="main")]),
        tool_message("There is no such tool.", "t1", "route", status="error"),
    ) == [
        ToolCallEvent(
            tool_name="route", tool_args={"agent_name": "sql"}, tool_call_id="t1", timestamp=ANY
        ),
        ToolResultEvent(
            tool_call_id="t1",
            tool_name="route",
            result="There is no such tool.",
            status="error",
            timestamp=ANY,
        ),
    ]


def test_in_a_team_the_agent_one_level_down_is_the_main_one() -> None:
    agent, helper = ("sql:1",), ("sql:1", "tools:2")
    translator = Translator(depth=1)
    whole = AIMessage("Hello", id="m1", name="main")
    assert events_of(
        chunk("Hel", agent),
        chunk("mine", helper, message_id="m2"),
        chunk("lo", agent),
        update("model", agent, messages=[whole]),
        update("sql", MAIN, messages=[whole]),  # the level above repeats it
        translator=translator,
    ) == [
        TextEvent(content="Hel", timestamp=ANY),
        TextEvent(content="mine", agent="helper", timestamp=ANY),
        TextEvent(content="lo", timestamp=ANY),
        TextEvent(content="", is_final=True, timestamp=ANY),
    ]
    waiting = Interrupt(value={}, id="i1")
    parts = [
        {"type": "updates", "ns": ns, "data": {"__interrupt__": (waiting,)}}
        for ns in (helper, agent, MAIN)
    ]
    assert events_of(*parts, translator=translator) == []
    assert translator.take_interrupts() == [waiting]


def test_sub_agent_is_named_and_its_text_is_no_part_of_the_answer() -> None:
    translator = Translator()
    assert events_of(
        chunk("main "),
        chunk("sub", SUB, message_id="m2"),
        update(
            "model",
            SUB,
            messages=[AIMessage("sub", id="m2", name="helper", tool_calls=[call("ls", {})])],
        ),
        translator=translator,
    ) == [
        TextEvent(content="main ", timestamp=ANY),
        TextEvent(content="sub", agent="helper", timestamp=ANY),
        TextEvent(content="", is_final=True, agent="helper", timestamp=ANY),
        ToolCallEvent(
            tool_name="ls", tool_args={}, tool_call_id="c1", agent="helper", timestamp=ANY
        ),
    ]
    assert (translator.partial_id, translator.partial_text) == ("m1", "main ")


def test_interrupt_reported_by_child_and_parent_is_one() -> None:
    interrupt = Interrupt(value={"type": "tool_approval"}, id="i1")
    other = Interrupt(value={"type": "tool_approval"}, id="i2")
    translator = Translator()
    parts = [
        {"type": "updates", "ns": SUB, "data": {"__interrupt__": (interrupt,)}},
        {"type": "updates", "ns": MAIN, "data": {"__interrupt__": (interrupt, other)}},
    ]
    assert events_of(*parts, translator=translator) == []
    assert [item.id for item in translator.take_interrupts()] == ["i1", "i2"]
    assert translator.take_interrupts() == []


def test_cached_updates_after_a_resume_are_ignored() -> None:
    cached = update("model", messages=[AIMessage("", tool_calls=[call("ls", {})])])
    cached["data"]["__metadata__"] = {"cached": True}
    assert events_of(cached) == []


def test_plan_is_reported_whole() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
    part = update("tools", todos=todos, messages=[ToolMessage("ok", tool_call_id="c1")])
    assert events_of(part) == [
        ToolResultEvent(
            tool_call_id="c1", tool_name="", result="ok", status="success", timestamp=ANY
        ),
        TodoUpdateEvent(todos=todos, timestamp=ANY),
    ]


def test_several_updates_of_one_node_are_told_one_by_one() -> None:
    messages = [ToolMessage(text, tool_call_id=text, name="ls") for text in ("a", "b")]
    values = [{"messages": [message]} for message in messages]
    found = events_of({"type": "updates", "ns": MAIN, "data": {"tools": values}})
    assert [event.data()["result"] for event in found] == ["a", "b"]


@requirement("R5.6")
def test_custom_parts_of_ours_become_events_and_others_nothing() -> None:
    fields: dict[str, Any] = {
        "operation": "edit",
        "file_path": "/files/a",
        "metrics": {"lines_added": 1},
        "diff": "+x",
        "status": "success",
    }
    chart: dict[str, Any] = {"artifact_id": "a1", "kind": "chart", "title": "T", "url": "/a1"}
    assert events_of(
        {"type": "custom", "ns": SUB, "data": {"file_operation": fields}},
        {"type": "custom", "ns": MAIN, "data": {"artifact": chart}},
        {"type": "custom", "ns": SUB, "data": {"tool_progress": "shop__steps: 1 of 3"}},
        {"type": "custom", "ns": MAIN, "data": {"progress": 3}},
        {"type": "custom", "ns": MAIN, "data": "words"},
        {"type": "tasks", "ns": MAIN, "data": {}},
    ) == [
        FileOperationEvent(**fields, timestamp=ANY),
        ArtifactEvent(**chart, timestamp=ANY),
        ThinkingEvent(content="shop__steps: 1 of 3\n", timestamp=ANY),
    ]


def test_tokens_of_all_messages_are_added_up_sub_agents_included() -> None:
    usage: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    translator = Translator()
    events_of(
        update("model", messages=[AIMessage("a", usage_metadata=usage)]),
        update("model", SUB, messages=[AIMessage("b", usage_metadata=usage)]),
        update("model", messages=[AIMessage("without")]),
        translator=translator,
    )
    assert translator.usage == {"input_tokens": 20, "output_tokens": 4, "total_tokens": 24}


def test_unfinished_text_is_the_last_messages_only() -> None:
    translator = Translator()
    events_of(chunk("first "), translator=translator)
    events_of(update("model", messages=[AIMessage("first ", id="m1")]), translator=translator)
    assert (translator.partial_id, translator.partial_text) == (None, "")
    events_of(chunk("se", message_id="m2"), chunk("cond", message_id="m2"), translator=translator)
    assert (translator.partial_id, translator.partial_text) == ("m2", "second")


def test_updates_without_news_give_nothing() -> None:
    assert (
        events_of(
            {"type": "updates", "ns": MAIN, "data": {"model": None}},
            update("SkillsMiddleware.before_agent", skills_metadata=[]),
            update("model", messages=[HumanMessage("x")]),
            update("model", messages="not a list"),
        )
        == []
    )
