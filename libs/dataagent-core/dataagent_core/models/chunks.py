"""The pieces of a model's answer, as chunks of LangChain's."""

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
"""A piece of an answer: plain text, or a chunk of anything else."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A part of a tool call: its name and id once, then more of its arguments."""

    index: int
    call_id: str | None
    name: str | None
    arguments: str


def answer_chunk(
    text: str = "",
    *,
    reasoning: str = "",
    calls: Sequence[ToolCallDelta] = (),
    usage: UsageMetadata | None = None,
    metadata: dict[str, Any] | None = None,
    additional: dict[str, Any] | None = None,
    is_last: bool = False,
) -> ChatGenerationChunk:
    """A chunk of text, thinking, tool calls, usage, or the end of an answer."""
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
