"""The blocking twin of an async call, for callers that cannot await.

LangChain tools and backends have a sync side. Ours are async at heart; this is the one bridge. It
runs the coroutine on an event loop of its own in a thread of its own, so it works whether or not
the calling thread already runs a loop. Not for use inside the server's loop: it would block it.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine to its end and return its value or raise its error."""
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
