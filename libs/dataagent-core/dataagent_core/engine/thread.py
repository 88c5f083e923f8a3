"""How a thread's messages take in new ones, quickly.

Deepagents' reducer builds an index of the whole thread at every step, several times a turn; in a
conversation of hundreds of messages that is the largest part of what grows. Nearly always new
messages are just appended; everything else is left to the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# a private module: a test notices if it moves
from deepagents._messages_reducer import (  # pyright: ignore[reportMissingTypeStubs]
    _messages_delta_reducer,  # pyright: ignore[reportPrivateUsage] what it stands in for
)
from langchain_core.messages import BaseMessage, RemoveMessage

from dataagent_core.engine.graph import Graph, message_channel
from dataagent_core.models.thread import Thread


def use_fast_reducer(graph: Graph) -> Graph:
    """The graph, with its message channel appending where appending is all there is to do."""
    channel = message_channel(graph)
    if channel.reducer is _messages_delta_reducer:
        channel.reducer = reduce_messages
    return graph


def reduce_messages(state: list[Any] | None, writes: Sequence[Any]) -> Thread:
    """The thread after some writes: the same as the original, sooner."""
    thread = state if isinstance(state, Thread) else Thread(state or ())
    new: list[Any] = []
    for write in writes:
        # anything a node writes
        new += write if isinstance(write, list) else [write]
    fresh = {message.id for message in new if _is_appended(message)}
    if len(fresh) < len(new) or any(thread.has(message_id) for message_id in fresh):
        # its own types are narrower than its code
        return Thread(_messages_delta_reducer(list(thread), list(writes)))
    return thread.with_messages(new)


def _is_appended(message: Any) -> bool:
    return (
        isinstance(message, BaseMessage)
        and not isinstance(message, RemoveMessage)
        and message.id is not None
    )
