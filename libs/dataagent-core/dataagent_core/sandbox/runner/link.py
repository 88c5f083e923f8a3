"""The session's connection to its supervisor: blocking frames, and cancellation."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Iterable
from itertools import chain

from .frames import Frame, FrameBuffer, prefix

_CHUNK = 1 << 20


class LinkClosed(Exception):
    """The supervisor is gone."""


class SupervisorLink:
    """Frames over two descriptors, which may be the same one."""

    def __init__(self, readable: int, writable: int) -> None:
        self._readable = readable
        self._writable = writable
        self._buffer = FrameBuffer()
        self._waiting: deque[Frame] = deque()
        self._is_closed = False

    def fileno(self) -> int:
        """Return the descriptor that becomes readable with the supervisor's frames."""
        return self._readable

    @property
    def has_waiting(self) -> bool:
        """Whether a frame has already been received."""
        return bool(self._waiting)

    def receive(self) -> Frame:
        """Wait for the next request; a late `cancel` is ignored.

        Raises:
            LinkClosed: there will be none.
            BadFrame: what came is none.
        """
        while True:
            while self._waiting:
                frame = self._waiting.popleft()
                if frame.op != "cancel":
                    return frame
            if self._is_closed:
                raise LinkClosed
            self._read()

    def is_cancelled(self) -> bool:
        """Whether the run was cancelled, or the supervisor is gone."""
        while not self._is_closed and select.select([self._readable], [], [], 0)[0]:
            self._read()
        if self._is_closed:
            return True
        cancelled = [frame for frame in self._waiting if frame.op == "cancel"]
        for frame in cancelled:
            self._waiting.remove(frame)
        return bool(cancelled)

    def send(self, frame: Frame, size: int = 0, body: Iterable[bytes] = ()) -> None:
        """Send an answer; the frame's body comes in parts of `size` bytes together.

        Raises:
            LinkClosed: the supervisor is gone.
        """
        try:
            for part in chain([prefix(frame, size)], body):
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(self._writable, rest) :]
        except OSError as error:
            raise LinkClosed from error

    def _read(self) -> None:
        try:
            chunk = os.read(self._readable, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._is_closed = True
            return
        self._waiting.extend(self._buffer.add(chunk))
