"""What a model without a mind does in one turn, as data, and how it is played.

A `Turn` is a row of steps: say, think, call tools, fail. `play` turns it into the chunks a real
model would stream. It decides nothing: which turn comes next is `scripted.py`'s or `offline.py`'s
to say.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson
from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import UsageMetadata

from dataagent_core.models.chunks import Piece, ToolCallDelta, full_chunk, text_chunk
from dataagent_core.models.thread import Thread

_WORD: Final = re.compile(r"\S*\s+|\S+")
_YIELD_EVERY: Final = 32
"""Chunks without delay between two moments at which other tasks may run."""


@dataclass(frozen=True, slots=True)
class Say:
    """Text. A string is streamed word by word; a sequence is streamed as the chunks it holds."""

    text: str | Iterable[str]
    delay_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Think(Say):
    """The same, as the model's reasoning instead of its answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. All calls of a turn are made at once, after what the turn says."""

    name: str
    args: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Fail:
    """The model breaks here, after what came before was streamed."""

    error: Exception


Step: TypeAlias = Say | Think | Call | Fail
Turn: TypeAlias = Sequence[Step]


def words(text: str) -> list[str]:
    """`"a b  c"` → `["a ", "b  ", "c"]`; joined they are the text again."""
    return _WORD.findall(text)


def chunks_of(step: Say) -> Iterable[str]:
    """The chunks a step is streamed in."""
    return words(step.text) if isinstance(step.text, str) else step.text


async def play(
    turn: Turn, messages: Sequence[BaseMessage], model_name: str
) -> AsyncGenerator[Piece]:
    """Stream one turn: text, then the tool calls, then usage and the end.

    Chunks with a delay are due at fixed times from the step's start, so a busy loop delivers late
    but does not slow the model down.
    """
    said = 0
    for step in turn:
        if isinstance(step, Fail):
            raise step.error
        if isinstance(step, Say):
            pace = _ChunkPacer(step.delay_seconds)
            for text in chunks_of(step):
                await pace.wait()
                said += 1
                yield text_chunk("", reasoning=text) if isinstance(step, Think) else text
    calls = [step for step in turn if isinstance(step, Call)]
    made = uuid.uuid4().hex
    yield full_chunk(
        calls=[_call_part(index, call, made) for index, call in enumerate(calls)],
        usage=_usage(messages, said + len(calls)),
        metadata={
            "finish_reason": "tool_calls" if calls else "stop",
            "model_name": model_name,
        },
        is_last=True,
    )


class _ChunkPacer:
    """When the next chunk is due: after its delay, or at once with a breath now and then."""

    __slots__ = ("_count", "_delay", "_due", "_loop")

    def __init__(self, delay_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._delay = delay_seconds
        self._due = self._loop.time()
        self._count = 0

    async def wait(self) -> None:
        if self._delay > 0:
            self._due += self._delay
            await asyncio.sleep(max(0.0, self._due - self._loop.time()))
        else:
            if self._count % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
            self._count += 1


def _call_part(index: int, call: Call, made: str) -> ToolCallDelta:
    return ToolCallDelta(
        index=index,
        call_id=f"call_{made}_{index}",
        name=call.name,
        arguments=orjson.dumps(call.args).decode(),
    )


def _usage(messages: Sequence[BaseMessage], output_tokens: int) -> UsageMetadata:
    """Four characters are a token on the way in, a chunk or a call is one on the way out."""
    thread = messages if isinstance(messages, Thread) else Thread(messages)
    input_tokens = thread.characters // 4
    return UsageMetadata(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
    )
