"""Produces the events of a run: an answer to its message, or a summary of its thread."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from dataagent_core.engine import AgentExecutor
from dataagent_core.engine.executor import Emit
from dataagent_core.events import AnyEvent
from dataagent_core.identity import RunContext
from dataagent_core.middleware.history import Summarization
from dataagent_core.runs.routing import with_route_note
from dataagent_core.runs.types import COMPACT, SPEAKER, Run


def run_events(
    run: Run,
    executor: AgentExecutor,
    context: RunContext,
    *,
    emit: Emit,
    set_speaker: Callable[[str], None],
    summarization: Callable[[str], Summarization],
    is_resumed: bool = False,
) -> AsyncGenerator[AnyEvent]:
    """The events of a run that begins, or resumes after an approval (`is_resumed`).

    `set_speaker` is called with the name of the agent before its first event, if one was chosen;
    `summarization` is called with what the summary should not leave out.

    Raises:
        Misconfigured: the agent's model is not available.
    """

    def on_agent_start() -> None:
        if SPEAKER in run.input:
            set_speaker(run.input[SPEAKER])

    if is_resumed:
        on_agent_start()
        return executor.resume(run.session_id, context, emit=emit)
    if COMPACT in run.input:
        return executor.compact(run.session_id, summarization(run.input[COMPACT]), context)
    events = executor.execute(
        run.input["message"],
        run.session_id,
        context,
        emit=emit,
        files=run.input.get("files", ()),
    )
    return with_route_note(run, executor, events, on_agent_start=on_agent_start)


async def record_interrupted_run(run: Run, executor: AgentExecutor, partial_text: str) -> None:
    """Record the visible part of an interrupted run in its thread."""
    if COMPACT not in run.input:
        files = run.input.get("files", ())
        await executor.record_interrupted_turn(
            run.input["message"], partial_text, run.session_id, files=files
        )
