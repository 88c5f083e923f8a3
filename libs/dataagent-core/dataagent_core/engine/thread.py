"""Changes to a thread beside those of its graph: repair after an interruption, and summaries.

A cancelled or failed turn loses its partial text and the results of tools that had finished, and
leaves calls without results, which most providers refuse to continue from. `repair` adds all three,
so that the next message continues from what the user saw.

`compact` summarises the older part of a thread, as deepagents does when a thread fills its model's
window. The messages stay in the thread and in the history; the model sees the summary instead.

`use_fast_reducer` replaces deepagents' reducer of messages where new messages are just appended:
the original builds an index of the whole thread several times a turn, which is the largest part of
the cost of a long conversation.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from deepagents._messages_reducer import (  # pyright: ignore[reportMissingTypeStubs]
    _messages_delta_reducer,  # pyright: ignore[reportPrivateUsage] what it stands in for
)
from deepagents.middleware.summarization import SUMMARIZATION_EVENT_KEY
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage

from dataagent_core.engine import graph as lg
from dataagent_core.engine.graph import Config, Graph, message_channel
from dataagent_core.engine.translate import error_event
from dataagent_core.errors import StaleAttempt
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent
from dataagent_core.identity import RunContext
from dataagent_core.middleware import TokenCounter
from dataagent_core.middleware.history import Summarization
from dataagent_core.models.messages import Thread

logger = logging.getLogger(__name__)
INTERRUPTED = "This call was stopped before it finished; it may have had effects."


def use_fast_reducer(graph: Graph) -> Graph:
    """The graph, with a message channel that appends where that is enough."""
    channel = message_channel(graph)
    if channel.reducer is _messages_delta_reducer:
        channel.reducer = reduce_messages
    return graph


def reduce_messages(state: list[Any] | None, writes: Sequence[Any]) -> Thread:
    """The thread after some writes, as the original reducer returns it."""
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


async def repair(
    graph: Graph,
    config: Config,
    *,
    question: HumanMessage | None = None,
    partial_text: str = "",
    partial_id: str | None = None,
    note: str = INTERRUPTED,
) -> None:
    """Complete the thread of an interrupted turn. Never raises: the turn's outcome matters more.

    `question` is added if the turn ended before its message reached the thread; open calls get
    `note` as their result.
    """
    try:
        state = await lg.snapshot(graph, config)
        known = [*state.messages, *state.results, *state.unmerged]
        missing = missing_messages(known, question, partial_text, partial_id, note)
        missing = [*state.unmerged, *missing]
        if state.has_finished:
            await lg.commit_finished(graph, config)
        if missing:
            await lg.add_messages(graph, config, missing)
    except StaleAttempt:
        logger.warning("thread %s is owned by another process now", config.get("configurable"))
    except Exception:
        logger.exception("could not repair thread %s", config.get("configurable"))


def missing_messages(
    messages: list[BaseMessage],
    question: HumanMessage | None,
    partial_text: str,
    partial_id: str | None,
    note: str,
) -> list[BaseMessage]:
    """The messages that a thread lacks: question, results of open calls, text seen so far."""
    missing: list[BaseMessage] = []
    if question is not None and all(message.id != question.id for message in messages):
        missing.append(question)
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
    "The history stays as you see it; the model continues from this summary.\n\n{summary}"
)
_INTRODUCTION = "Here is a summary of the conversation to date:\n\n"


async def compact(
    graph: Graph, config: Config, summarization: Summarization, context: RunContext
) -> AsyncGenerator[AnyEvent]:
    """Summarise the thread and report it; the events end with a `DoneEvent`.

    If it fails or is stopped, the thread is unchanged.
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
    """Write the summary to the thread; return the report for the user."""
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
