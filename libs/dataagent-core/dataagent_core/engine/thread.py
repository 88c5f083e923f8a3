"""How a thread's messages take in new ones, quickly.

Deepagents' reducer builds an index of the whole thread at every step, several times a turn; in a
conversation of hundreds of messages that is the largest part of what grows. Nearly always new
messages are just appended; everything else is left to the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deepagents._messages_reducer import (  # pyright: ignore[reportMissingTypeStubs] a private module: a test notices if it moves
    _messages_delta_reducer,  # pyright: ignore[reportPrivateUsage] what it stands in for
)
from langchain_core.messages import BaseMessage, RemoveMessage

from dataagent_core.engine.graph import Graph, message_channel


def quicken(graph: Graph) -> Graph:
    """The graph, with its message channel appending where appending is all there is to do."""
    channel = message_channel(graph)
    if channel.reducer is _messages_delta_reducer:
        channel.reducer = reduce_messages
    return graph


def reduce_messages(
    state: list[BaseMessage] | None, writes: Sequence[Any]
) -> list[Any]:  # messages, or what the original makes of them
    """The thread after some writes: the same as the original, sooner."""
    new: list[Any] = []
    for write in writes:
        new += write if isinstance(write, list) else [write]  # pyright: ignore[reportUnknownArgumentType] anything a node writes
    known = {message.id for message in state or ()}
    for message in new:
        if (
            not isinstance(message, BaseMessage)
            or isinstance(message, RemoveMessage)
            or message.id is None
            or message.id in known
        ):
            return list(_messages_delta_reducer(state, list(writes)))  # pyright: ignore[reportArgumentType] its own types are narrower than its code
        known.add(message.id)
    return [*(state or ()), *new]
