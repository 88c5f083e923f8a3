"""Long responses: Server-Sent Events, files sent as they are made, work for a waiting caller.

An event stream ends when its source does, when the client leaves, or when the server shuts down;
the client continues with `Last-Event-ID`. A file's pieces are made one at a time, in a worker
thread, after the previous one was sent, so that a slow reader costs only a connection.
"""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Sequence
from contextlib import aclosing, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dataagent_core.errors import BadInput, DataAgentError, LimitReached, NotAuthenticated
from dataagent_core.identity import Principal
from dataagent_core.runs.types import Entry
from dataagent_core.workspace.workers import run_to_completion
from dataagent_server.api.errors import error_response
from dataagent_server.deps.connections import Capacity, DeliveryProgress
from dataagent_server.deps.container import Container

T = TypeVar("T")


class ClientDisconnected(HTTPException):
    """The client has left before its answer. The status is for the log, as in nginx."""

    def __init__(self) -> None:
        super().__init__(499, "The caller left.")


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client leaves. The request's body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def run_while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, which is cancelled and waited for if the client leaves first.

    Raises:
        ClientDisconnected: it left.
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


logger = logging.getLogger(__name__)
ToText = Callable[[Entry], bytes]
HEARTBEAT = b": heartbeat\n\n"
_MAX_SEQ = 2**53
HEARTBEAT_SECONDS = 15.0
"""A stream that has nothing to send sends a comment this often, so that proxies keep it open."""
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_HIGH_WATER = 64 * 1024
_FINISH_SECONDS = 2.0
_ENDED = "The login or key of this stream has ended."
EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/event-stream": {
                "example": 'id: 1\nevent: text\ndata: {"event_type": "text", "seq": 1}\n\n',
            }
        },
        "description": "Events",
    }
}
"""The response of a stream's route in the OpenAPI document."""


def sse_text(entry: Entry) -> bytes:
    """One event: `id` is its `seq`, `event` its type, `data` its wire form."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.seq, entry.event_type.encode(), entry.wire)


def cursor(after: int, last_event_id: str | None) -> int:
    """Where a stream starts: `Last-Event-ID` of a reconnecting browser, else the query.

    Raises:
        BadInput: `Last-Event-ID` is not a `seq`.
    """
    if not last_event_id:
        return after
    is_number = last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= 16
    if not is_number or int(last_event_id) >= _MAX_SEQ:
        raise BadInput("Last-Event-ID is the `id` of the last event you have seen.")
    return int(last_event_id)


def _stream_error(error: DataAgentError) -> bytes:
    text = orjson.dumps({"error_code": error.code, "message": error.message})
    return b"event: stream_error\ndata: %s\n\n" % text


async def single_entry_bursts(entries: AsyncIterator[Entry]) -> AsyncIterator[Sequence[Entry]]:
    """Entries as bursts of one."""
    async for entry in entries:
        yield (entry,)


class EventStream(Response):
    """A stream of events, which holds one of the server's connection slots."""

    media_type = "text/event-stream"

    def __init__(
        self,
        bursts: AsyncIterator[Sequence[Entry]],
        container: Container,
        *,
        session_id: str,
        after: int,
        text: ToText = sse_text,
    ) -> None:
        """`text` formats an entry; the default is `sse_text`."""
        super().__init__()
        self._text = text
        self._runs = container.core.runs
        self._set_source(bursts, session_id, after)
        self._closing = container.closing
        self._capacity = container.capacity
        self._live_connections = container.live_connections
        self._revoked = asyncio.Event()

    def _set_source(
        self, bursts: AsyncIterator[Sequence[Entry]], session_id: str, after: int
    ) -> None:
        self._bursts = bursts
        self._session_id = session_id
        self._progress = DeliveryProgress(after)

    async def _prepare(self) -> None:
        """Called before the first byte, with a slot held. May raise any error."""

    async def _on_disconnect(self, scope: Scope) -> None:
        """Called if the client leaves before the source ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the source or the client ends; 503 or 429 without a free slot."""
        principal: Principal = Request(scope).state.principal
        try:
            self._capacity.take(principal.user_id)
        except LimitReached as error:
            await error_response(error)(scope, receive, send)
            return
        try:
            await self._prepare()
            with self._live_connections.register(principal, self._close_revoked):
                head = {"type": "http.response.start", "status": 200, "headers": list(_HEADERS)}
                await send(head)
                has_left = await self._stream(receive, send)
        finally:
            self._capacity.release(principal.user_id)
        if has_left:
            await self._on_disconnect(scope)

    async def _stream(self, receive: Receive, send: Send) -> bool:
        """Send until something ends the stream; returns whether the client did."""
        pump = asyncio.create_task(self._pump(send))
        gone = asyncio.create_task(wait_for_disconnect(receive))
        others = [
            gone,
            asyncio.create_task(self._until_served()),
            asyncio.create_task(self._revoked.wait()),
            asyncio.create_task(self._beat(send)),
        ]
        try:
            await asyncio.wait([pump, *others], return_when=asyncio.FIRST_COMPLETED)
            has_left = not pump.result() if pump.done() else gone.done()
        finally:
            for task in (pump, *others):
                task.cancel()
            await asyncio.gather(pump, *others, return_exceptions=True)
        last = _stream_error(NotAuthenticated(_ENDED)) if self._revoked.is_set() else b""
        await send({"type": "http.response.body", "body": last, "more_body": False})
        return has_left

    async def _close_revoked(self) -> None:
        """End the stream: the caller's login or key has ended."""
        self._revoked.set()

    async def _pump(self, send: Send) -> bool:
        """Send the source's events to its end; False if the client is unreachable."""
        try:
            async for burst in self._bursts:
                for body in _bodies(burst, self._text):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                self._progress.advance(burst[-1].seq)
        except DataAgentError as error:
            logger.warning("an event stream ended early: %s", error.message)
            body = _stream_error(error)
            with suppress(OSError):
                await send({"type": "http.response.body", "body": body, "more_body": True})
        except OSError:
            return False
        return True

    async def _until_served(self) -> None:
        """Wait for shutdown, then until what is committed has been sent."""
        await self._closing.wait()
        with suppress(TimeoutError, DataAgentError):
            async with asyncio.timeout(_FINISH_SECONDS):
                await self._progress.reach(await self._runs.last_seq(self._session_id))

    async def _beat(self, send: Send) -> None:
        """Send a comment periodically, so that proxies and clients keep the stream open.

        Each `send` is a whole chunk, so this cannot come between the parts of an event.
        """
        with suppress(OSError):
            while True:
                await asyncio.sleep(HEARTBEAT_SECONDS)
                await send({"type": "http.response.body", "body": HEARTBEAT, "more_body": True})


