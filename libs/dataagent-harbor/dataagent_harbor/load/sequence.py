"""Whether a session's events come with every number once. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Sequence:
    """What a reader saw of the numbers 1, 2, 3 … of a session's events."""

    last: int = 0
    gaps: int = 0  # numbers that did not come
    doubles: int = 0  # that came again

    def take(self, seq: int) -> None:
        """The next event's number."""
        if seq <= self.last:
            self.doubles += 1
            return
        self.gaps += seq - self.last - 1
        self.last = seq
