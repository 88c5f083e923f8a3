"""The scripted model: turns from a list, and directives in the user's message."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from dataagent_core.errors import ModelRefused, ModelUnavailable
from dataagent_core.models.chunks import ToolCallDelta, answer_chunk
from dataagent_core.models.directives import next_turn, read_turns
from dataagent_core.models.rule_based import Call, Fail, Say, Think, words
from dataagent_core.models.scripted import ScriptedChatModel
from tests.requirements import requirement


async def answer(model: ScriptedChatModel, messages: Sequence[BaseMessage]) -> AIMessageChunk:
    """Everything a model streams, added up."""
    chunks = [chunk async for chunk in model.astream(list(messages))]
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    return total


async def listen(model: ScriptedChatModel, question: str, heard: list[str]) -> None:
    """Note what a model says, until it ends or breaks."""
    async for chunk in model.astream(question):
        heard.append(str(chunk.content))


def test_thinking_of_a_chunk_stands_beside_its_text() -> None:
    chunk = answer_chunk("hello", reasoning="hm").message
    assert (chunk.text, chunk.additional_kwargs) == ("hello", {"reasoning_content": "hm"})


@given(st.text())
def test_words_of_a_text_joined_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text


@requirement("R6.2")
async def test_turns_are_played_in_the_order_of_the_conversation() -> None:
    model = ScriptedChatModel(
        [
            "one two",
            [Think("hm "), Say(["a", "b"])],
            [Call("ls", {"path": "/"}), Call("glob", {"pattern": "*"})],
        ]
    )
    first = await answer(model, [HumanMessage("go")])
    assert first.content == "one two"
    assert first.response_metadata["finish_reason"] == "stop"
    second = await answer(model, [HumanMessage("go"), AIMessage("one two"), HumanMessage("on")])
    assert second.content == "ab"
    assert second.additional_kwargs["reasoning_content"] == "hm "
    third = await answer(model, [HumanMessage("go"), AIMessage("1"), AIMessage("2")])
    assert [(call["name"], call["args"]) for call in third.tool_calls] == [
        ("ls", {"path": "/"}),
        ("glob", {"pattern": "*"}),
    ]
    assert third.response_metadata["finish_reason"] == "tool_calls"
    again = await answer(model, [AIMessage("1"), AIMessage("2"), AIMessage("3")])
    assert again.content == "one two"


async def test_one_instance_serves_many_conversations_at_once() -> None:
    model = ScriptedChatModel(turns=[Say(["a", "b", "c"], delay_seconds=0.001), "second turn"])
    fresh = [answer(model, [HumanMessage(f"user {number}")]) for number in range(20)]
    later = [answer(model, [HumanMessage("x"), AIMessage("abc")]) for _ in range(20)]
    answers = await asyncio.gather(*fresh, *later)
    assert [a.content for a in answers] == ["abc"] * 20 + ["second turn"] * 20
    assert len({a.id for a in answers}) == 40


async def test_a_function_may_choose_the_turn() -> None:
    model = ScriptedChatModel(lambda messages: [Say(f"{len(messages)} messages")])
    assert (await answer(model, [SystemMessage("s"), HumanMessage("u")])).content == "2 messages"


async def test_a_failure_comes_after_what_was_said() -> None:
    model = ScriptedChatModel([[Say("so far"), Fail(ModelUnavailable("gone"))]])
    seen: list[str] = []
    with pytest.raises(ModelUnavailable, match="gone"):
        await listen(model, "go", seen)
    assert "".join(seen) == "so far"


async def test_usage_stands_on_the_last_chunk_and_ids_are_one_per_message() -> None:
    model = ScriptedChatModel(["one two three"])
    chunks = [chunk async for chunk in model.astream([HumanMessage("12345678")])]
    assert [chunk.usage_metadata for chunk in chunks[:-1]] == [None] * 3
    assert chunks[-1].usage_metadata == {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].chunk_position == "last"


async def test_a_model_without_delay_lets_others_run() -> None:
    model = ScriptedChatModel([Say(["x"] * 500)])
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticker = asyncio.create_task(tick())
    await model.ainvoke("go")
    ticker.cancel()
    assert ticks >= 10


def test_the_model_can_be_called_without_a_loop() -> None:
    assert ScriptedChatModel(["plain"]).invoke("go").content == "plain"


async def test_the_model_can_be_called_synchronously_on_a_loop() -> None:
    assert ScriptedChatModel(["plain"]).invoke("go").content == "plain"


# -- directives ---------------------------------------------------------------------------------


@requirement("R6.2")
async def test_a_message_without_directives_is_echoed() -> None:
    model = ScriptedChatModel()
    assert (await answer(model, [HumanMessage("hello\nthere, !you")])).content == (
        "hello\nthere, !you"
    )


def test_directives_of_one_message_become_turns() -> None:
    turns = read_turns(
        'please\n!think let me see\n!echo looking\n!tool ls {"path": "/"}\n!tool glob\n'
        '!tools [{"name": "a", "args": {"x": 1}}, {"name": "b"}]\n!echo that was it'
    )
    assert turns == [
        [Think("let me see"), Say("looking"), Call("ls", {"path": "/"})],
        [Call("glob", {})],
        [Call("a", {"x": 1}), Call("b", {})],
        [Say("that was it")],
    ]


def test_tool_results_move_the_script_on() -> None:
    message = HumanMessage('!tools [{"name": "a"}, {"name": "b"}]\n!tool c\n!echo end')
    result = ToolMessage("ok", tool_call_id="1")
    told = [HumanMessage("!echo before"), result, result, message]
    assert next_turn(told) == [Call("a", {}), Call("b", {})]
    assert next_turn([*told, result]) == [Call("a", {}), Call("b", {})]
    assert next_turn([*told, AIMessage(""), result, result]) == [Call("c", {})]
    assert next_turn([*told, result, result, result]) == [Say("end")]


def test_a_script_that_ends_with_a_tool_has_a_last_word() -> None:
    told = [HumanMessage("!tool ls"), ToolMessage("ok", tool_call_id="1")]
    assert next_turn(told) == [Say("Done.")]


async def test_slow_text_is_numbered_and_comes_in_as_many_chunks() -> None:
    chunks = [c async for c in ScriptedChatModel().astream("!slow 5 1") if c.content]
    assert [c.content for c in chunks] == [f"chunk{number} " for number in range(5)]


@pytest.mark.parametrize(
    ("directive", "error"), [("!fail", ModelRefused), ("!fail recoverable", ModelUnavailable)]
)
async def test_fail_breaks_the_turn(directive: str, error: type[Exception]) -> None:
    seen: list[str] = []
    with pytest.raises(error):
        await listen(ScriptedChatModel(), f"!echo first\n{directive}", seen)
    assert "".join(seen) == "first"


@pytest.mark.parametrize(
    "directive",
    ["!slow many 3", "!slow 3", "!tool", "!tool ls {", "!tool ls [1]", "!tools {}", "!tools [1]"],
)
async def test_a_directive_that_cannot_be_read_is_said_back(directive: str) -> None:
    said = (await answer(ScriptedChatModel(), [HumanMessage(directive)])).content
    assert isinstance(said, str)
    assert said.startswith(f"Directive not understood: {directive}")


def test_calls_of_a_turn_have_their_own_ids() -> None:
    chunk = answer_chunk(
        calls=[ToolCallDelta(0, "a", "x", "{}"), ToolCallDelta(1, "b", "y", '{"z": 1}')]
    )
    message = chunk.message
    assert isinstance(message, AIMessageChunk)
    assert [(c["id"], c["name"], c["args"]) for c in message.tool_calls] == [
        ("a", "x", {}),
        ("b", "y", {"z": 1}),
    ]
