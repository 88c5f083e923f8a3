"""A descriptor that becomes readable when a child has ended."""

from __future__ import annotations

import os
import signal


class Wake:
    """Waits for SIGCHLD in a poll. One per process."""

    def __init__(self) -> None:
        self._readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def fileno(self) -> int:
        """What to poll."""
        return self._readable

    def clear(self) -> None:
        """Be unreadable until the next child ends."""
        try:
            while os.read(self._readable, 4096):
                continue
        except BlockingIOError:
            return


def forget() -> None:
    """Have signals behave as in a fresh process; for what is forked off."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
