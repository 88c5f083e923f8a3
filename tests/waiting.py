"""How long a test waits for an event before it counts as hung."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 300.0
_POLL_SECONDS = 0.01


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition that can only be polled.

    Raises:
        TimeoutError: it never held.
    """
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():
            await asyncio.sleep(_POLL_SECONDS)
