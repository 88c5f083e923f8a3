"""Joins the chunks of a model's streamed answer, and hands its text to a run's token sink.

Each chunk costs LangChain's callbacks, LangGraph's stream and the ledger far more than it costs the
model. With a token sink (`token_stream.py`) a run gets each chunk at once and the libraries get
one. Otherwise whatever arrives within a short window becomes one chunk, before any callback sees
it; the first chunk never waits. LangChain adds up all chunks in the end, so the sum of joined
chunks has to equal the sum of the chunks they were made of: the few cases where `+` on chunks is
not associative are left unjoined (`_kind`, `_Calls`).

The result is an instance of the provider's own class, because deepagents checks for that. Errors of
a provider's SDK are translated here (`failures.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import aclosing, contextmanager
from copy import copy
from functools import cache
from types import new_class
from typing import Any, Final, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, get_buffer_string
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.prompt_values import PromptValue

from dataagent_core.models.chunks import REASONING, Piece, answer_chunk
from dataagent_core.models.failures import translate_errors
from dataagent_core.models.messages import Thread
from dataagent_core.models.streamed_model import StreamedChatModel
from dataagent_core.models.token_stream import (
    CallSink,
    current_call_sink,
    model_call,
    wait_for_stream_reader,
)

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


Chunks = AsyncIterator[ChatGenerationChunk]
Window = Callable[[], float]
_WINDOW = "text_window"
_IDENTITY = ("__module__", "__qualname__", "__doc__")


class TextWindow:
    """How long text may wait: longer while many answers stream at once, up to a limit.

    A reader cannot tell twenty pieces a second from fifty; a full process can.
    """

    def __init__(
        self,
        seconds: float,
        *,
        seconds_per_stream: float = 0.002,
        most_seconds: float = 0.045,
    ) -> None:
        self._least = seconds
        self._most = max(seconds, most_seconds) if seconds > 0 else 0.0
        self._per_stream = seconds_per_stream
        self.streams = 0

    def __call__(self) -> float:
        """The window now."""
        return min(max(self._least, self.streams * self._per_stream), self._most)


def _no_window() -> float:
    """The window of a model that is not merged."""
    return 0.0


@contextmanager
def _count_stream(window: Window) -> Generator[None]:
    """One more answer streams while this is open, if the window wants to know."""
    if not isinstance(window, TextWindow):
        yield
        return
    window.streams += 1
    try:
        yield
    finally:
        window.streams -= 1


def merge_chunks(model: BaseChatModel, window_seconds: float | Window) -> BaseChatModel:
    """A copy of `model` that streams at most about one chunk in each window.

    `window_seconds` may be a function, asked again for each window. One that is 0 at the start
    of an answer merges nothing. A model that cannot stream is returned as it is.
    """
    if not _can_stream(type(model)):
        return model
    window = window_seconds if callable(window_seconds) else lambda: window_seconds
    clone = _merging_copy(model)
    vars(clone)[_WINDOW] = window
    return clone


def with_token_sink(model: BaseChatModel) -> BaseChatModel:
    """A model that serves a token sink; it shares its state with the given one."""
    if isinstance(model, _Merging) or not _can_stream(type(model)):
        return model
    same = _merging_copy(model)
    for state in ("__dict__", "__pydantic_private__", "__pydantic_fields_set__"):
        object.__setattr__(same, state, getattr(model, state))
    return same


def _merging_copy(model: BaseChatModel) -> BaseChatModel:
    clone = copy(model)
    base = type(model)
    kind = base if issubclass(base, _Merging) else _merging_class(base)
    object.__setattr__(clone, "__class__", kind)
    return clone


def _can_stream(kind: type[BaseChatModel]) -> bool:
    return (
        # LangChain's own test
        kind._astream is not BaseChatModel._astream  # pyright: ignore[reportPrivateUsage]
        or kind._stream is not BaseChatModel._stream  # pyright: ignore[reportPrivateUsage] the same
    )


class _ThreadPromptValue(PromptValue):
    """A thread as a model's input, passed on as it is."""

    thread: Any  # a Thread; Pydantic would make a list of it

    def to_string(self) -> str:
        """The messages as one text, as LangChain writes them."""
        return get_buffer_string(self.thread)

    def to_messages(self) -> list[BaseMessage]:
        """The thread itself."""
        return self.thread


