"""Announces a deleted session to every process, so that none keeps anything of it.

The store makes the deletion final. This releases at once what a process holds: readers, the live
executor, sandbox and MCP connections. A process that misses the message notices by its checks of
the store (`relay.py`) and by its idle timeouts.

Erases soft-deleted sessions after the retention period.
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

_DELETED_SESSIONS = "deleted-sessions"


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
