"""The last layer before the network: uvicorn's protocols, with bounds they leave open.

- A client that takes nothing for `stall_seconds` is disconnected, whatever is being sent to it, and
  by reset: a polite close would wait for the very client that does not read.
- A request's head has a size and a time limit; a connection that says nothing is closed.
- A connection that would take the file descriptors the rest of the process needs is refused.
- What a socket's client sends is parsed in slices, one per turn of the event loop, and no further
  than the app has read; control frames have a rate. A flood is slow for the flooder alone.
- A socket takes several frames in one write (`SocketTransport`).

It knows nothing of chat. Above: `serve.py` runs it.
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
    """uvicorn's configuration with our protocols and our one number."""

    def __init__(self, app: Any, *, stall_seconds: float, **options: Any) -> None:
        super().__init__(app, http=HttpProtocol, ws=WebSocketProtocol, **options)
        self.stall_seconds = stall_seconds
        self.descriptors = Descriptors(descriptor_limit())


def descriptor_limit() -> int | None:
    """How many file descriptors this process may have open; None: as many as it likes."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class Descriptors:
    """Keeps a part of the process's file descriptors for databases, files and programs.

    The system gives a new connection the lowest free number, so the number says how many are in
    use, by whatever.
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
        """Whether a connection with this descriptor is to be answered with 503 and closed."""
        return self._limit is not None and number >= self._refused_from

    def are_scarce(self, number: int) -> bool:
        """Whether a connection that is refused has to go as soon as it is answered."""
        return self._limit is not None and number >= self._scarce_from

    def resets(self, number: int) -> bool:
        """Whether so few are left that a connection cannot even be answered."""
        return self._limit is not None and number >= self._reset_from

    def refusal(self) -> bytes:
        """The answer to a request on a connection that is refused."""
        now = time.monotonic()
        if now - self._warned_at >= _WARN_SECONDS:
            self._warned_at = now
            logger.warning(
                "connections are refused: few of the %s file descriptors are free (ulimit -n)",
                self._limit,
            )
        message = "The server has no room for another connection. Try again later."
        body = orjson.dumps({"error_code": "too_many_connections", "message": message})
        return (
            b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nretry-after: %d\r\nconnection: close\r\n\r\n%b"
            % (len(body), _RETRY_AFTER_SECONDS, body)
        )


class _Stall:
    """Resets a connection whose client takes nothing for too long."""

    def __init__(self, config: uvicorn.Config, loop: asyncio.AbstractEventLoop) -> None:
        self._seconds: float = getattr(config, "stall_seconds", 20.0)
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        """The client's buffer is full."""
        self.end()
        self._timer = self._loop.call_later(self._seconds, transport.abort)

    def end(self) -> None:
        """The client reads again, or is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpProtocol(HttpToolsProtocol):
    """HTTP/1.1 with a bound on heads, on descriptors and on clients that do not read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stall = _Stall(self.config, self.loop)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = True
        self._descriptors: Descriptors = getattr(self.config, "descriptors", Descriptors(None))
        self._is_refused = False
        self._is_answered = False
        self._goes_at_once = False

    # as the base does
    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client is there; its first request has to come in time, if there is room for it."""
        super().connection_made(transport)
        number: int = transport.get_extra_info("socket").fileno()
        if self._descriptors.resets(number):
            transport.abort()
            return
        self._is_refused = self._descriptors.refuses(number)
        self._goes_at_once = self._descriptors.are_scarce(number)
        self._expect_head(_LINGER_SECONDS if self._is_refused else _HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """A client is gone."""
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
        """The client does not keep up."""
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self._stall.end()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the shape of all errors."""
        body = orjson.dumps({"error_code": "bad_input", "message": msg})
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        )
        self.transport.write(head + body)
        self.transport.close()

    def _refuse(self) -> None:
        """Answer once, and read on for a moment: a close now could take the answer away."""
        if self._is_answered:
            return
        self._is_answered = True
        self.transport.write(self._descriptors.refusal())
        if self._goes_at_once:
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
    """WebSocket with bounds in both directions, and several frames a write."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stall = _Stall(self.config, self.loop)
        self._inbox = bytearray()
        self._is_feeding = False
        self._control_frames = 0
        self._control_since = self.loop.time()

    # -- out --------------------------------------------------------------------------------

    async def send_frames(self, frames: bytes) -> None:
        """Write whole frames once the client takes them.

        Raises:
            ClientDisconnected: it is gone (an `OSError`).
        """
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.conn.state is not State.OPEN:
            raise ClientDisconnected
        self.transport.write(frames)

    def pause_writing(self) -> None:
        """The client does not keep up."""
        super().pause_writing()
        self._stall.begin(self.transport)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self._stall.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client is gone."""
        self._stall.end()
        self._inbox.clear()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server ends: close with 1012, and do not wait long for those who do not read."""
        super().shutdown()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """A client did not answer our ping: it is gone, whatever its connection says."""
        super().keepalive_timeout()
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    # -- in ---------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Bytes of frames; the first slice at once, the rest when others have had their turn."""
        self._inbox += data
        if not self._is_feeding:
            self._feed()

    async def receive(self) -> Any:
        """The app's next message; reading goes on once it has taken all there are."""
        message = await self.queue.get()
        if self.queue.empty():
            self._go_on()
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
            self._go_on()

    def _go_on(self) -> None:
        if self._inbox and not self._is_feeding:
            self._is_feeding = True
            self.loop.call_soon(self._feed)
        elif self.read_paused and not self._inbox and not self.transport.is_closing():
            self.read_paused = False
            self.transport.resume_reading()

    def _answer_failed_handshake(self) -> None:
        """The handshake's head was refused while parsing: send the refusal that waits."""
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.handshake_complete = self.close_sent = True
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def handle_connect(self, event: Request) -> None:
        """A handshake came: offer the app what ASGI does not."""
        super().handle_connect(event)
        if not self.close_sent:
            extensions: dict[str, Any] = self.scope.setdefault("extensions", {})
            extensions[TRANSPORT_EXTENSION] = self

    def handle_ping(self) -> None:
        """Answer, unless the client does not read answers or does nothing but ask."""
        if self._is_control_flood():
            self._fail("too many control frames")
        elif self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_pong(self, event: Frame) -> None:
        """A pong, asked for or not."""
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
