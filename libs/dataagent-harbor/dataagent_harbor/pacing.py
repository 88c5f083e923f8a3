"""When questions are asked: so many at once, or so many a second, growing over a ramp.

With a rate, each question has a moment at which it is due, whatever became of the ones before it;
latency counts from there, so that a server that stalls is charged for those who would have waited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `concurrency` at once; with a `rate`, one every 1/rate seconds once ramped up."""

    concurrency: int = 4
    rate: float | None = None
    ramp_seconds: float = 0.0

    def due_after(self, number: int) -> float:
        """Seconds after the start at which the question of that number, from 0, is due."""
        if self.rate is None:
            return self.ramp_seconds * min(number / self.concurrency, 1.0)
        ramped = self.rate * self.ramp_seconds / 2  # asked while the rate grows from 0
        if number < ramped:
            return (2 * number * self.ramp_seconds / self.rate) ** 0.5
        return self.ramp_seconds + (number - ramped) / self.rate


async def pace_items(items: Sequence[T], pace: Pace) -> AsyncIterator[tuple[T, float | None]]:
    """Each item when it is due, with that moment if there is a rate."""
    start = time.monotonic()
    for number, item in enumerate(items):
        due = start + pace.due_after(number)
        await asyncio.sleep(max(due - time.monotonic(), 0))
        yield item, (None if pace.rate is None else due)
