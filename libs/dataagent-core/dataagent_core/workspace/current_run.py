"""The run we are in, as the graph that executes it knows it."""

from __future__ import annotations

from langgraph.runtime import get_runtime

from dataagent_core.errors import Misconfigured
from dataagent_core.identity import RunContext


def run_context() -> RunContext:
    """The context of the graph run we are in.

    Raises:
        Misconfigured: there is none; the graph was started without `context=RunContext(…)`.
    """
    context = current_run()
    if context is None:
        raise Misconfigured("This needs a run: start the graph with context=RunContext(…).")
    return context


def current_run() -> RunContext | None:
    """The context of the run we are in; None outside of any."""
    try:
        context = get_runtime(RunContext).context
    except (RuntimeError, AttributeError):
        return None
    return _checked(context)


def _checked(context: object) -> RunContext | None:
    """A graph may have been started with any context."""
    return context if isinstance(context, RunContext) else None
