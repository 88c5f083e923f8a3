"""Ctrl-C while something is under way: once stops it, twice leaves without waiting.

`Interrupts` only turns signals into an event; what stopping a run means is decided in `turn.py`.
`stoppable` is for work that is stopped by cancelling it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable
from types import TracebackType

from dataagent_cli import exits


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


async def stoppable(work: Awaitable[int]) -> int:
    """The exit status of some work. Ctrl-C cancels it, waits for its end, and is the status."""
    with Interrupts() as interrupts:
        task = asyncio.ensure_future(work)
        waiting = asyncio.create_task(interrupts.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if interrupts.is_interrupted and not task.done():
                task.cancel()
                await asyncio.wait({task})
                return exits.INTERRUPTED
            return await task
        finally:
            waiting.cancel()
            task.cancel()
