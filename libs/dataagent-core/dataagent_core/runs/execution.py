"""What a run asks of its agent: an answer to a message, or that its thread is put in short.

Above: `worker.py`, which carries it out. Below: `engine/`, `routing.py`.
"""

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
    """The events of a run that begins, or goes on after it waited for a person (`is_resumed`).

    `set_speaker` is told the name of the agent that answers before it says anything, if it was
    chosen; `summarization` is asked with what is to be kept.

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
    """Put a run that was cut off into its thread, as far as it was seen."""
    if COMPACT not in run.input:
        files = run.input.get("files", ())
        await executor.record_interrupted_turn(
            run.input["message"], partial_text, run.session_id, files=files
        )
