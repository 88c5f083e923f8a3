"""Background tasks: a poller of changes in the database, and the cancelling of loops.

Cancelling is here because database drivers make a plain `cancel` insufficient.
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
    """Cancel tasks and wait for their end; one that had failed is logged.

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
    """Polls the database for changes, once a second and when notified. For the event loop only."""

    def __init__(self, what: str, refresh: Callable[[], Awaitable[object]]) -> None:
        """`refresh` reads again if anything changed; `what` is for the log."""
        self._what = what
        self._refresh = refresh
        self._poll_requested = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start polling."""
        self._polling = asyncio.create_task(self._poll(), name=f"{self._what}-lookout")

    def tell(self) -> None:
        """Poll now: something changed, or a notification may have been lost."""
        self._poll_requested.set()

    async def aclose(self) -> None:
        """Stop polling."""
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
