"""Work that is for one caller alone, and stops when the caller leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.types import Receive

T = TypeVar("T")


class ClientDisconnected(HTTPException):
    """Nobody waits for the answer any more. Its status is for the log, as others' logs have it."""

    def __init__(self) -> None:
        super().__init__(499, "The caller left.")


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the caller leaves. The request's body has been read before."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def run_while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What comes of the work. When the caller leaves first, it is cancelled and waited for.

    Raises:
        CallerLeft: they left.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.create_task(wait_for_disconnect(receive))
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)
    raise ClientDisconnected
