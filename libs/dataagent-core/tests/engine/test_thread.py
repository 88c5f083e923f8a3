"""The quick reducer says what deepagents' own says."""

from __future__ import annotations

from typing import Any

# what it is compared with
from deepagents._messages_reducer import (  # pyright: ignore[reportMissingTypeStubs]
    _messages_delta_reducer,  # pyright: ignore[reportPrivateUsage] the same
)
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage

# it has none
from langgraph.graph.message import REMOVE_ALL_MESSAGES  # pyright: ignore[reportMissingTypeStubs]

from dataagent_core.engine import AgentConfig, AgentFactory
from dataagent_core.engine.graph import message_channel
from dataagent_core.middleware.upstream import reduce_messages

ids = st.sampled_from(["a", "b", "c", "d"])
texts = st.text(max_size=3)


def said(kind: type[HumanMessage | AIMessage], text: str, message_id: str | None) -> BaseMessage:
    return kind(text, id=message_id)


def result(text: str, message_id: str) -> BaseMessage:
    return ToolMessage(text, tool_call_id=message_id, id=message_id)


def removal(message_id: str) -> BaseMessage:
    return RemoveMessage(id=message_id)


messages = st.one_of(
    st.builds(said, st.just(HumanMessage), texts, st.one_of(st.none(), ids)),
    st.builds(said, st.just(AIMessage), texts, ids),
    st.builds(result, texts, ids),
    st.builds(removal, st.one_of(ids, st.just(REMOVE_ALL_MESSAGES))),
    st.just(("user", "raw")),
)
kept = st.lists(st.builds(said, st.just(HumanMessage), texts, ids), unique_by=lambda m: m.id)


def outcome(reducer: Any, state: Any, writes: Any) -> Any:
    try:
        return [(m.type, m.id, m.content) for m in reducer(state, writes)]
    except Exception as error:
        return type(error)


@given(st.one_of(st.none(), kept), st.lists(st.one_of(messages, st.lists(messages, max_size=3))))
def test_any_writes_give_the_thread_the_original_gives(state: Any, writes: Any) -> None:
    assert outcome(reduce_messages, state, writes) == outcome(
        _messages_delta_reducer, state, writes
    )


def test_given_thread_is_left_as_it_is() -> None:
    state: Any = [HumanMessage("hi", id="a")]
    assert len(reduce_messages(state, [[AIMessage("ho", id="b")]])) == 2
    assert len(state) == 1


def test_built_agents_have_it(factory: AgentFactory) -> None:
    graph, _ = factory.create_agent(AgentConfig("agent"))
    assert message_channel(graph).reducer is reduce_messages
