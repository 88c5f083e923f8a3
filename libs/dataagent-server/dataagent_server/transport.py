"""uvicorn's HTTP and WebSocket protocols, with limits that they lack.

- A client that reads nothing for `stall_seconds` is disconnected by reset: a regular close would
  wait for that client.
- A request's head has a size and a time limit; an idle connection is closed.
- A connection that would use the file descriptors the rest of the process needs is refused.
- A socket's input is parsed in slices, one per turn of the event loop, and no further than the app
  has read; control frames have a rate limit. A flood slows only the client that sends it.
- A socket sends several frames in one write (`SocketTransport`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import State

from dataagent_server.ws.outbox import TRANSPORT_EXTENSION

_MAX_HEAD = 512 * 1024
_HEAD_SECONDS = 15.0
_SLICE = 4096
_MAX_FRAGMENTS = 16 * 1024
_CONTROL_FRAMES_PER_SECOND = 100
_POLICY_VIOLATION = 1008
_LINGER_SECONDS = 2.0
_LEAST_RESERVED = 64
_MOST_RESERVED = 1024
_WARN_SECONDS = 60.0
_RETRY_AFTER_SECONDS = 5
logger = logging.getLogger(__name__)


class TransportConfig(uvicorn.Config):
    """uvicorn's configuration with our protocols and the stall limit."""

    def __init__(self, app: Any, *, stall_seconds: float, **options: Any) -> None:
        super().__init__(app, http=HttpProtocol, ws=WebSocketProtocol, **options)
        self.stall_seconds = stall_seconds
        self.descriptors = Descriptors(descriptor_limit())


