"""Events as Server-Sent Events: the text form (pure) and the response that carries it.

A stream ends when its source does, when the client leaves, or when the server shuts down. A client
that takes nothing is cut off by the transport (`dataagent_server/transport.py`); what it missed it
gets by coming back with `Last-Event-ID`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dataagent_core.errors import BadInput, DataAgentError, TooManyConnections
from dataagent_core.runs.types import Entry
from dataagent_server.api.errors import error_response
from dataagent_server.api.presence import until_gone
from dataagent_server.deps.container import Container
from dataagent_server.deps.progress import Progress

logger = logging.getLogger(__name__)
HEARTBEAT = b": heartbeat\n\n"
_MAX_SEQ = 2**53
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_HIGH_WATER = 64 * 1024
_FINISH_SECONDS = 2.0
EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Events"}
}
"""What a stream's route says of itself in the OpenAPI document."""


def sse_text(entry: Entry) -> bytes:
    """One event: `id` is its `seq`, `event` its type, `data` its wire form."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.seq, entry.event_type.encode(), entry.wire)


def cursor(after: int, last_event_id: str | None) -> int:
    """Where a stream starts: what a returning browser says wins over the address.

    Raises:
        BadInput: `Last-Event-ID` is not a `seq`.
    """
    if not last_event_id:
        return after
    is_number = last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= 16
    if not is_number or int(last_event_id) >= _MAX_SEQ:
        raise BadInput("Last-Event-ID is the `id` of the last event you have seen.")
    return int(last_event_id)


async def one_by_one(entries: AsyncIterator[Entry]) -> AsyncIterator[Sequence[Entry]]:
    """Entries as bursts of one."""
    async for entry in entries:
        yield (entry,)


class EventStream(Response):
    """A response that goes on as long as its source, holding one of the server's slots."""

    media_type = "text/event-stream"

    def __init__(
        self,
        bursts: AsyncIterator[Sequence[Entry]],
        container: Container,
        *,
        session_id: str,
        after: int,
    ) -> None:
        super().__init__()
        self._bursts = bursts
        self._runs = container.core.runs
        self._session_id = session_id
        self._progress = Progress(after)
        self._heartbeat_seconds = container.settings.heartbeat_interval
        self._closing = container.closing
        self._capacity = container.capacity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until there are no more or nobody to send them to; 503 without room."""
        try:
            self._capacity.take()
        except TooManyConnections as error:
            await error_response(error)(scope, receive, send)
            return
        try:
            await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            await self._stream(receive, send)
        finally:
            self._capacity.release()

    async def _stream(self, receive: Receive, send: Send) -> None:
        pump = asyncio.create_task(self._pump(send))
        others = [
            asyncio.create_task(until_gone(receive)),
            asyncio.create_task(self._until_served()),
            asyncio.create_task(self._beat(send)),
        ]
        try:
            await asyncio.wait([pump, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (pump, *others):
                task.cancel()
            await asyncio.gather(pump, *others, return_exceptions=True)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, send: Send) -> None:
        try:
            async for burst in self._bursts:
                for body in _bodies(burst):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                self._progress.advance(burst[-1].seq)
        except DataAgentError as error:
            logger.warning("a stream ended early: %s", error.message)
            text = orjson.dumps({"error_code": error.code, "message": error.message})
            body = b"event: stream_error\ndata: %s\n\n" % text
            with suppress(OSError):
                await send({"type": "http.response.body", "body": body, "more_body": True})
        except OSError:
            return

    async def _until_served(self) -> None:
        """Wait for the server's end, then until what is committed has been sent."""
        await self._closing.wait()
        with suppress(TimeoutError, DataAgentError):
            async with asyncio.timeout(_FINISH_SECONDS):
                await self._progress.reach(await self._runs.last_seq(self._session_id))

    async def _beat(self, send: Send) -> None:
        """A comment now and then, so that proxies and clients know the stream is alive.

        Each `send` is a whole chunk, so this cannot come between the parts of an event.
        """
        with suppress(OSError):
            while True:
                await asyncio.sleep(self._heartbeat_seconds)
                await send({"type": "http.response.body", "body": HEARTBEAT, "more_body": True})


def _bodies(burst: Sequence[Entry]) -> list[bytes]:
    """A burst as few chunks, none much larger than the high-water mark."""
    bodies: list[bytes] = []
    parts: list[bytes] = []
    size = 0
    for entry in burst:
        text = sse_text(entry)
        parts.append(text)
        size += len(text)
        if size >= _HIGH_WATER:
            bodies.append(b"".join(parts))
            parts, size = [], 0
    return [*bodies, b"".join(parts)] if parts else bodies
