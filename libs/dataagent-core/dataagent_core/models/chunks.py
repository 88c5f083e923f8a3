"""Builds the chunks of a model's answer cheaply.

Building a validated `AIMessageChunk` costs four times as much as filling in a copy of an empty one,
and a streamed answer is made of hundreds. The text comes from our own models, so there is nothing
to validate; the tests compare each kind with its validated twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk

REASONING: Final = "reasoning_content"
"""Where a model's thinking stands in `additional_kwargs`, as OpenAI-compatible servers name it."""

Piece = str | ChatGenerationChunk
"""A piece of an answer: plain text, or anything else as LangChain's chunk."""

_EMPTY_MESSAGE: Final[dict[str, Any]] = dict(vars(AIMessageChunk(content="")))
_EMPTY_GENERATION: Final[dict[str, Any]] = dict(
    vars(ChatGenerationChunk(message=AIMessageChunk(content="")))
)
_set = object.__setattr__


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A part of a tool call: its name and id once, then more of its arguments."""

    index: int
    call_id: str | None
    name: str | None
    arguments: str


def text_chunk(text: str, *, reasoning: str = "") -> ChatGenerationChunk:
    """A chunk of text, of thinking, or of both."""
    message = AIMessageChunk.__new__(AIMessageChunk)
    fields = _EMPTY_MESSAGE.copy()
    fields["content"] = text
    fields["additional_kwargs"] = {REASONING: reasoning} if reasoning else {}
    fields["response_metadata"] = {}
    fields["tool_calls"] = []
    fields["invalid_tool_calls"] = []
    fields["tool_call_chunks"] = []
    _fill(message, fields, {"content", "additional_kwargs"}, {})
    generation = ChatGenerationChunk.__new__(ChatGenerationChunk)
    fields = _EMPTY_GENERATION.copy()
    fields["text"] = text
    fields["message"] = message
    _fill(generation, fields, {"message"}, None)
    return generation


def full_chunk(
    *,
    text: str = "",
    reasoning: str = "",
    calls: Sequence[ToolCallDelta] = (),
    usage: UsageMetadata | None = None,
    metadata: dict[str, Any] | None = None,
    additional: dict[str, Any] | None = None,
    is_last: bool = False,
) -> ChatGenerationChunk:
    """A chunk of any kind, validated: tool calls, usage and the end of an answer."""
    extra = dict(additional or {})
    if reasoning:
        extra[REASONING] = reasoning
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content=text,
            additional_kwargs=extra,
            response_metadata=metadata or {},
            tool_call_chunks=[_tool_call_chunk(call) for call in calls],
            usage_metadata=usage,
            chunk_position="last" if is_last else None,
        )
    )


def _tool_call_chunk(call: ToolCallDelta) -> ToolCallChunk:
    return tool_call_chunk(name=call.name, args=call.arguments, id=call.call_id, index=call.index)


def _fill(target: object, fields: dict[str, Any], given: set[str], extra: Any) -> None:
    """Give `target` the state pydantic would have given it."""
    _set(target, "__dict__", fields)
    _set(target, "__pydantic_fields_set__", given)
    _set(target, "__pydantic_extra__", extra)
    _set(target, "__pydantic_private__", None)
