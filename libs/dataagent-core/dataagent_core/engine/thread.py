"""Repairs and summarises threads.

A cancelled or failed turn loses its partial text, forgets tools that had finished, and leaves calls
without results, which most providers refuse to continue from. `repair` puts all three right, so
that the next message goes on from what the user saw. `compact` summarises the older part of a
thread at its user's request, as deepagents does when a thread fills its model's window: the
messages stay in the thread and in the history, the model sees the summary.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncGenerator
from typing import Any

from deepagents.middleware.summarization import SUMMARIZATION_EVENT_KEY
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from dataagent_core.engine import graph as lg
from dataagent_core.engine.graph import Config, Graph
from dataagent_core.engine.translate import error_event
from dataagent_core.errors import StaleAttempt
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent
from dataagent_core.identity import RunContext
from dataagent_core.middleware import TokenCounter
from dataagent_core.middleware.upstream import Summarization

logger = logging.getLogger(__name__)
INTERRUPTED = "This call was stopped before it finished; it may have had effects."


async def repair(
    graph: Graph,
    config: Config,
    *,
    asked: HumanMessage | None = None,
    partial_text: str = "",
    partial_id: str | None = None,
    note: str = INTERRUPTED,
) -> None:
    """Complete the thread of a turn that was cut off. Never raises: the turn's own outcome matters.

    `asked` is added if the turn ended before its message reached the thread.
    """
    try:
        state = await lg.snapshot(graph, config)
        known = [*state.messages, *state.results, *state.unmerged]
        missing = missing_messages(known, asked, partial_text, partial_id, note)
        missing = [*state.unmerged, *missing]
        if state.has_finished:
            await lg.commit_finished(graph, config)
        if missing:
            await lg.add_messages(graph, config, missing)
    except StaleAttempt:
        logger.warning("thread %s is another process's now", config.get("configurable"))
    except Exception:
        logger.exception("could not repair thread %s", config.get("configurable"))


def missing_messages(
    messages: list[BaseMessage],
    asked: HumanMessage | None,
    partial_text: str,
    partial_id: str | None,
    note: str,
) -> list[BaseMessage]:
    """The messages that the thread lacks: the question, results of open calls, partial text."""
    missing: list[BaseMessage] = []
    if asked is not None and all(message.id != asked.id for message in messages):
        missing.append(asked)
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            if call["id"] not in answered:
                missing.append(
                    ToolMessage(
                        note,
                        id=str(uuid.uuid4()),
                        tool_call_id=call["id"] or "",
                        name=call["name"],
                        status="error",
                    )
                )
    if partial_text and all(message.id != partial_id for message in messages):
        missing.append(AIMessage(partial_text, id=partial_id))
    return missing


_NOTHING = "There is nothing to summarise: the conversation is its last turn already."
_DONE = (
    "{count} earlier messages are summarised: about {before:,} tokens became {after:,}. "
    "The history stays as you see it; the model goes on from this summary.\n\n{summary}"
)
_INTRODUCTION = "Here is a summary of the conversation to date:\n\n"


async def compact(
    graph: Graph, config: Config, summarization: Summarization, context: RunContext
) -> AsyncGenerator[AnyEvent]:
    """Summarise the thread and report it; the events end with a `DoneEvent`.

    When it fails or is stopped the thread is as it was, or it is summarised.
    """
    usage: dict[str, int] = {}
    if context.budget is not None:
        context.budget.reported = usage
    try:
        report = await _compact_thread(graph, config, summarization, usage)
    except Exception as error:
        yield error_event(error)
        yield DoneEvent(reason="failed", token_usage=usage or None)
        return
    yield TextEvent(content=report, is_final=True)
    yield DoneEvent(token_usage=usage or None)


async def _compact_thread(
    graph: Graph, config: Config, summarization: Summarization, usage: dict[str, int]
) -> str:
    """Summarise; returns the text for the user."""
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
