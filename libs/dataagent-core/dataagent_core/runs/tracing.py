"""Traces a run: its user, the request that started it, and how it ended.

The request's position in its trace is stored with the run, so that a process which takes the run
over continues the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from dataagent_core.engine import Suspended
from dataagent_core.events import DoneEvent
from dataagent_core.runs.answer import AnswerBuilder, ending_of
from dataagent_core.runs.types import Ending, NewRun, Run
from dataagent_core.telemetry import CANCELLED, RunTrace, Traces

_TRACEPARENT = "traceparent"
EndRecorder = Callable[[DoneEvent], DoneEvent]


def with_traceparent(new: NewRun, traces: Traces) -> NewRun:
    """The run with its position in the trace of the current request, if there is one."""
    traceparent = traces.traceparent
    if traceparent is None:
        return new
    return replace(new, input={**new.input, _TRACEPARENT: traceparent})


@contextmanager
def trace_run(traces: Traces, run: Run, answer: AnswerBuilder) -> Generator[EndRecorder]:
    """Trace the work on a run; call the yielded function with its end."""
    trace = RunTrace(
        run_id=run.run_id,
        session_id=run.session_id,
        user_id=run.user_id,
        agent=run.assistant_id,
        message=str(run.input.get("message", "")),
        traceparent=run.input.get(_TRACEPARENT),
    )

    with traces.run(trace, passing=(Suspended,)) as followed:

        def record_end(done: DoneEvent) -> DoneEvent:
            if followed is not None:
                _record_end(trace, ending_of(answer, done))
            return done

        yield record_end


def _record_end(trace: RunTrace, ending: Ending) -> None:
    trace.answer = ending.content
    trace.usage = ending.token_usage or {}
    if ending.status == "failed":
        trace.failure = str((ending.error or {}).get("error_code") or ending.status)
    elif ending.status == "cancelled":
        trace.failure = CANCELLED
