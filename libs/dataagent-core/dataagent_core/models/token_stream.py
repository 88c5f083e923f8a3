"""What an agent's model says reaches the run past LangChain's callbacks.

A chunk of text costs LangChain's callbacks and LangGraph's stream of messages about ten times what
it costs the model and the reader, and waits there while other runs have their turn. So whoever runs
an agent does `set_token_sink`: each chunk of the main agent's answer is handed to its ear as it
comes, and the libraries see the answer once, whole (`merge.py`). What sub-agents say is
`SubagentChunk`: it goes through the graph's stream, which keeps it in order with what else they do;
so does the main agent's answer where there is no ear. Models that tools ask are not heard.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from langchain_core.messages import LC_ID_PREFIX, AIMessageChunk
from langgraph.constants import TAG_NOSTREAM


class TokenSink(Protocol):
    """Hears the main agent's model; `message_id` is the one its whole message will have."""

    def write_text(self, message_id: str, text: str) -> None:
        """Plain text of the answer: most of what is said is nothing else."""
        ...

    def write_chunk(self, message_id: str, chunk: AIMessageChunk) -> None:
        """Anything else."""
        ...


@dataclass(frozen=True, slots=True)
class SubagentChunk:
    """A chunk that goes through the stream; `agent` is the sub-agent that says it."""

    agent: str | None
    message_id: str
    chunk: AIMessageChunk


CatchUp = Callable[[], Awaitable[None]]
"""Waits until the reader of the stream has taken everything that came before."""

_MODEL_NODE = "model"


@dataclass(frozen=True, slots=True)
class _SinkState:
    token_sink: TokenSink | None
    tell: Callable[[SubagentChunk], None]
    depth: int
    catch_up: CatchUp | None


_listener: ContextVar[_SinkState | None] = ContextVar("listener", default=None)
_call: ContextVar[Any] = ContextVar("call", default=None)


def set_token_sink(
    token_sink: TokenSink | None,
    tell: Callable[[SubagentChunk], None],
    *,
    depth: int = 0,
    catch_up: CatchUp | None = None,
) -> None:
    """Hear the agents' models from now on, in this task and those it starts.

    What the `token_sink` does not get is told to the stream. `depth` says how many graphs stand
    around the main agent. A graph that stands in another does not wait for the reader between its
    steps as the outermost does; `catch_up` does, before it is heard.
    """
    _listener.set(_SinkState(token_sink, tell, depth, catch_up))


@contextmanager
def model_call(run_manager: Any) -> Generator[None]:  # LangChain's, for one call of a model
    """Say on whose behalf a model is called: only there LangChain knows."""
    token = _call.set(run_manager)
    try:
        yield
    finally:
        _call.reset(token)


@dataclass(frozen=True, slots=True)
class CallSink:
    """Who hears one call of a model; `is_immediate`: before the stream's reader has a say."""

    text: Callable[[str], None]
    chunk: Callable[[AIMessageChunk], None]
    is_immediate: bool


def current_call_sink() -> CallSink | None:
    """Who hears the call under way; None when it is not an agent's answer, or nobody listens."""
    listener, call = _listener.get(), _call.get()
    if listener is None or call is None:
        return None
    metadata: dict[str, Any] = call.metadata or {}
    if not _is_an_answer(metadata, call.tags or ()):
        return None
    message_id = f"{LC_ID_PREFIX}-{call.run_id}"
    level = metadata.get("langgraph_checkpoint_ns", "").count("|") - listener.depth
    if level == 0 and listener.token_sink is not None:
        return _direct_sink(listener.token_sink, message_id)
    return _stream_sink(
        listener.tell, metadata.get("lc_agent_name") if level > 0 else None, message_id
    )


def _direct_sink(hearing: TokenSink, message_id: str) -> CallSink:
    return CallSink(
        partial(hearing.write_text, message_id),
        lambda chunk: hearing.write_chunk(chunk.id or message_id, chunk),
        is_immediate=True,
    )


def _stream_sink(
    tell: Callable[[SubagentChunk], None], agent: str | None, message_id: str
) -> CallSink:
    def chunk(said: AIMessageChunk) -> None:
        # a copy: the chunk is used up while it waits for the reader (`join.py`)
        tell(SubagentChunk(agent, said.id or message_id, said.model_copy()))

    return CallSink(lambda text: chunk(AIMessageChunk(content=text)), chunk, is_immediate=False)


async def wait_for_stream_reader() -> None:
    """Wait for the reader before the first word of an answer, where that is needed."""
    listener = _listener.get()
    if listener is not None and listener.catch_up is not None:
        await listener.catch_up()


def _is_an_answer(metadata: dict[str, Any], tags: Any) -> bool:
    return (
        metadata.get("langgraph_node") == _MODEL_NODE
        and "lc_source" not in metadata
        and TAG_NOSTREAM not in tags
    )
