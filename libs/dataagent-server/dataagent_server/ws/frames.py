"""WebSocket text frames as bytes, and the name under which our transport offers to send them. Pure.

A server's frames are neither masked nor, here, compressed, so a frame is a short header and the
payload. Events reach a socket as UTF-8 JSON already; framing them directly saves a decode, an
encode and an object for each.
"""

from __future__ import annotations

import struct

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
