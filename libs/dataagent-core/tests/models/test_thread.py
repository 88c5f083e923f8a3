"""A thread knows what a look at all its messages would show, however it came about."""

from __future__ import annotations

import copy
import pickle
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from dataagent_core.models.messages import Thread, count_tokens

ids = st.one_of(st.none(), st.sampled_from("abcdefgh"))
texts = st.one_of(st.text(max_size=5), st.just([{"type": "text", "text": "block"}]))


def ai(content: Any, message_id: str | None, calls: list[str], *, is_broken: bool) -> AIMessage:
    broken: Any = [{"id": "x", "name": "t", "args": "{", "error": None}] if is_broken else []
    return AIMessage(
        content,
        id=message_id,
        tool_calls=[{"name": "t", "args": {"a": "b" * len(call)}, "id": call} for call in calls],
        invalid_tool_calls=broken,
    )


def human(content: Any, message_id: str | None, *, is_marked: bool) -> HumanMessage:
    return HumanMessage(content, id=message_id, additional_kwargs={"m": 1} if is_marked else {})


def result(content: str, message_id: str | None, call: str) -> ToolMessage:
    return ToolMessage(content, id=message_id, tool_call_id=call)


calls = st.sampled_from(["one", "other"])
messages = st.one_of(
    st.builds(human, texts, ids, is_marked=st.booleans()),
    st.builds(ai, texts, ids, st.lists(calls, max_size=2), is_broken=st.booleans()),
    st.builds(result, st.text(max_size=4), ids, calls),
)


def facts(thread: Thread) -> dict[str, Any]:
    return {
        "is_plain": thread.is_plain,
        "is_unmarked": thread.is_unmarked,
        "open_calls": thread.open_calls,
        "tokens": thread.tokens,
        "characters": thread.characters,
    }


def looked_at(messages: list[BaseMessage]) -> dict[str, Any]:
    answers = [message for message in messages if isinstance(message, AIMessage)]
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, AIMessage):
            open_calls |= {call["id"] for call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            open_calls -= {message.tool_call_id}
    contents = [cast(Any, message).content for message in messages]  # text or blocks
    return {
        "is_plain": all(isinstance(content, str) for content in contents)
        and not any(answer.invalid_tool_calls for answer in answers),
        "is_unmarked": not any(
            isinstance(message, HumanMessage) and cast(Any, message).additional_kwargs
            for message in messages
        ),
        "open_calls": frozenset(open_calls),
        "tokens": sum(map(count_tokens, messages)),
        "characters": sum(len(message.text) for message in messages),
    }


@given(st.lists(st.lists(messages, max_size=3), max_size=5))
def test_thread_that_grew_knows_what_a_look_at_all_shows(parts: list[list[BaseMessage]]) -> None:
    thread = Thread()
    for part in parts:
        thread = thread.with_messages(part)
    whole = [message for part in parts for message in part]
    assert list(thread) == whole
    assert facts(thread) == facts(Thread(whole)) == looked_at(whole)


@given(
    st.lists(messages, max_size=4), st.lists(messages, max_size=3), st.lists(messages, max_size=3)
)
def test_threads_with_one_beginning_know_only_their_own_messages(
    beginning: list[BaseMessage], one: list[BaseMessage], other: list[BaseMessage]
) -> None:
    start = Thread(beginning)
    grown = [start.with_messages(one), start.with_messages(other), start]
    for thread in [*grown, grown[0].with_messages(other), copy.copy(grown[1])]:
        names = {message.id for message in thread} - {None}
        assert {name for name in "abcdefgh" if thread.has(name)} == names
        assert set(thread.ids()) == names


def test_it_is_a_list_that_does_not_change() -> None:
    messages: list[BaseMessage] = [HumanMessage("hi", id="a"), AIMessage("ho", id="b")]
    thread = Thread(messages)
    assert thread == messages
    assert (thread != thread[:]) is False
    assert pickle.loads(pickle.dumps(thread)) == messages
    with pytest.raises(TypeError, match="does not change"):
        thread.append(HumanMessage("more"))
    with pytest.raises(TypeError, match="does not change"):
        thread[0] = HumanMessage("other")


def test_system_message_stands_before_it() -> None:
    system = SystemMessage([{"type": "text", "text": "be kind"}])
    thread = Thread([HumanMessage("hi", id="a")])
    whole = thread.with_system_message(system)
    assert list(whole) == [system, *thread]
    assert whole.head is system
    assert (whole.is_plain, whole.characters) == (True, len("be kind") + len("hi"))
    assert whole.tokens == thread.tokens + count_tokens(system)
    assert list(thread) == thread[:1]
