"""An end that is not waited for longer than it is worth: a tracer's last words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread


async def finish_within(seconds: float, work: Callable[[], object]) -> bool:
    """Do blocking work beside the loop; whether it was done in time.

    A thread of its own, which the process does not wait for: one of the loop's would keep it alive.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def run() -> None:
        try:
            work()
        finally:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(done.set)

    Thread(target=run, name="last-traces", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            await done.wait()
    except TimeoutError:
        return False
    return True
