"""Ctrl-C while an answer is being written: once stops the run, twice leaves the turn.

Only turns signals into an event; what stopping means is decided in `turn.py`.
"""

from __future__ import annotations

import asyncio
import signal
from types import TracebackType


class Interrupts:
    """Catches Ctrl-C for as long as the block lasts. Enter it inside a running event loop."""

    def __init__(self) -> None:
        self._first = asyncio.Event()
        self._task: asyncio.Task[object] | None = None
        self._is_installed = False

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._first.is_set()

    async def wait(self) -> None:
        """Wait for the first Ctrl-C."""
        await self._first.wait()

    def interrupt(self) -> None:
        """What Ctrl-C does: note the first, cancel the waiting task at the second."""
        if self._first.is_set() and self._task is not None:
            self._task.cancel()
        self._first.set()

    def __enter__(self) -> Interrupts:
        self._task = asyncio.current_task()
        try:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.interrupt)
            self._is_installed = True
        except (NotImplementedError, ValueError, RuntimeError):
            pass  # no signals on this system or thread: Ctrl-C ends the program as usual
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_installed:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
