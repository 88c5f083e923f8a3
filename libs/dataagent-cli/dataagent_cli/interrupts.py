"""Ctrl-C while something is under way: once stops it, twice leaves without waiting.

`Interrupts` only turns signals into an event; what stopping a run means is decided in `turn.py`.
Blocks may stand inside each other: Ctrl-C is for the innermost. `run_stoppable` is for work that is
stopped by cancelling it, `interrupts_go_to_child` for a program that has the terminal to itself.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Generator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TypeVar

from dataagent_core.errors import DataAgentError

T = TypeVar("T")
_catching: ContextVar[Interrupts | None] = ContextVar("catching", default=None)


class Stopped(DataAgentError):
    """Ctrl-C came, and nothing that was waited for is there."""

    code = "stopped"


class Interrupts:
    """Catches Ctrl-C for as long as the block lasts. Enter it inside a running event loop."""

    def __init__(self) -> None:
        self._first = asyncio.Event()
        self._task: asyncio.Task[object] | None = None
        self._is_installed = False
        self._around: Interrupts | None = None
        self._before: Token[Interrupts | None] | None = None
        self.is_suspended = False

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._first.is_set()

    async def wait(self) -> None:
        """Wait for the first Ctrl-C."""
        await self._first.wait()

    def interrupt(self) -> None:
        """What Ctrl-C does: note the first, cancel the waiting task at the second."""
        if self.is_suspended:
            return
        if self._first.is_set() and self._task is not None:
            self._task.cancel()
        self._first.set()

    def __enter__(self) -> Interrupts:
        self._task = asyncio.current_task()
        self._around = _catching.get()
        self._before = _catching.set(self)
        with suppress(NotImplementedError, ValueError, RuntimeError):
            self._listen()  # without signals on this system or thread Ctrl-C ends the program
        return self

    def _listen(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.interrupt)
        self._is_installed = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            _catching.reset(self._before)
        if not self._is_installed:
            return
        self._is_installed = False
        if self._around is not None and self._around._is_installed:
            self._around._listen()
        else:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


@contextmanager
def interrupts_go_to_child() -> Generator[None]:
    """Ctrl-C is for a child that has the terminal: all its processes get it, and it is not ours."""
    with ExitStack() as block:
        catching = _catching.get() or block.enter_context(Interrupts())
        catching.is_suspended = True
        try:
            yield
        finally:
            catching.is_suspended = False


async def run_stoppable(work: Awaitable[T]) -> T:
    """What some work gives. Ctrl-C cancels it, and its end is waited for.

    Raises:
        Stopped: it was cancelled.
    """
    with Interrupts() as interrupts:
        task = asyncio.ensure_future(work)
        waiting = asyncio.create_task(interrupts.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if interrupts.is_interrupted and not task.done():
                task.cancel()
                await asyncio.wait({task})
                raise Stopped("Stopped; what had begun may be done all the same.")
            return await task
        finally:
            waiting.cancel()
            task.cancel()
