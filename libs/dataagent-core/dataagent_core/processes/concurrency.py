"""Limit how much runs at once for each key; further work waits in a queue of bounded length.

Blocking work in a thread, interrupted when the task that awaits it is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from dataagent_core.errors import UserLimit

_RETRY_SECONDS = 5


@dataclass(slots=True)
class _KeyQueue:
    """Those of one key: running or waiting."""

    places: asyncio.Semaphore
    count: int = 0


class KeyedLimiter:
    """At most `at_once` of a key run, and at most `waiting` more wait."""

    def __init__(self, what: str, *, at_once: int, waiting: int) -> None:
        """`what` names them in a refusal."""
        self._what = what
        self._at_once = at_once
        self._most = at_once + waiting
        self._lines: dict[Hashable, _KeyQueue] = {}

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncGenerator[None]:
        """Wait for a turn; it ends with the block.

        Raises:
            UserLimit: too many wait already.
        """
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _KeyQueue(asyncio.Semaphore(self._at_once))
        if line.count >= self._most:
            raise UserLimit(
                f"You have {line.count} {self._what} under way, as many as one user may. "
                "Wait until some have ended, or cancel them.",
                details={"what": self._what, "limit": self._most, "used": line.count},
                retry_after_seconds=_RETRY_SECONDS,
            )
        line.count += 1
        try:
            async with line.places:
                yield
        finally:
            line.count -= 1
            if not line.count:
                del self._lines[key]


T = TypeVar("T")


async def run_in_thread(
    pool: ThreadPoolExecutor, work: Callable[[], T], *, interrupt: Callable[[], None]
) -> T:
    """The work's value. When the caller is cancelled, the work is interrupted and waited for."""
    running = pool.submit(work)
    future = asyncio.wrap_future(running)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not running.cancel():
            interrupt()
        await _wait_ended(future)
        raise


async def _wait_ended(future: asyncio.Future[T]) -> None:
    """Wait for the end, whatever it is and however often we are cancelled meanwhile."""
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError:
            continue
    if not future.cancelled():
        future.exception()  # it is known: we caused it
