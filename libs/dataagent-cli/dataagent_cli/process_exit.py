"""How the process ends: with its work done, or by Ctrl-C while it still loads.

Used before anything else is imported, so it imports little itself. Above: `main.py`. What Ctrl-C
means once something is under way is in `interrupts.py`.
"""

from __future__ import annotations

import os
import sys

from dataagent_cli import exit_codes

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from typing import NoReturn

    from dataagent_cli.early_prompt import EarlyPrompt


def exit_process(code: int) -> NoReturn:
    """End the process. All is closed; to take its objects apart one by one would help nobody."""
    import atexit

    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] what os._exit would leave out
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, full, or nobody reads any more
            code = code or exit_codes.FAILED
    os._exit(code)


def exit_on_interrupt(early: EarlyPrompt | None = None) -> None:
    """Let Ctrl-C end the process while it loads, when nothing is begun that could be lost.

    An import that is broken off may leave its lock behind, or fail with an error of its own.
    """
    import signal

    def interrupted(*_: object) -> None:
        if early is not None:
            early.abandon()
        os._exit(exit_codes.INTERRUPTED)

    signal.signal(signal.SIGINT, interrupted)


def exits_on_interrupt() -> bool:
    """Whether Ctrl-C would end the process here and now."""
    import signal

    return getattr(signal.getsignal(signal.SIGINT), "__module__", None) == __name__


def leave_interrupts_to_loop() -> None:
    """Leave Ctrl-C to the event loop, which is about to start."""
    if exits_on_interrupt():
        import signal

        signal.signal(signal.SIGINT, signal.default_int_handler)
