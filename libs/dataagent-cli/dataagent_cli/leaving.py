"""How the process ends: with its work done, or by Ctrl-C while it still loads.

Used before anything else is imported, so it imports little itself. Above: `main.py`. What Ctrl-C
means once something is under way is in `interrupts.py`.
"""

from __future__ import annotations

import os
import sys

from dataagent_cli import exits

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from typing import NoReturn

    from dataagent_cli.early_prompt import EarlyPrompt


def leave(code: int) -> NoReturn:
    """End the process. All is closed; to take its objects apart one by one would help nobody."""
    import atexit

    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] what os._exit would leave out
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, full, or nobody reads any more
            code = code or exits.FAILED
    os._exit(code)


def interrupt_at_once(early: EarlyPrompt | None = None) -> None:
    """Let Ctrl-C end the process while it loads, when nothing is begun that could be lost.

    An import that is broken off may leave its lock behind, or fail with an error of its own.
    """
    import signal

    def interrupted(*_: object) -> None:
        if early is not None:
            early.abandon()
        os._exit(exits.INTERRUPTED)

    signal.signal(signal.SIGINT, interrupted)


def is_interrupted_at_once() -> bool:
    """Whether Ctrl-C would end the process here and now."""
    import signal

    return getattr(signal.getsignal(signal.SIGINT), "__module__", None) == __name__


def interrupt_in_order() -> None:
    """Leave Ctrl-C to the event loop, which is about to start."""
    if is_interrupted_at_once():
        import signal

        signal.signal(signal.SIGINT, signal.default_int_handler)
