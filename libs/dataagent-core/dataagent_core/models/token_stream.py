"""Passes the text of agents' models into the stream of the run's graph, chunk by chunk.

A chunk costs LangChain's callbacks and LangGraph's stream of messages about ten times what it costs
the model and the reader. So chunks go into the graph's custom stream past them, in order with the
run's other events, and the libraries see the answer once, whole (`merge.py`). Only agents' answers
are streamed, not those of models that tools and middleware call.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import LC_ID_PREFIX, AIMessageChunk
from langgraph.config import get_stream_writer
from langgraph.constants import TAG_NOSTREAM

_MODEL_NODE = "model"
_depth: ContextVar[int | None] = ContextVar("depth", default=None)
_call: ContextVar[Any] = ContextVar("call", default=None)


@dataclass(frozen=True, slots=True)
class ModelText:
    """Text of a model in the stream of a run; `agent` is the sub-agent's name."""

    agent: str | None
    message_id: str
    text: str
    thinking: str = ""


def stream_answers(*, depth: int = 0) -> None:
    """Stream the answers of agents' models from now on, in this task and those it starts.

    `depth` says how many graphs stand around the main agent.
    """
    _depth.set(depth)


@contextmanager
def model_call(run_manager: Any) -> Generator[None]:  # LangChain's, for one call of a model
    """Note for whom a model is called: only there LangChain knows."""
    token = _call.set(run_manager)
    try:
        yield
    finally:
        _call.reset(token)


@dataclass(frozen=True, slots=True)
class AnswerStream:
    """The stream of the answer that a model is called for."""

    agent: str | None
    message_id: str

    def text_of(self, chunk: AIMessageChunk) -> ModelText:
        """The text and thinking of a chunk."""
        message_id = chunk.id or self.message_id
        return ModelText(self.agent, message_id, str(chunk.text), _reasoning(chunk))

    def write(self, chunk: AIMessageChunk) -> None:
        """Put the text of a chunk into the run's stream, from inside a node."""
        text = self.text_of(chunk)
        if text.text or text.thinking:
            get_stream_writer()(text)


def current_answer_stream() -> AnswerStream | None:
    """The stream for the current call; None if it is no agent's answer or nothing is streamed."""
    depth, call = _depth.get(), _call.get()
    if depth is None or call is None:
        return None
    metadata: dict[str, Any] = call.metadata or {}
    if not _is_an_answer(metadata, call.tags or ()):
        return None
    is_subagent = metadata.get("langgraph_checkpoint_ns", "").count("|") > depth
    agent = metadata.get("lc_agent_name") if is_subagent else None
    return AnswerStream(agent, f"{LC_ID_PREFIX}-{call.run_id}")


def _is_an_answer(metadata: dict[str, Any], tags: Any) -> bool:
    return (
        metadata.get("langgraph_node") == _MODEL_NODE
        and "lc_source" not in metadata
        and TAG_NOSTREAM not in tags
    )


def _reasoning(chunk: AIMessageChunk) -> str:
    """Reasoning text, as OpenAI-compatible servers or content blocks carry it."""
    # provider-specific
    extra: Any = chunk.additional_kwargs  # pyright: ignore[reportUnknownMemberType]
    if "reasoning_content" in extra:
        return str(extra["reasoning_content"] or "")
    content: Any = chunk.content  # pyright: ignore[reportUnknownMemberType] text or blocks
    if isinstance(content, str):
        return ""
    # blocks of any shape
    return "".join(_thinking_blocks(content))  # pyright: ignore[reportUnknownArgumentType]


def _thinking_blocks(blocks: Iterable[Any]) -> Iterator[str]:
    for block in blocks:
        match block:
            case {"type": "thinking" | "reasoning", **rest}:
                yield str(rest.get("thinking") or rest.get("reasoning") or "")
            case _:
                pass
