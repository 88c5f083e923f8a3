"""The context of the run that executes the current graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from dataagent_core.errors import Misconfigured
from dataagent_core.identity import RunContext

DEFAULT: Final = "default"
"""The user of a graph without a run."""


def run_context() -> RunContext:
    """Return the context of the current graph run.

    Raises:
        Misconfigured: there is none; the graph was started without `context=RunContext(…)`.
    """
    context = current_run()
    if context is None:
        raise Misconfigured("This needs a run: start the graph with context=RunContext(…).")
    return context


def current_run() -> RunContext | None:
    """Return the context of the current run; None outside of a run."""
    try:
        context = get_runtime(RunContext).context
    except (RuntimeError, AttributeError):
        return None
    return _checked(context)


def run_or_default() -> RunContext:
    """Return the context of the current run; in a graph without one, that of the user `default`.

    For middlewares in graphs that are not ours, which know no users: their thread is the session.
    """
    context = current_run()
    if context is not None:
        return context
    try:
        configurable: Mapping[str, Any] = get_config().get("configurable") or {}
    except RuntimeError:
        configurable = {}
    session_id = str(configurable.get("thread_id") or DEFAULT)
    return RunContext(DEFAULT, session_id, run_id=session_id, assistant_id="agent")


def _checked(context: object) -> RunContext | None:
    """Check the context's type: a graph may have been started with any."""
    return context if isinstance(context, RunContext) else None
