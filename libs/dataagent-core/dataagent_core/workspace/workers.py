"""Threads for file work, apart from the event loop's own.

Two small pools: quick operations, and searches, which may run for seconds and must not hold up a
read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)


class FileWorkers:
    """The pools. One object serves all users of a process; close it at the end."""

    def __init__(self, *, quick_threads: int = 8, search_threads: int = 2) -> None:
        self._quick = ThreadPoolExecutor(quick_threads, thread_name_prefix="files")
        self._search = ThreadPoolExecutor(search_threads, thread_name_prefix="search")

    async def run(self, work: Callable[[], T]) -> T:
        """Run a quick operation in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work)

    async def search(self, work: Callable[[], T]) -> T:
        """Run a search in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._search, work)

    def close(self) -> None:
        """Stop the threads once their work is done."""
        self._quick.shutdown(wait=True, cancel_futures=True)
        self._search.shutdown(wait=True, cancel_futures=True)


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Await work that must not stop half-way; a cancellation waits for its end, then goes on."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue  # asked again; the answer is the same: after this write
        if not task.cancelled() and task.exception() is not None:
            logger.warning("cancelled work failed as well", exc_info=task.exception())
        raise
