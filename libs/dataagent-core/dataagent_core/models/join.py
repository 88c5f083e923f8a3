"""Several chunks of a model's answer become as few as possible, and say exactly the same.

Joining must not be noticed: LangChain adds up all chunks in the end, and the sum of joined chunks
has to equal the sum of the chunks they were made of. `+` on chunks is almost associative; the
cases where it is not are left unjoined (`_kind`, `_Calls`). Within a joined chunk thinking came
before text. Pure, apart from reusing the first chunk of a run. Used by `merge.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from dataagent_core.models.chunks import REASONING

_REPEATABLE: Final = frozenset({"model_provider", "output_version"})
"""Keys of `response_metadata` that stay as they are when added to themselves."""

_ALONE: Final = 0
_STRING: Final = 1
_THOUGHT: Final = 2
_BLOCKS: Final = 3


class ChunkJoiner:
    """Joins the chunks of one answer, batch by batch."""

    def __init__(self) -> None:
        self._calls = _Calls()

    def join(self, chunks: Sequence[ChatGenerationChunk]) -> list[ChatGenerationChunk]:
        """The same content in as few chunks as can be. The chunks given are used up."""
        if len(chunks) == 1:
            self._calls.see(chunks[0])
            return list(chunks)
        joined: list[ChatGenerationChunk] = []
        run: list[ChatGenerationChunk] = []
        run_kind = _ALONE
        for chunk in _text_joined(chunks):
            kind = self._kind(chunk)
            if run and not _may_follow(run_kind, kind):
                joined.append(_sum(run))
                run = []
            run.append(chunk)
            run_kind = kind
        joined.append(_sum(run))
        return joined

    def _kind(self, chunk: ChatGenerationChunk) -> int:
        """What a chunk may be added to: only its own kind, or nothing."""
        message = chunk.message
        is_clear = self._calls.see(chunk)
        if not isinstance(message, AIMessageChunk) or chunk.generation_info or not is_clear:
            return _ALONE
        if isinstance(message.content, str):
            return _kind_of_string(message)
        return _BLOCKS if _are_indexed(message.content) else _ALONE


def _kind_of_string(message: AIMessageChunk) -> int:
    if REASONING not in message.additional_kwargs:
        return _STRING
    return _ALONE if message.content else _THOUGHT


def _may_follow(run_kind: int, kind: int) -> bool:
    """Whether a chunk of this kind may be added to a run of that kind."""
    return (run_kind == kind != _ALONE) or (run_kind == _THOUGHT and kind == _STRING)


class _Calls:
    """Which tool call an index stands for.

    Arguments are appended to the call with the same index. A server that gives several calls one
    index makes the sum depend on the order of adding, so from there on nothing is joined.
    """

    def __init__(self) -> None:
        self._id_of_index: dict[Any, str] = {}
        self._is_clear = True

    def see(self, chunk: ChatGenerationChunk) -> bool:
        """Note the calls in a chunk; whether every index so far has had one id."""
        calls = cast(AIMessageChunk, chunk.message).tool_call_chunks if _has_calls(chunk) else ()
        for call in calls:
            call_id = call.get("id")
            if call_id and self._id_of_index.setdefault(call.get("index"), call_id) != call_id:
                self._is_clear = False
        return self._is_clear or not calls


def _has_calls(chunk: ChatGenerationChunk) -> bool:
    return bool(getattr(chunk.message, "tool_call_chunks", None))


def _text_joined(chunks: Iterable[ChatGenerationChunk]) -> Iterable[ChatGenerationChunk]:
    """Runs of plain text as one chunk each, joined as strings; the rest as it is."""
    first: ChatGenerationChunk | None = None
    texts: list[str] = []
    for chunk in chunks:
        if first is not None and _goes_on(first, chunk):
            texts.append(cast(str, chunk.message.content))  # _is_plain has looked
            continue
        if first is not None:
            yield _with_text(first, texts)
            first = None
        if _is_plain(chunk):
            first, texts = chunk, [cast(str, chunk.message.content)]  # _is_plain has looked
        else:
            yield chunk
    if first is not None:
        yield _with_text(first, texts)


def _goes_on(first: ChatGenerationChunk, chunk: ChatGenerationChunk) -> bool:
    return (
        _is_plain(chunk)
        and chunk.message.id == first.message.id
        and chunk.message.response_metadata == first.message.response_metadata
    )


def _is_plain(chunk: ChatGenerationChunk) -> bool:
    """Whether a chunk holds a string and nothing else that counts."""
    message = chunk.message
    return (
        type(message) is AIMessageChunk
        and type(message.content) is str
        and not message.additional_kwargs
        and not message.tool_call_chunks
        and not message.chunk_position
        and message.usage_metadata is None
        and not chunk.generation_info
        and message.response_metadata.keys() <= _REPEATABLE
    )


def _with_text(first: ChatGenerationChunk, texts: list[str]) -> ChatGenerationChunk:
    """`first`, holding all texts. It is ours: nothing before the callbacks keeps a chunk."""
    if len(texts) > 1:
        text = "".join(texts)
        first.message.content = text
        first.text = text
    return first


def _are_indexed(blocks: Sequence[object]) -> bool:
    """Whether list content merges by index, block by block."""
    return bool(blocks) and all(_is_indexed(block) for block in blocks)


def _is_indexed(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    fields = cast("dict[str, Any]", block)  # content blocks have string keys
    return isinstance(fields.get("index"), int) and fields.get("type") != "non_standard"


def _sum(run: list[ChatGenerationChunk]) -> ChatGenerationChunk:
    if len(run) == 1:
        return run[0]
    if len(run) == 2 and _is_text_and_its_end(*run):
        return _with_text(run[1], [run[0].text, ""])
    return run[0] + run[1:]


def _is_text_and_its_end(text: ChatGenerationChunk, end: ChatGenerationChunk) -> bool:
    """Whether an answer is just text, and what ends it says none: most answers are."""
    message = end.message
    return (
        _is_plain(text)
        and not text.message.response_metadata
        and type(message) is AIMessageChunk
        and type(message.content) is str
        and not message.content
        and message.id == text.message.id
    )