def descriptor_limit() -> int | None:
    """How many file descriptors this process may have open; None is no limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class Descriptors:
    """Reserves a part of the process's file descriptors for databases, files and programs.

    A new connection gets the lowest free descriptor, whose number so tells how many are in use.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._warned_at = -_WARN_SECONDS
        if limit is not None:
            reserved = min(max(limit // 4, _LEAST_RESERVED), _MOST_RESERVED, limit // 2)
            self._refused_from = limit - reserved
            self._scarce_from = limit - reserved // 2
            self._reset_from = limit - reserved // 4

    def refuses(self, number: int) -> bool:
        """Whether a connection with this descriptor gets a 503 and is closed."""
        return self._limit is not None and number >= self._refused_from

    def are_scarce(self, number: int) -> bool:
        """Whether a refused connection is closed right after its answer."""
        return self._limit is not None and number >= self._scarce_from

    def resets(self, number: int) -> bool:
        """Whether so few are left that a connection cannot even be answered."""
        return self._limit is not None and number >= self._reset_from

    def refusal(self) -> bytes:
        """The response on a refused connection."""
        now = time.monotonic()
        if now - self._warned_at >= _WARN_SECONDS:
            self._warned_at = now
            logger.warning(
                "connections are refused: few of the %s file descriptors are free (ulimit -n)",
                self._limit,
            )
        message = "The server has too many connections. Try again later."
        body = orjson.dumps({"error_code": "too_many_connections", "message": message})
        return (
            b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nretry-after: %d\r\nconnection: close\r\n\r\n%b"
            % (len(body), _RETRY_AFTER_SECONDS, body)
        )


class _Stall:
    """Resets a connection whose client reads nothing for too long."""

    def __init__(self, config: uvicorn.Config, loop: asyncio.AbstractEventLoop) -> None:
        self._seconds: float = getattr(config, "stall_seconds", 20.0)
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        """The client's buffer is full."""
        self.end()
        self._timer = self._loop.call_later(self._seconds, transport.abort)

    def end(self) -> None:
        """The client reads again, or has disconnected."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits on heads, descriptors and clients that do not read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stall = _Stall(self.config, self.loop)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = True
        self._descriptors: Descriptors = getattr(self.config, "descriptors", Descriptors(None))
        self._is_refused = False
        self._is_answered = False
        self._closes_at_once = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has connected; its first request has a time limit."""
        super().connection_made(transport)
        number: int = transport.get_extra_info("socket").fileno()
        if self._descriptors.resets(number):
            transport.abort()
            return
        self._is_refused = self._descriptors.refuses(number)
        self._closes_at_once = self._descriptors.are_scarce(number)
        self._expect_head(_LINGER_SECONDS if self._is_refused else _HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._stall.end()
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if self._is_refused:
            self._refuse()
            return
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._is_in_head else 0
        if self._head_bytes > _MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The request's head is too large.")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """A request's head is complete."""
        self._end_head()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self._stall.end()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the error envelope."""
        body = orjson.dumps({"error_code": "bad_input", "message": msg})
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        )
        self.transport.write(head + body)
        self.transport.close()

    def _refuse(self) -> None:
        """Answer once and keep reading briefly: an immediate close could discard the answer."""
        if self._is_answered:
            return
        self._is_answered = True
        self.transport.write(self._descriptors.refusal())
        if self._closes_at_once:
            self.transport.close()
        else:
            self.transport.write_eof()

    def _expect_head(self, seconds: float | None = None) -> None:
        self._end_head()
        self._is_in_head = True
        within = _HEAD_SECONDS if seconds is None else seconds
        self._head_timer = self.loop.call_later(within, self.transport.close)

    def _end_head(self) -> None:
        self._is_in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """WebSocket with limits in both directions, and several frames a write."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stall = _Stall(self.config, self.loop)
        self._inbox = bytearray()
        self._is_feeding = False
        self._control_frames = 0
        self._control_since = self.loop.time()

    # -- out --------------------------------------------------------------------------------

    async def send_frames(self, frames: bytes) -> None:
        """Write whole frames once the client can receive them.

        Raises:
            ClientDisconnected: it has disconnected (an `OSError`).
        """
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.conn.state is not State.OPEN:
            raise ClientDisconnected
        self.transport.write(frames)

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self._stall.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._stall.end()
        self._inbox.clear()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close with 1012 at shutdown, and reset clients that do not read."""
        super().shutdown()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """Reset a client that did not answer a ping."""
        super().keepalive_timeout()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    # -- in ---------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parse the first slice of frames now, the rest on later turns of the loop."""
        self._inbox += data
        if not self._is_feeding:
            self._feed()

    async def receive(self) -> Any:
        """The app's next message; parsing continues once the queue is empty."""
        message = await self.queue.get()
        if self.queue.empty():
            self._continue_reading()
        return message

    def _feed(self) -> None:
        """Parse one slice."""
        self._is_feeding = False
        if self.disconnected or (self.close_sent and self.transport.is_closing()):
            self._inbox.clear()
            return
        piece = bytes(self._inbox[:_SLICE])
        del self._inbox[:_SLICE]
        super().data_received(piece)
        self._answer_failed_handshake()
        if self._inbox and not self.read_paused and not self.transport.is_closing():
            self.read_paused = True
            self.transport.pause_reading()
        if self.queue.empty() or self.close_sent:
            self._continue_reading()

    def _continue_reading(self) -> None:
        if self._inbox and not self._is_feeding:
            self._is_feeding = True
            self.loop.call_soon(self._feed)
        elif self.read_paused and not self._inbox and not self.transport.is_closing():
            self.read_paused = False
            self.transport.resume_reading()

    def _answer_failed_handshake(self) -> None:
        """Send the refusal of a handshake that could not be parsed."""
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.handshake_complete = self.close_sent = True
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def handle_connect(self, event: Request) -> None:
        """Add this transport to the scope's extensions."""
        super().handle_connect(event)
        if not self.close_sent:
            extensions: dict[str, Any] = self.scope.setdefault("extensions", {})
            extensions[TRANSPORT_EXTENSION] = self

    def handle_ping(self) -> None:
        """Answer, unless the client does not read or floods."""
        if self._is_control_flood():
            self._fail("too many control frames")
        elif self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_pong(self, event: Frame) -> None:
        """A pong, solicited or not."""
        if self._is_control_flood():
            self._fail("too many control frames")
        else:
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """A part of a message."""
        if len(self.frames) >= _MAX_FRAGMENTS:
            self._fail("too many fragments")
        else:
            super().handle_cont(event)

    def _is_control_flood(self) -> bool:
        now = self.loop.time()
        if now - self._control_since >= 1.0:
            self._control_since, self._control_frames = now, 0
        self._control_frames += 1
        return self._control_frames > _CONTROL_FRAMES_PER_SECOND

    def _fail(self, reason: str) -> None:
        if self.close_sent:
            return
        self.conn.fail(_POLICY_VIOLATION, reason)
        self.handle_parser_exception()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)
