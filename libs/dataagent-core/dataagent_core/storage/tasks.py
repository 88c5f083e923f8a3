"""Ends what goes on beside everything else: loops that write, look or sweep.

Above: whatever has such a loop. It stands here because the drivers of databases are why a plain
`cancel` does not do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

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
