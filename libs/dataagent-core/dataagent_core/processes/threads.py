"""Blocking work in a thread, interrupted when the task that awaits it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
