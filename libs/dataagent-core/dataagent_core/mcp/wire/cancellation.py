"""Lets callers leave at once: that a server should stop is told to it aside, by nobody who waits.

Over HTTP a message may have to wait for the one before it, as long as a server that hangs makes
that. Above: `connect.py`. Below: a transport's streams. Not for stdio, which waits for no notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from mcp.client._transport import Transport, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

_CANCELLED = "notifications/cancelled"


@asynccontextmanager
async def cancelling_in_background(transport: Transport) -> AsyncGenerator[TransportStreams]:
    """The transport's streams, with a place aside for news of callers who left."""
    async with transport as (reading, writing):
        writer = _BackgroundCancellation(writing)
        try:
            yield reading, writer
        finally:
            await writer.end()


class _BackgroundCancellation:
    """What is written passes through, except a cancellation, which gets a task of its own."""

    def __init__(self, inner: WriteStream[SessionMessage]) -> None:
        self._inner = inner
        self._sending: set[asyncio.Task[None]] = set()

    async def send(self, item: SessionMessage, /) -> None:
        """Pass a message on, or have it passed on."""
        message = item.message
        if isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            task = asyncio.create_task(self._send_cancellation(item))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        else:
            await self._inner.send(item)

    async def _send_cancellation(self, item: SessionMessage) -> None:
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the session has ended, and the call with it

    async def end(self) -> None:
        """Whoever was not told by now is not told any more."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def aclose(self) -> None:
        """Nothing is written any more."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
