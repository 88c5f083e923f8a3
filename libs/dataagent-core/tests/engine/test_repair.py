"""What a thread lacks after its turn was cut off. Pure."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from dataagent_core.engine import AgentConfig, AgentFactory
from dataagent_core.engine import graph as lg
from dataagent_core.engine.thread import INTERRUPTED, missing_messages, repair

ASKED = HumanMessage("count them", id="q1")


def calling(*call_ids: str) -> AIMessage:
    calls: Any = [
        {"name": f"tool_{call_id}", "args": {}, "id": call_id, "type": "tool_call"}
        for call_id in call_ids
    ]
    return AIMessage("", id="a1", tool_calls=calls)


def missing(messages: list[BaseMessage], **more: Any) -> list[tuple[str, str]]:
    """Type and text of what is added."""
    values: dict[str, Any] = {
        "asked": None,
        "partial_text": "",
        "partial_id": None,
        "note": "stopped",
        **more,
    }
    return [(m.type, m.text) for m in missing_messages(messages, **values)]


def test_whole_thread_lacks_nothing() -> None:
    result = ToolMessage("42", tool_call_id="c1")
    thread: list[BaseMessage] = [ASKED, calling("c1"), result, AIMessage("42.")]
    assert missing(thread, asked=ASKED) == []
    assert missing([]) == []


def test_question_that_did_not_reach_the_thread_is_added_first() -> None:
    before = [HumanMessage("hi", id="q0"), AIMessage("Hello.")]
    found = missing(list(before), asked=ASKED, partial_text="Four", partial_id="a2")
    assert found == [("human", "count them"), ("ai", "Four")]


def test_open_calls_get_a_result_and_finished_ones_keep_theirs() -> None:
    done = ToolMessage("done", tool_call_id="c2")
    thread: list[BaseMessage] = [ASKED, calling("c1", "c2", "c3"), done]
    added = missing_messages(thread, ASKED, "", None, "stopped")
    assert [
        (m.tool_call_id, m.name, m.status, m.text) for m in added if isinstance(m, ToolMessage)
    ] == [
        ("c1", "tool_c1", "error", "stopped"),
        ("c3", "tool_c3", "error", "stopped"),
    ]
    assert len(added) == 2


def test_text_seen_so_far_is_added_under_its_own_id_once() -> None:
    added = missing_messages([ASKED], ASKED, "Forty", "a9", "stopped")
    assert [(m.type, m.text, m.id) for m in added] == [("ai", "Forty", "a9")]
    assert (
        missing([ASKED, AIMessage("Forty-two", id="a9")], partial_text="Forty", partial_id="a9")
        == []
    )


async def test_repair_closes_an_empty_thread_with_the_question(factory: AgentFactory) -> None:
    graph = lg.bind(factory.create_agent(AgentConfig("agent"))[0], InMemorySaver())
    config = lg.thread("s", 10)
    await repair(graph, config, asked=ASKED, partial_text="Fo", partial_id="a1")
    await repair(graph, config, asked=ASKED, partial_text="Fo", partial_id="a1")
    state = await lg.snapshot(graph, config)
    assert [(m.type, m.text) for m in state.messages] == [("human", "count them"), ("ai", "Fo")]
    assert (state.results, state.interrupts) == ([], ())


async def test_repair_that_fails_is_logged_and_not_raised(
    factory: AgentFactory, caplog: pytest.LogCaptureFixture
) -> None:
    graph, _ = factory.create_agent(AgentConfig("agent"))  # bound to no saver
    await repair(graph, lg.thread("s", 10), asked=ASKED)
    assert "could not repair thread" in caplog.text


def test_note_says_that_the_call_may_have_had_effects() -> None:
    assert "may have had effects" in INTERRUPTED
