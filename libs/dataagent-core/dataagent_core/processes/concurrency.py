"""Limits per key on how much runs at once and how often, and blocking work in a thread."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from dataagent_core.errors import UserLimit

_RETRY_SECONDS = 5


_MAX_KEYS = 10_000


@dataclass(slots=True)
class _KeyQueue:
    """The work of one key, running or waiting."""

    slots: asyncio.Semaphore
    count: int = 0


class KeyedLimiter:
    """Lets at most `at_once` pieces of work of a key run, and at most `waiting` more wait."""

    def __init__(self, what: str, *, at_once: int, waiting: int) -> None:
        """`what` names the work in a refusal."""
        self._what = what
        self._at_once = at_once
        self._limit = at_once + waiting
        self._queues: dict[Hashable, _KeyQueue] = {}

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncGenerator[None]:
        """Wait for a turn; it ends with the block.

        Raises:
            UserLimit: too much work of the key waits already.
        """
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _KeyQueue(asyncio.Semaphore(self._at_once))
        if queue.count >= self._limit:
            raise UserLimit(
                f"You have {queue.count} {self._what} under way, as many as one user may. "
                "Wait until some have ended, or cancel them.",
                details={"what": self._what, "limit": self._limit, "used": queue.count},
                retry_after_seconds=_RETRY_SECONDS,
            )
        queue.count += 1
        try:
            async with queue.slots:
                yield
        finally:
            queue.count -= 1
            if not queue.count:
                del self._queues[key]


class TokenBucket:
    """Allows a burst, then a steady rate, and says how long to wait. The caller passes the time."""

    def __init__(self, *, rate_per_second: float, burst: int, now: float) -> None:
        self._rate = rate_per_second
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = now

    def delay(self, now: float) -> float:
        """Take a token, and return the seconds to wait before using it."""
        self._fill(now)
        self._tokens -= 1.0
        return 0.0 if self._tokens >= 0.0 else -self._tokens / self._rate

    def wait(self, now: float) -> float:
        """Return the seconds until there is a token, and take none."""
        self._fill(now)
        return 0.0 if self._tokens >= 1.0 else (1.0 - self._tokens) / self._rate

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now


class KeyedRate:
    """A token bucket for each key, of which a minute's tokens may be used at once; 0 is no limit.

    The keys used least recently are forgotten beyond `max_keys`.
    """

    def __init__(
        self,
        per_minute: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        max_keys: int = _MAX_KEYS,
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._max_keys = max_keys
        self._buckets: OrderedDict[Hashable, TokenBucket] = OrderedDict()

    def wait(self, key: Hashable) -> float:
        """Return the seconds until `take` will succeed; 0 if it will now."""
        return self._bucket(key).wait(self._clock()) if self._per_minute else 0.0

    def take(self, key: Hashable) -> float:
        """Take a token if there is one and return 0; otherwise return the seconds to wait."""
        if not self._per_minute:
            return 0.0
        bucket, now = self._bucket(key), self._clock()
        seconds = bucket.wait(now)
        if not seconds:
            bucket.delay(now)
        return seconds

    def _bucket(self, key: Hashable) -> TokenBucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            rate = self._per_minute / 60
            bucket = TokenBucket(rate_per_second=rate, burst=self._per_minute, now=self._clock())
            self._buckets[key] = bucket
            while len(self._buckets) > self._max_keys:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return bucket


T = TypeVar("T")


async def run_in_thread(
    pool: ThreadPoolExecutor, work: Callable[[], T], *, interrupt: Callable[[], None]
) -> T:
    """Run the work and return its value; if the caller is cancelled, interrupt it and wait."""
    running = pool.submit(work)
    future = asyncio.wrap_future(running)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not running.cancel():
            interrupt()
        await _wait_ended(future)
        raise


async def _wait_ended(future: asyncio.Future[T]) -> None:
    """Wait for the end, however often the caller is cancelled meanwhile."""
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError:
            continue
    if not future.cancelled():
        future.exception()  # retrieved, so that asyncio does not log it
