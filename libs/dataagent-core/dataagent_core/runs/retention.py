"""Erases soft-deleted sessions after the retention period."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from datetime import timedelta

from dataagent_core.session import SessionManager
from dataagent_core.storage.tasks import cancel_all

logger = logging.getLogger(__name__)
_SWEEP_SECONDS = 3600.0


async def purge_periodically(
    sessions: SessionManager,
    *,
    longer_than: timedelta,
    interval_seconds: float = _SWEEP_SECONDS,
) -> None:
    """Erase sessions that were soft-deleted longer ago than that, at intervals, for ever."""
    while True:
        try:
            if erased := await sessions.purge_soft_deleted(longer_than=longer_than):
                logger.info("%d deleted sessions were erased", erased)
        except Exception:
            logger.exception("deleted sessions could not be erased; trying again later")
        await asyncio.sleep(interval_seconds)


def start_retention(sessions: SessionManager, stack: AsyncExitStack, *, days: int) -> None:
    """Start `purge_periodically` with a retention in days; the stack ends it."""
    erasing = purge_periodically(sessions, longer_than=timedelta(days=days))
    stack.push_async_callback(cancel_all, [asyncio.create_task(erasing, name="retention")])