def _bodies(burst: Sequence[Entry], to_text: ToText) -> list[bytes]:
    """A burst as few chunks, none much larger than the high-water mark."""
    bodies: list[bytes] = []
    parts: list[bytes] = []
    size = 0
    for entry in burst:
        text = to_text(entry)
        parts.append(text)
        size += len(text)
        if size >= _HIGH_WATER:
            bodies.append(b"".join(parts))
            parts, size = [], 0
    return [*bodies, b"".join(parts)] if parts else bodies


_PIECE = 64 * 1024  # a slow reader must read one within the transport's stall limit
_MAX_NAME = 80
_UNSAFE = re.compile(r'[\\/:*?"<>|%;]')
_PLAIN = re.compile(r"[A-Za-z0-9]")
_EXTENSION = re.compile(r"[A-Za-z0-9]{1,10}")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ._()-]+")
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_PRIVATE = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
_INERT = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def file_name(title: str, extension: str) -> str:
    """A file name that every system accepts, close to the title.

    Without an extension the name has none.
    """
    visible = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", title)
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    name = " ".join(_UNSAFE.sub("_", visible).split())[:_MAX_NAME].strip(" .")
    if not name or _DEVICE.match(name):
        name = f"result {name}".strip()
    return f"{name}.{extension}" if extension else name


def content_disposition(title: str, extension: str) -> str:
    """The `Content-Disposition` header, with an ASCII name for old clients and the full one."""
    name = file_name(title, extension)
    letters = unicodedata.normalize("NFKD", name.removesuffix(f".{extension}"))
    bare = "".join(each for each in letters if not unicodedata.combining(each))
    plain = _NOT_PLAIN.sub("_", bare) if _PLAIN.search(bare) else "result"
    plain = f"{plain}.{extension}" if extension else plain
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def file_headers(title: str, extension: str) -> dict[str, str]:
    """The headers of a file that is downloaded and never rendered as a page."""
    return {
        "Content-Disposition": content_disposition(title, extension),
        "Content-Security-Policy": _INERT,
        **_PRIVATE,
    }


def named_headers(filename: str) -> dict[str, str]:
    """As `file_headers`, for a complete file name."""
    stem, dot, extension = filename.rpartition(".")
    if dot and stem and _EXTENSION.fullmatch(extension):
        return file_headers(stem, extension)
    return file_headers(filename, "")


class Download(Response):
    """A file made while it is sent; holds one of the server's connection slots."""

    def __init__(
        self,
        make: Callable[[], AsyncGenerator[bytes]],
        *,
        capacity: Capacity,
        headers: dict[str, str],
        media_type: str,
    ) -> None:
        super().__init__(headers=headers, media_type=media_type)
        del self.headers["content-length"]  # not known before it is made
        self._make = make
        self._capacity = capacity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make and send it. A failure before the first byte is answered like any error.

        Raises:
            TooManyConnections, UserLimit: no free slot.
            Others: as making it does; after the first byte, the connection is cut.
        """
        with (
            self._capacity.slot(Request(scope).state.principal.user_id),
            suppress(ClientDisconnected),
        ):
            await run_while_connected(receive, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._make()) as pieces:
            piece = await anext(pieces, None)
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            while piece is not None:
                for at in range(0, len(piece), _PIECE):
                    body = piece[at : at + _PIECE]
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                piece = await anext(pieces, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def iterate_in_threads(make: Callable[[], Generator[bytes]]) -> Callable[[], AsyncGenerator[bytes]]:
    """The generator, run in worker threads and always closed."""

    async def pieces() -> AsyncGenerator[bytes]:
        made = make()
        try:
            while (
                piece := await run_to_completion(run_in_threadpool(next, made, None))
            ) is not None:
                yield piece
        finally:
            await run_to_completion(run_in_threadpool(made.close))

    return pieces
