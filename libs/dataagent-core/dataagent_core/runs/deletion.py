"""Releases deleted sessions in every process, and erases them after the retention period.

The store makes a deletion final. A process that learns of it releases what it holds at once:
readers, the live executor, sandbox and MCP connections. A process that misses the message notices
by its comparison with the store (`Relay`) and by its idle timeouts.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from datetime import timedelta

from dataagent_core.runs.cluster.bus import Bus
from dataagent_core.runs.ledger import Ledger
from dataagent_core.session import SessionManager
from dataagent_core.storage.background_tasks import cancel_all

logger = logging.getLogger(__name__)
_DELETED_SESSIONS = "deleted-sessions"
_SWEEP_SECONDS = 3600.0


def announce_deletion(bus: Bus, session_id: str) -> None:
    """Announce to all processes, this one included, that a session was deleted."""
    bus.publish(_DELETED_SESSIONS, session_id.encode())


def release_deleted_sessions(bus: Bus, sessions: SessionManager, ledger: Ledger) -> None:
    """Release what this process holds of sessions that any process deletes."""

    def release(message: bytes | None) -> None:
        if message is not None:
            session_id = message.decode()
            sessions.release(session_id)
            ledger.end_readers(session_id)

    bus.subscribe(_DELETED_SESSIONS, release)


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
