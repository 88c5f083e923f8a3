"""Chunks may be joined in any way; the answer they add up to stays the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.outputs.chat_generation import merge_chat_generation_chunks

from dataagent_core.models.chunks import ToolCallDelta, answer_chunk
from dataagent_core.models.merge import ChunkJoiner, merge_stream


async def collect(stream: AsyncGenerator[ChatGenerationChunk]) -> list[ChatGenerationChunk]:
    return [chunk async for chunk in stream]


usages = st.integers(0, 9).map(
    lambda count: UsageMetadata(input_tokens=count, output_tokens=1, total_tokens=count + 1)
)
ids = st.sampled_from(["m1", None, "lc_run-1", "lc_2"])


@st.composite
def messages(draw: st.DrawFn) -> AIMessageChunk:
    """A chunk as a provider may send it: text, blocks, tool calls, reasoning, usage, in any mix."""
    kind = draw(st.sampled_from(["text", "text", "text", "call", "blocks", "reasoning", "usage"]))
    message_id = draw(ids)
    if kind == "call":
        index = draw(st.sampled_from([0, 1, 2, None]))
        call = tool_call_chunk(
            name=draw(st.sampled_from([None, "ls"])),
            args=draw(st.sampled_from(["", '{"a"', ": 1}", None])),
            id=draw(st.sampled_from([None, "", f"c{index}", "other"])),
            index=index,
        )
        return AIMessageChunk(content="", id=message_id, tool_call_chunks=[call])
    if kind == "blocks":
        block: dict[str, Any] = {"type": "text", "text": draw(st.text(max_size=3))}
        if draw(st.booleans()):
            block["index"] = draw(st.integers(0, 1))
        return AIMessageChunk(content=[block], id=message_id)
    if kind == "reasoning":
        thought = {"reasoning_content": draw(st.text(max_size=3))}
        return AIMessageChunk(content="", id=message_id, additional_kwargs=thought)
    if kind == "usage":
        usage = draw(usages)
        position = "last" if draw(st.booleans()) else None
        return AIMessageChunk(content="", usage_metadata=usage, chunk_position=position)
    provider = draw(st.sampled_from([{}, {"model_provider": "openai"}]))
    return AIMessageChunk(
        content=draw(st.text(max_size=4)), id=message_id, response_metadata=dict(provider)
    )


@st.composite
def generations(draw: st.DrawFn) -> ChatGenerationChunk:
    info = draw(st.sampled_from([None, None, None, {"finish_reason": "stop"}]))
    return ChatGenerationChunk(message=draw(messages()), generation_info=info)


def total(chunks: Sequence[ChatGenerationChunk]) -> dict[str, Any]:
    """All chunks added up as LangChain does it, copied so that joining cannot touch them."""
    copies = [chunk.model_copy(deep=True) for chunk in chunks]
    whole = merge_chat_generation_chunks(copies)
    assert whole is not None
    return whole.model_dump()


@given(st.lists(generations(), min_size=1, max_size=20), st.data())
def test_joined_chunks_add_up_to_the_same_answer(
    chunks: list[ChatGenerationChunk], data: st.DataObject
) -> None:
    expected = total(chunks)
    joiner = ChunkJoiner()
    joined: list[ChatGenerationChunk] = []
    rest = list(chunks)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        joined += joiner.join(rest[:size])
        rest = rest[size:]
    assert total(joined) == expected
    assert len(joined) <= len(chunks)


@given(st.lists(generations(), min_size=1, max_size=12))
def test_a_merged_stream_adds_up_to_the_same_answer(chunks: list[ChatGenerationChunk]) -> None:
    expected = total(chunks)

    async def source() -> AsyncGenerator[ChatGenerationChunk]:
        for number, chunk in enumerate(chunks):
            if number % 3 == 0:
                await asyncio.sleep(0)
            yield chunk

    assert total(asyncio.run(collect(merge_stream(source(), lambda: 0.0001)))) == expected


@given(st.lists(st.text(max_size=4), min_size=1, max_size=4), st.data())
def test_text_and_what_ends_it_are_one_chunk(texts: list[str], data: st.DataObject) -> None:
    calls = [ToolCallDelta(0, "c0", "ls", "{}")] if data.draw(st.booleans()) else []
    reason = data.draw(st.sampled_from([None, {"finish_reason": "stop"}]))
    said = [answer_chunk(text) for text in texts]
    said.append(answer_chunk(calls=calls, usage=data.draw(usages), metadata=reason, is_last=True))
    expected = total(said)
    joined = ChunkJoiner().join(said)
    assert len(joined) == 1
    assert total(joined) == expected


def test_thinking_and_text_are_joined_only_in_that_order() -> None:
    said = [answer_chunk("", reasoning="hm"), answer_chunk("a"), answer_chunk("", reasoning="but")]
    joined = ChunkJoiner().join([*said, answer_chunk("b"), answer_chunk("c", reasoning="both")])
    assert [(c.message.additional_kwargs.get("reasoning_content"), c.text) for c in joined] == [
        ("hm", "a"),
        ("but", "b"),
        ("both", "c"),
    ]


def test_arguments_of_a_tool_call_are_joined_in_one_chunk() -> None:
    parts = [
        AIMessageChunk(
            content="",
            tool_call_chunks=[
                tool_call_chunk(
                    name="ls" if first else None, args=args, id="c" if first else None, index=0
                )
            ],
        )
        for first, args in [(True, ""), (False, '{"pa'), (False, 'th": "/"}')]
    ]
    (joined,) = ChunkJoiner().join([ChatGenerationChunk(message=part) for part in parts])
    message = joined.message
    assert isinstance(message, AIMessageChunk)
    assert [(c["name"], c["args"], c["id"]) for c in message.tool_calls] == [
        ("ls", {"path": "/"}, "c")
    ]
