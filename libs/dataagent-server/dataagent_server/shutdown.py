"""Ends a process: with a message that says why, and in time, whatever it waits for.

The orderly end (`serve.py`, the core's exit stack) has time limits of its own.
`force_exit_when_overdue` covers what those do not reach: a library's thread that never returns, a
task that ignores cancellation. The log then says what the process waited for.
"""

from __future__ import annotations

import asyncio
import faulthandler
import inspect
import logging
from collections.abc import Generator
from typing import Any

from dataagent_core.errors import BadInput, DataAgentError, Misconfigured, NotFound, Unavailable

logger = logging.getLogger(__name__)
FORCED_EXIT_SECONDS = 29.0
"""How long the exit may take: a little less than the usual 30 seconds before SIGKILL."""
_WARNING_SECONDS = 1.0
_STDERR = 2  # the descriptor, which outlives `sys.stderr`
_HINTS: dict[type[DataAgentError], str] = {
    Misconfigured: "`dataagent-server doctor` checks all settings and says what is missing.",
    Unavailable: "`dataagent-server doctor` says which part does not answer.",
    NotFound: "the `list` command shows what exists.",
    BadInput: "`--help` after the command shows its arguments.",
}
_USUAL_HINT = "`dataagent-server --help` lists the commands."


def error_text(error: DataAgentError) -> str:
    """What a program prints when an error ends it: a sentence and a hint."""
    own = (error.details or {}).get("hint")
    usual = (_HINTS[kind] for kind in type(error).__mro__ if kind in _HINTS)
    return failure_text(error.message, str(own or next(usual, _USUAL_HINT)))


def failure_text(message: str, hint: str) -> str:
    """What a failing program writes to stderr."""
    return f"dataagent-server: {message}\nhint: {hint}"


def force_exit_when_overdue() -> None:
    """Exit by force at the deadline; called on the loop when a signal arrives."""
    faulthandler.dump_traceback_later(FORCED_EXIT_SECONDS, exit=True, file=_STDERR)
    loop = asyncio.get_running_loop()
    loop.call_later(FORCED_EXIT_SECONDS - _WARNING_SECONDS, _log_remaining_tasks, loop)


def _log_remaining_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    logger.error("shutdown waits for %d tasks", len(tasks))
    for task in tasks:
        where = " > ".join(_await_chain(task.get_coro()))
        logger.error("shutdown waits for %s at %s", task.get_name(), where)


def _await_chain(coroutine: Any) -> Generator[str]:  # Any: any awaitable
    """Where a coroutine stands, from the outside in."""
    while inspect.iscoroutine(coroutine) and coroutine.cr_frame is not None:
        yield f"{coroutine.cr_code.co_qualname}:{coroutine.cr_frame.f_lineno}"
        coroutine = coroutine.cr_await
