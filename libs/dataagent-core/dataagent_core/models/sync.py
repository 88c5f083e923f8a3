"""One async call from code that is not async.

LangChain asks each model for a synchronous `_generate`. Ours are async, so it runs the coroutine on
a loop of its own, in a thread of its own when the caller already stands on a loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `work()` to its end and return what it returns."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="model") as thread:
        return thread.submit(asyncio.run, work()).result()
