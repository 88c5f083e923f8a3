"""How late chunks of a paced answer are.

The scripted model says `chunk0 chunk1 …`, one each so many milliseconds from the start of its turn.
A chunk's added latency is when it was received minus when it was due. An event may carry several:
each counts with its own due time, so that holding text back to merge it is not hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

_CHUNK = re.compile(r"chunk(\d+) ")


class Lateness:
    """Collects the added latency of chunks received within a stretch of time, in seconds."""

    def __init__(self, pace_seconds: float, begin: float, end: float) -> None:
        self.values: list[float] = []
        self._pace = pace_seconds
        self._begin = begin
        self._end = end

    def hears(self, turn_started: float) -> Callable[[str], None]:
        """What a turn that started then says its text to."""
        return lambda text: self.received(text, turn_started, monotonic())

    def received(self, text: str, turn_started: float, now: float) -> None:
        """Text of a turn that started then came now."""
        if self._begin <= now <= self._end:
            first_due = turn_started + self._pace
            for number in _CHUNK.findall(text):
                self.values.append(now - first_due - int(number) * self._pace)
