"""Routes a message to the supervisor by rule, before the run is stored.

The decision is stored in the run's input, so it survives a restart. A run that a rule gave to an
agent is that agent's run, as if the user had chosen it; its readers also see a note.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from dataagent_core.agents import SUPERVISOR, AgentRegistry
from dataagent_core.agents.routing import choose
from dataagent_core.engine import AgentExecutor
from dataagent_core.engine.failures import error_event
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent, ThinkingEvent
from dataagent_core.runs.types import Run
from dataagent_core.skills import split_command

_ROUTE = "route"


def decide_route(
    assistant_id: str,
    message: str,
    *,
    file_ids: Sequence[str],
    skill: str | None,
    agents: AgentRegistry | None,
) -> tuple[str, dict[str, Any]]:
    """The assistant that answers a run, and the decision as input of the run."""
    if assistant_id != SUPERVISOR or agents is None:
        return assistant_id, {}
    if skill is None and message.startswith("/") and (typed := split_command(message)):
        skill = typed[0]
    route = choose(message, file_ids=file_ids, skill=skill, agents=agents.known())
    if route is None:
        return assistant_id, {}
    kept = {_ROUTE: {"rule": route.rule, "note": route.note, "is_known": route.agent is not None}}
    return route.agent or assistant_id, kept


def with_route_note(
    run: Run,
    executor: AgentExecutor,
    events: AsyncGenerator[AnyEvent],
    *,
    on_agent_start: Callable[[], None],
) -> AsyncGenerator[AnyEvent]:
    """The run's events, preceded by a note of the rule's decision.

    `on_agent_start` is called right before the agent's own first event.
    """
    route: dict[str, Any] | None = run.input.get(_ROUTE)
    if route is None:
        on_agent_start()
        return events
    if not route["is_known"]:
        return _reply_with_note(run, executor, route["note"])
    return _prepend_note(route["note"], events, on_agent_start)


async def failure_events(error: Exception) -> AsyncGenerator[AnyEvent]:
    """The events of a run whose agent could not be built."""
    yield error_event(error)
    yield DoneEvent(reason="failed")


async def _prepend_note(
    note: str, events: AsyncGenerator[AnyEvent], on_agent_start: Callable[[], None]
) -> AsyncGenerator[AnyEvent]:
    yield ThinkingEvent(content=note)
    on_agent_start()
    async with aclosing(events) as following:
        async for event in following:
            yield event


async def _reply_with_note(
    run: Run, executor: AgentExecutor, answer: str
) -> AsyncGenerator[AnyEvent]:
    """Answer with the note alone, and record question and answer in the thread."""
    yield TextEvent(content=answer, is_final=True)
    files = run.input.get("files", ())
    await executor.record_interrupted_turn(
        run.input["message"], answer, run.session_id, files=files
    )
    yield DoneEvent()
