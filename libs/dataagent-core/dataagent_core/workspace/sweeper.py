"""Sweeps at intervals: archives unused workspaces, erases unused memories, corrects the quota.

Every process sweeps; locks let one of them act.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from dataagent_core.workspace.manager import UserWorkspaceManager
from dataagent_core.workspace.memories import Memories

logger = logging.getLogger(__name__)
_DAY_SECONDS = 86_400.0
_INTERVAL_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What one sweep did."""

    archived: int
    erased: int


class Sweeper:
    """Removes what is not used. Zero days disables a part."""

    def __init__(
        self,
        workspaces: UserWorkspaceManager,
        memories: Memories,
        *,
        archive_days: float,
        retention_days: float,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._workspaces = workspaces
        self._memories = memories
        self._archive_days = archive_days
        self._retention_days = retention_days
        self._now = now

    async def sweep(self) -> SweepReport:
        """Archive and erase what is due, and correct the quota ledger."""
        archived = erased = 0
        await self._workspaces.correct_all()
        if self._archive_days:
            since = self._now() - self._archive_days * _DAY_SECONDS
            archived = await self._workspaces.archive_unused(since)
        if self._retention_days:
            since = self._now() - self._retention_days * _DAY_SECONDS
            erased = await self._memories.erase_unused(since)
        return SweepReport(archived, erased)

    async def run(self) -> None:
        """Sweep now and every hour."""
        while True:
            try:
                swept = await self.sweep()
                if swept.archived or swept.erased:
                    logger.info(
                        "%d workspaces archived, %d memories erased", swept.archived, swept.erased
                    )
            except Exception:
                logger.exception("the sweep of workspaces failed; trying again later")
            await asyncio.sleep(_INTERVAL_SECONDS)
