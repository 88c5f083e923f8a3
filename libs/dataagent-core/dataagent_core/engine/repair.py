"""Leaves a thread usable after its turn was cut off.

A cancelled or failed turn loses its partial text, forgets tools that had finished, and leaves
calls without results, which most providers refuse to continue from. `repair` puts all three right,
so that the next message goes on from what the user saw.
"""

from __future__ import annotations

import logging
import uuid

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from dataagent_core.engine import graph as lg
from dataagent_core.engine.graph import Config, Graph
from dataagent_core.errors import StaleAttempt

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
    """Close the thread's open ends. Never raises: the turn's own outcome matters more.

    `asked` is put in if the turn ended before its message reached the thread.
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
    """What the thread lacks: the question, results for open calls, the text seen so far."""
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
