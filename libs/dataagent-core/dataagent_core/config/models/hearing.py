"""What an agent's model says reaches the run at once, past LangChain and LangGraph.

A chunk of text costs LangChain's callbacks and LangGraph's stream about ten times what it costs the
model and the reader, and waits there while other runs have their turn. So whoever runs an agent may
`listen`: each chunk of the main agent's answer is handed to its ear as it comes, and the libraries
see the answer once, whole (`merge.py`). Sub-agents and models that tools ask are not heard: their
words go through the stream, which keeps them in order with what else they do.
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


class Ear(Protocol):
    """Hears the main agent's model; `message_id` is the one its whole message will have."""

    def hear_text(self, message_id: str, text: str) -> None:
        """Plain text of the answer: most of what is said is nothing else."""
        ...

    def hear_chunk(self, message_id: str, chunk: AIMessageChunk) -> None:
        """Anything else."""
        ...


CatchUp = Callable[[], Awaitable[None]]
"""Waits until the reader of the stream has taken everything that came before."""

_MAIN_NODE = "model"


@dataclass(frozen=True, slots=True)
class _Listener:
    ear: Ear
    depth: int
    catch_up: CatchUp | None


_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)
_call: ContextVar[Any] = ContextVar("call", default=None)


def listen(ear: Ear, *, depth: int = 0, catch_up: CatchUp | None = None) -> None:
    """Hear the main agent from now on, in this task and those it starts.

    `depth` says how many graphs stand around it. A graph that stands in another does not wait for
    the reader between its steps as the outermost does; `catch_up` does, before it is heard.
    """
    _listener.set(_Listener(ear, depth, catch_up))


@contextmanager
def called_by(run_manager: Any) -> Generator[None]:  # LangChain's, for one call of a model
    """Say on whose behalf a model is called: only there LangChain knows."""
    token = _call.set(run_manager)
    try:
        yield
    finally:
        _call.reset(token)


@dataclass(frozen=True, slots=True)
class Heard:
    """Who hears one call of a model."""

    text: Callable[[str], None]
    chunk: Callable[[AIMessageChunk], None]


def ear() -> Heard | None:
    """Who hears the call under way; None when it is not the main agent's answer."""
    listener, call = _listener.get(), _call.get()
    if listener is None or call is None:
        return None
    if not _is_the_answer(call.metadata or {}, call.tags or (), listener.depth):
        return None
    hearing, message_id = listener.ear, f"{LC_ID_PREFIX}-{call.run_id}"
    return Heard(
        partial(hearing.hear_text, message_id),
        lambda chunk: hearing.hear_chunk(chunk.id or message_id, chunk),
    )


async def in_order() -> None:
    """Wait for the reader before the first word of an answer, where that is needed."""
    listener = _listener.get()
    if listener is not None and listener.catch_up is not None:
        await listener.catch_up()


def _is_the_answer(metadata: dict[str, Any], tags: Any, depth: int) -> bool:
    return (
        metadata.get("langgraph_node") == _MAIN_NODE
        and metadata.get("langgraph_checkpoint_ns", "|||").count("|") == depth
        and "lc_source" not in metadata
        and TAG_NOSTREAM not in tags
    )
