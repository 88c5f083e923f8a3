"""Threads for file work, and the bridge from blocking callers to async ones.

File work has two small pools of its own: quick operations, and searches, which may run for seconds
and must not delay a read. `run_blocking` runs a coroutine on an event loop of its own in a thread
of its own, for the blocking side of LangChain tools and backends; it works whether or not the
calling thread runs a loop, but would block the server's.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine, and return its value or raise its error."""
    outcome: Future[T] = Future()
    context = contextvars.copy_context()

    def body() -> None:
        try:
            outcome.set_result(context.run(asyncio.run, work))
        except BaseException as error:  # handed to the caller whatever it is
            outcome.set_exception(error)

    thread = threading.Thread(target=body, name="blocking-twin", daemon=True)
    thread.start()
    thread.join()
    return outcome.result()


logger = logging.getLogger(__name__)


class FileWorkers:
    """The thread pools. One object serves all users of a process; close it."""

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
    """Await work that must not stop half-way; a cancellation is raised after its end."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue  # cancelled again: it still takes effect after this write
        if not task.cancelled() and task.exception() is not None:
            logger.warning("cancelled work failed as well", exc_info=task.exception())
        raise