class _Merging:
    """The overrides of a merging model. Stands before the provider's class."""

    __slots__ = ()

    def _convert_input(self, model_input: Any) -> PromptValue:
        if isinstance(model_input, Thread):
            return _ThreadPromptValue(thread=model_input)
        return cast(Any, super())._convert_input(model_input)

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        model = cast(Any, super())  # LangChain's
        if model._should_stream(async_api=async_api, run_manager=run_manager, **kwargs):
            return True
        return (
            async_api
            and current_call_sink() is not None
            and not model._streaming_disabled(**kwargs)
        )

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,  # not handed down: callbacks see merged chunks only
        **kwargs: Any,
    ) -> Chunks:
        window: Window = vars(self).get(_WINDOW, _no_window)
        stream_of = cast(Any, super())._astream
        sink = current_call_sink()
        if sink is not None and sink.is_immediate:
            # LangChain's name
            ours = StreamedChatModel._astream  # pyright: ignore[reportPrivateUsage]
            if stream_of.__func__ is ours:
                stream_of = cast(StreamedChatModel, self).pieces
            stream = _with_sink(stream_of(messages, stop=stop, **kwargs), sink)
        else:
            stream = _merged(stream_of(messages, stop=stop, run_manager=None, **kwargs), window)
            stream = stream if sink is None else _with_sink(stream, sink)
        with translate_errors(), _count_stream(window):
            async with aclosing(stream):
                async for chunk in stream:
                    yield chunk

    async def _agenerate_with_cache(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,  # as LangChain hands it on
        **kwargs: Any,
    ) -> ChatResult:
        inner = cast(Any, super())._agenerate_with_cache  # LangChain's
        with model_call(run_manager):
            return await inner(messages, stop=stop, run_manager=run_manager, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,  # the provider's class says what it wants here
        **kwargs: Any,
    ) -> ChatResult:
        inner = cast(Any, super())._agenerate  # of the provider's class, unknown here
        with translate_errors():
            return await inner(messages, stop=stop, run_manager=run_manager, **kwargs)


@cache
def _merging_class(base: type[BaseChatModel]) -> type[BaseChatModel]:
    """The provider's class with `_Merging` before it, under the same name."""
    names = {attribute: getattr(base, attribute) for attribute in _IDENTITY}
    return new_class(base.__name__, (_Merging, base), exec_body=lambda body: body.update(names))


async def _with_sink(
    source: AsyncGenerator[Piece], sink: CallSink
) -> AsyncGenerator[ChatGenerationChunk]:
    """Write each piece to the sink as it comes; yield all of them at the end, joined."""
    chunks: list[ChatGenerationChunk] = []
    texts: list[str] = []
    write_text = sink.text
    async with aclosing(source):
        if sink.is_immediate:
            await wait_for_stream_reader()
        async for piece in source:
            if isinstance(piece, str):
                write_text(piece)
                texts.append(piece)
                continue
            if isinstance(piece.message, AIMessageChunk):
                sink.chunk(piece.message)
            _end_text(texts, chunks)
            chunks.append(piece)
    _end_text(texts, chunks)
    for chunk in ChunkJoiner().join(chunks) if chunks else ():
        yield chunk


def _end_text(texts: list[str], chunks: list[ChatGenerationChunk]) -> None:
    """Append the running text as a chunk."""
    if texts:
        chunks.append(answer_chunk("".join(texts)))
        texts.clear()


def _merged(
    source: AsyncGenerator[ChatGenerationChunk], window: Window
) -> AsyncGenerator[ChatGenerationChunk]:
    return merge_stream(source, window) if window() > 0 else source


async def merge_stream(
    source: AsyncGenerator[ChatGenerationChunk], window: Window
) -> AsyncGenerator[ChatGenerationChunk]:
    """What `source` yields, joined so that about one chunk comes in each window.

    A task of its own reads the source, so that a chunk costs an append and no switch between
    tasks. An error of the source is raised after what came before it. When this generator is
    closed or cancelled, the source is closed before it returns.
    """
    loop = asyncio.get_running_loop()
    arrived = _Arrivals(loop)
    joiner = ChunkJoiner()
    pump = loop.create_task(_pump(source, arrived))
    try:
        while chunks := await arrived.take():
            arrived.window_ends = loop.time() + window()
            for chunk in joiner.join(chunks):
                yield chunk
    finally:
        if not pump.done():
            pump.cancel()
            await asyncio.wait({pump})
    if arrived.error is not None:
        raise arrived.error


async def _pump(source: AsyncGenerator[ChatGenerationChunk], arrived: _Arrivals) -> None:
    try:
        async with aclosing(source):
            async for chunk in source:
                arrived.put(chunk)
    except BaseException as error:
        arrived.end(error)
        if not isinstance(error, Exception):
            raise
    else:
        arrived.end(None)


class _Arrivals:
    """Chunks that came and were not handed on yet. One task puts, one takes."""

    __slots__ = ("_chunks", "_is_ended", "_loop", "_taker", "_timer", "error", "window_ends")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.error: BaseException | None = None
        self.window_ends = 0.0
        self._loop = loop
        self._chunks: list[ChatGenerationChunk] = []
        self._is_ended = False
        self._taker: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def put(self, chunk: ChatGenerationChunk) -> None:
        """Add a chunk. The first one of a window sees to it that the taker wakes at its end."""
        self._chunks.append(chunk)
        if self._taker is not None and self._timer is None:
            self._wake_in_time()

    def end(self, error: BaseException | None) -> None:
        """Nothing more will come."""
        self.error = error
        self._is_ended = True
        self._wake()

    async def take(self) -> list[ChatGenerationChunk]:
        """All that is here once the window is over or all has come; empty if nothing is left."""
        if not self._is_ended and not (self._chunks and self._loop.time() >= self.window_ends):
            await self._sleep()
        chunks, self._chunks = self._chunks, []
        return chunks

    async def _sleep(self) -> None:
        self._taker = self._loop.create_future()
        if self._chunks:
            self._wake_in_time()
        try:
            await self._taker
        finally:
            self._taker = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wake_in_time(self) -> None:
        if self._loop.time() >= self.window_ends:
            self._wake()
        else:
            self._timer = self._loop.call_at(self.window_ends, self._wake)

    def _wake(self) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)
