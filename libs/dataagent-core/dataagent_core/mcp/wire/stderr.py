"""The last words of a server's process: what it wrote to stderr, the newest few kilobytes of it.

They never reach our own log; an owner reads them when the process ended early. Pure.
"""

from __future__ import annotations

from collections import deque

_MOST_BYTES = 16 * 1024


class Stderr:
    """A ring of bytes."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._parts: deque[bytes] = deque()
        self._size = 0

    def write(self, data: bytes) -> None:
        """Keep the newest; let the oldest go."""
        data = data[-self._most :]
        self._parts.append(data)
        self._size += len(data)
        while self._size > self._most:
            oldest = self._parts.popleft()
            surplus = self._size - self._most
            self._size -= len(oldest)
            if len(oldest) > surplus:
                self._parts.appendleft(oldest[surplus:])
                self._size += len(oldest) - surplus

    def text(self) -> str:
        """All that is kept."""
        return b"".join(self._parts).decode("utf-8", "replace")

    def last_line(self) -> str:
        """The last line that says something."""
        lines = [line.strip() for line in self.text().splitlines()]
        return next((line for line in reversed(lines) if line), "")
