"""How a process ends: with last words that say why, and in time, whatever it waits for.

The orderly end is elsewhere (`serve.py`, the core's exit stack) and has its own time-outs.
`force_exit_when_overdue` is for what they do not reach: a library's thread that never comes back, a
task that takes no cancellation. What the process waited for is then in its log.
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
"""How long the end may take: a little less than the 30 seconds after which others use force."""
_TOLD_BEFORE_SECONDS = 1.0
_STDERR = 2  # the descriptor: it is there whatever became of the object
_HINTS: dict[type[DataAgentError], str] = {
    Misconfigured: "`dataagent-server doctor` looks at all settings and says what is missing.",
    Unavailable: "`dataagent-server doctor` says which part does not answer.",
    NotFound: "the `list` command beside it shows what there is.",
    BadInput: "`--help` after the command shows what it takes.",
}
_USUAL_HINT = "`dataagent-server --help` lists the commands."


def error_text(error: DataAgentError) -> str:
    """The last words of a program that one of our errors ends: a sentence and what to do."""
    own = (error.details or {}).get("hint")
    usual = (_HINTS[kind] for kind in type(error).__mro__ if kind in _HINTS)
    return failure_text(error.message, str(own or next(usual, _USUAL_HINT)))


def failure_text(message: str, hint: str) -> str:
    """What a program that fails writes to stderr."""
    return f"dataagent-server: {message}\nhint: {hint}"


def force_exit_when_overdue() -> None:
    """Have the process end by itself, or be ended; for whoever hears the signal, on the loop."""
    faulthandler.dump_traceback_later(FORCED_EXIT_SECONDS, exit=True, file=_STDERR)
    loop = asyncio.get_running_loop()
    loop.call_later(FORCED_EXIT_SECONDS - _TOLD_BEFORE_SECONDS, _log_remaining_tasks, loop)


def _log_remaining_tasks(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop)
    logger.error("the end waits for %d tasks", len(left))
    for task in left:
        where = " > ".join(_await_chain(task.get_coro()))
        logger.error("the end waits for %s at %s", task.get_name(), where)


def _await_chain(coroutine: Any) -> Generator[str]:  # Any: whatever can be awaited
    """Where a coroutine stands, from the outside in."""
    while inspect.iscoroutine(coroutine) and coroutine.cr_frame is not None:
        yield f"{coroutine.cr_code.co_qualname}:{coroutine.cr_frame.f_lineno}"
        coroutine = coroutine.cr_await
