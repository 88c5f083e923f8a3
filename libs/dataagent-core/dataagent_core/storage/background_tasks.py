"""Sees what other processes change in the database: looks when told, and once a second anyway.

What is read is the owner's business; here is when. A database that is away is waited for. Above:
`agents/registry.py`, `mcp/hub.py`.

Ends what goes on beside everything else: loops that write, look or sweep.

Above: whatever has such a loop. It stands here because the drivers of databases are why a plain
`cancel` does not do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from dataagent_core.errors import Unavailable

logger = logging.getLogger(__name__)
_CANCEL_SECONDS = 0.2


async def cancel_all(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel tasks and wait for their end; one that had failed is in the log.

    Again and again, because a cancellation may be lost on its way: up to Python 3.11
    `asyncio.wait_for`, which the Redis client uses, drops one that comes together with its result,
    and a database driver may answer one with an error about its connection.
    """
    ending = {task for task in tasks if task is not None}
    left = ending
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_CANCEL_SECONDS)
    for task in ending:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s had failed", task.get_name(), exc_info=error)


POLL_SECONDS = 1.0


class ChangePoller:
    """Keeps something in step with the database. Used from the event loop only."""

    def __init__(self, what: str, refresh: Callable[[], Awaitable[object]]) -> None:
        """`refresh` reads again if anything was changed; `what` is for the log."""
        self._what = what
        self._refresh = refresh
        self._poll_requested = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._polling = asyncio.create_task(self._poll(), name=f"{self._what}-lookout")

    def tell(self) -> None:
        """Look now: something was changed, or word of it may have been lost."""
        self._poll_requested.set()

    async def aclose(self) -> None:
        """Stop looking."""
        await cancel_all([self._polling])

    async def _poll(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._poll_requested.wait()
            self._poll_requested.clear()
            try:
                await self._refresh()
            except Unavailable:
                logger.warning("%s wait for the database", self._what)
            except Exception:
                logger.exception("a look for changed %s failed", self._what)
