"""Closes connections with their event loop, for scripts that simply end.

After `asyncio.run(main())` nothing closes what a script left open. A loop closes the async
generators begun on it before it ends (`loop.shutdown_asyncgens`), so a generator waits for that.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

CloseHandle = AsyncGenerator[None]
"""Closes when it is closed (`aclose`), or when its loop ends. Keep it as long as that is open."""


def close_with_loop(close: Callable[[], Awaitable[object]]) -> CloseHandle:
    """Have something closed with the running loop."""
    ending = _ending(close)
    with suppress(StopIteration):  # as far as its `yield`
        ending.asend(None).send(None)
    return ending


async def _ending(close: Callable[[], Awaitable[object]]) -> CloseHandle:
    try:
        yield
    finally:
        await close()
