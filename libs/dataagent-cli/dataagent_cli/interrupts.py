"""Ctrl-C while something is running: once stops it, twice leaves without waiting.

`Interrupts` only turns signals into an event; `turn.py` decides what stopping a run means. Blocks
may be nested: Ctrl-C is for the innermost.
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
    """Ctrl-C stopped the work, so there is no result."""

    code = "stopped"


class Interrupts:
    """Catches Ctrl-C during the block. Enter it inside a running event loop."""

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
        """Handle a Ctrl-C: the first sets the event, the second cancels the waiting task."""
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
            self._listen()  # where signals are unavailable, Ctrl-C ends the program
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
    """Ignore Ctrl-C while a child process has the terminal; the child receives it."""
    with ExitStack() as block:
        catching = _catching.get() or block.enter_context(Interrupts())
        catching.is_suspended = True
        try:
            yield
        finally:
            catching.is_suspended = False


async def run_stoppable(work: Awaitable[T]) -> T:
    """The result of some work; Ctrl-C cancels it and waits for its end.

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
                raise Stopped("Stopped; what had already started may still take effect.")
            return await task
        finally:
            waiting.cancel()
            task.cancel()
