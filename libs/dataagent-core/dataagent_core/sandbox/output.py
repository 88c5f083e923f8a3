"""Output that may be longer than we keep: its beginning and its end, and how much is missing."""

from __future__ import annotations


class TruncatedOutput:
    """Keeps the first three quarters and the last quarter of `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit * 3 // 4
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._total += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room] if room > 0 else b""
        self._tail += chunk[max(room, 0) :]
        if len(self._tail) > self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def is_cut(self) -> bool:
        """Whether something is missing."""
        return self._total > len(self._head) + len(self._tail)

    def text(self) -> str:
        """What was kept, with a note in place of what was not."""
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        if not self.is_cut:
            return (bytes(self._head) + bytes(self._tail)).decode(errors="replace")
        missing = self._total - len(self._head) - len(self._tail)
        return f"{head}\n… [{missing} of {self._total} bytes cut] …\n{tail}"
