"""Sends a client's messages over its socket, in order and with bounded memory.

A send waits while the client does not read; the transport (`dataagent_server/transport.py`) resets
a client that reads nothing for too long, which ends the wait with an error.

A server's frames are neither masked nor, here, compressed: a frame is a short header and the
payload. Events are UTF-8 JSON already; framing them here saves a decode, an encode and an object
for each.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

TRANSPORT_EXTENSION = "dataagent.transport"
"""Key in an ASGI scope's `extensions`; the value is a `SocketTransport`."""

_TEXT = 0x81  # final frame, text


def text_frame(payload: bytes) -> bytes:
    """The payload (UTF-8) as one unmasked text frame (RFC 6455 §5.2)."""
    size = len(payload)
    if size < 126:
        return bytes((_TEXT, size)) + payload
    if size < 65536:
        return struct.pack("!BBH", _TEXT, 126, size) + payload
    return struct.pack("!BBQ", _TEXT, 127, size) + payload


_BURST_BYTES = 64 * 1024


class ClientGone(Exception):
    """The client has disconnected."""


class SocketTransport(Protocol):
    """What our transport offers beyond ASGI: several frames in one write."""

    async def send_frames(self, frames: bytes) -> None:
        """Write whole frames once the client can receive them; raises `OSError` after its end."""
        ...


class Outbox:
    """Sends to one socket."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        extensions: dict[str, Any] = websocket.scope.get("extensions") or {}
        self._transport: SocketTransport | None = extensions.get(TRANSPORT_EXTENSION)

    async def accept(self) -> None:
        """Complete the handshake.

        Raises:
            ClientGone: the client did not wait for it.
        """
        try:
            await self._websocket.accept()
        except OSError as error:
            raise ClientGone from error

    async def send(self, message: bytes) -> None:
        """Send one message.

        Raises:
            ClientGone: the client has left or was cut off.
        """
        await self.send_all([message])

    async def send_all(self, messages: Sequence[bytes]) -> None:
        """Send messages in order, as few writes as their size allows.

        Raises:
            ClientGone: the client has left or was cut off.
        """
        try:
            if self._transport is None:
                for message in messages:
                    await self._websocket.send_text(message.decode())
            else:
                await self._send_frames(self._transport, messages)
        except (OSError, WebSocketDisconnect) as error:
            raise ClientGone from error
        except RuntimeError as error:  # Starlette's word for "already closed"
            if self._websocket.application_state is WebSocketState.DISCONNECTED:
                raise ClientGone from error
            raise

    async def close(self, code: int, reason: str) -> None:
        """Say why, and close. Nothing happens if the socket is closed already."""
        if self._websocket.application_state is not WebSocketState.CONNECTED:
            return
        try:
            await self._websocket.close(code, reason)
        except (OSError, WebSocketDisconnect):
            return

    async def _send_frames(self, transport: SocketTransport, messages: Sequence[bytes]) -> None:
        burst: list[bytes] = []
        size = 0
        for message in messages:
            burst.append(text_frame(message))
            size += len(message)
            if size >= _BURST_BYTES:
                await transport.send_frames(b"".join(burst))
                burst, size = [], 0
        if burst:
            await transport.send_frames(b"".join(burst))
