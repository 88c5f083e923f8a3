"""Frames on the supervisor's side: the wire format of `runner/frames.py` over asyncio streams.

The format itself, and what each frame means, is documented there; this module only waits for
bytes. A wall that has no stream (Docker's attach socket) feeds a `FrameBuffer` instead.
"""

from __future__ import annotations

import asyncio

from dataagent_core.errors import SandboxGone
from dataagent_core.sandbox.runner.frames import (
    LENGTHS_SIZE,
    BadFrame,
    Frame,
    FrameBuffer,
    decode,
    encode,
    items,
    lengths,
    pack_files,
    unpack_files,
)

__all__ = [
    "BadFrame",
    "Frame",
    "FrameBuffer",
    "FrameStream",
    "encode",
    "items",
    "pack_files",
    "unpack_files",
]


class FrameStream:
    """Frames over a pair of streams. One reader and one writer at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, frame: Frame) -> None:
        """Write a frame and wait until it is on its way.

        Raises:
            SandboxGone: the other side has ended.
        """
        try:
            self._writer.write(encode(frame))
            await self._writer.drain()
        except OSError as error:
            raise SandboxGone("The sandbox has ended.") from error

    async def receive(self) -> Frame:
        """Wait for the next frame; as `send` if there is none."""
        try:
            header, body = lengths(await self._reader.readexactly(LENGTHS_SIZE))
            head = await self._reader.readexactly(header)
            return decode(head, await self._reader.readexactly(body))
        except (asyncio.IncompleteReadError, OSError, BadFrame) as error:
            raise SandboxGone("The sandbox has ended.") from error

    def close(self) -> None:
        """Close both directions."""
        self._writer.close()
