"""Closes connections with the event loop they belong to, for programs that simply end.

A server closes what it opens. A script that ran `asyncio.run(main())` is done, and the library
behind its connections would complain that nobody closed them. A loop closes the generators that
were begun on it before it ends (`loop.shutdown_asyncgens`, which `asyncio.run` calls); so one waits
for that.
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
