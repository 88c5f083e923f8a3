"""Puts the older part of a thread in short because its user asks for it.

Deepagents does so by itself when a thread fills its model's window; this is the same, at once. The
messages stay in the thread and in the history: what changes is what the model sees of them. Above:
`executor.py`. Below: `middleware/history.py`, `graph.py`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from deepagents.middleware.summarization import SUMMARIZATION_EVENT_KEY
from langchain_core.callbacks import get_usage_metadata_callback

from dataagent_core.engine import graph as lg
from dataagent_core.engine.failures import error_event
from dataagent_core.engine.graph import Config, Graph
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent
from dataagent_core.identity import RunContext
from dataagent_core.middleware import TokenCounter
from dataagent_core.middleware.history import Summarization

_NOTHING = "There is nothing to summarise: the conversation is its last turn already."
_DONE = (
    "{count} earlier messages are summarised: about {before:,} tokens became {after:,}. "
    "The history stays as you see it; the model goes on from this summary.\n\n{summary}"
)
_INTRODUCTION = "Here is a summary of the conversation to date:\n\n"


async def compact(
    graph: Graph, config: Config, summarization: Summarization, context: RunContext
) -> AsyncGenerator[AnyEvent]:
    """Put the thread in short and say so; the events end with a `DoneEvent`.

    Whatever goes wrong, and whoever stops it: the thread is as it was, or it is in short.
    """
    usage: dict[str, int] = {}
    if context.budget is not None:
        context.budget.reported = usage
    try:
        told = await _compact_thread(graph, config, summarization, usage)
    except Exception as error:
        yield error_event(error)
        yield DoneEvent(reason="failed", token_usage=usage or None)
        return
    yield TextEvent(content=told, is_final=True)
    yield DoneEvent(token_usage=usage or None)


async def _compact_thread(
    graph: Graph, config: Config, summarization: Summarization, usage: dict[str, int]
) -> str:
    """Do it; what its user is told."""
    thread = await lg.values(graph, config)
    messages = list(thread.get("messages", ()))
    before = thread.get(SUMMARIZATION_EVENT_KEY)
    with get_usage_metadata_callback() as counted:
        try:
            event = await summarization.summarise(messages, before)
        finally:
            _add_up(usage, counted.usage_metadata)
    if event is None:
        return _NOTHING
    await lg.write(graph, config, {SUMMARIZATION_EVENT_KEY: event})
    count = TokenCounter()
    return _DONE.format(
        count=event["cutoff_index"] - (before["cutoff_index"] if before else 0),
        before=count(summarization.visible_messages(messages, before)),
        after=count(summarization.visible_messages(messages, event)),
        summary=event["summary_message"].text.removeprefix(_INTRODUCTION),
    )


def _add_up(usage: dict[str, int], counted: dict[str, Any]) -> None:
    for name in ("input_tokens", "output_tokens", "total_tokens"):
        total = sum(int(each.get(name, 0)) for each in counted.values())
        if total:
            usage[name] = total
