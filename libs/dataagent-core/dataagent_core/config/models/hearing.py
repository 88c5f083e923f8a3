"""What an agent's model says reaches the run at once, past LangChain and LangGraph.

A chunk of text costs LangChain's callbacks and LangGraph's stream about ten times what it costs the
model and the reader, and waits there while other runs have their turn. So whoever runs an agent may
`listen`: each chunk of the main agent's answer is handed to its ear as it comes, and the libraries
see the answer once, whole (`merge.py`). Sub-agents and models that tools ask are not heard: their
words go through the stream, which keeps them in order with what else they do.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import LC_ID_PREFIX, AIMessageChunk
from langgraph.constants import TAG_NOSTREAM

Ear = Callable[[AIMessageChunk, str], None]
"""Takes a chunk and the id its whole message will have."""

_MAIN_NODE = "model"
_ear: ContextVar[Ear | None] = ContextVar("ear", default=None)
_call: ContextVar[Any] = ContextVar("call", default=None)


def listen(ear: Ear) -> None:
    """Hear the main agent from now on, in this task and those it starts."""
    _ear.set(ear)


@contextmanager
def called_by(run_manager: Any) -> Generator[None]:  # LangChain's, for one call of a model
    """Say on whose behalf a model is called: only there LangChain knows."""
    token = _call.set(run_manager)
    try:
        yield
    finally:
        _call.reset(token)


def ear() -> Callable[[AIMessageChunk], None] | None:
    """Who hears the call under way; None when it is not the main agent's answer."""
    hear, call = _ear.get(), _call.get()
    if hear is None or call is None or not _is_the_answer(call.metadata or {}, call.tags or ()):
        return None
    message_id = f"{LC_ID_PREFIX}-{call.run_id}"
    return lambda chunk: hear(chunk, chunk.id or message_id)


def _is_the_answer(metadata: dict[str, Any], tags: Any) -> bool:
    return (
        metadata.get("langgraph_node") == _MAIN_NODE
        and "|" not in metadata.get("langgraph_checkpoint_ns", "|")
        and "lc_source" not in metadata
        and TAG_NOSTREAM not in tags
    )
