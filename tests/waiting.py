"""How long a test waits for something that must happen before it is taken for hung."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 300.0
_LOOK_SECONDS = 0.01


async def until(is_so: Callable[[], object]) -> None:
    """Wait for something that only looking tells.

    Raises:
        TimeoutError: it did not happen.
    """
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_so():
            await asyncio.sleep(_LOOK_SECONDS)
