"""Sees what other processes change in the database: looks when told, and once a second anyway.

What is read is the owner's business; here is when. A database that is away is waited for. Above:
`agents/registry.py`, `mcp/hub.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from dataagent_core.errors import Unavailable
from dataagent_core.storage.tasks import cancel_all

logger = logging.getLogger(__name__)
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
