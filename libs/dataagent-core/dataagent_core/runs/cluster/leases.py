"""The leases of one process on its runs: how others know that it lives.

A lease is renewed long before it ends; one that is given up ends at once. Above: `worker.py`.
Below: a `RunStore`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dataagent_core.errors import StaleAttempt, Unavailable
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Run
from dataagent_core.session.types import now

_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RenewalResult:
    """What a process learns when it renews its leases."""

    cancelled: set[str]  # runs it is to cancel
    lost: set[str]  # runs that are not its own any more


class Leases:
    """What a process holds."""

    def __init__(self, store: RunStore, name: str, *, seconds: float) -> None:
        """`name` is the process's; a lease lasts so many `seconds` without being renewed."""
        self._store = store
        self._name = name
        self._seconds = seconds
        self._one_at_a_time = asyncio.Lock()  # or one given up could be renewed
        self._woken = asyncio.Event()
        self.wake_count = 0  # how often someone wanted a look
        self._acquiring = 0
        self._none_acquiring = asyncio.Event()
        self._none_acquiring.set()
        self._renewed_until = _LONG_AGO  # what was held then

    def until(self) -> datetime:
        """Until when a lease taken now lasts."""
        return now() + timedelta(seconds=self._seconds)

    @contextmanager
    def acquiring(self) -> Generator[datetime]:
        """Take a lease until the time given; `wait_for_acquisitions` waits for this to end."""
        self._acquiring += 1
        self._none_acquiring.clear()
        try:
            yield self.until()
        finally:
            self._acquiring -= 1
            if not self._acquiring:
                self._none_acquiring.set()

    async def wait_for_acquisitions(self, timeout_seconds: float) -> None:
        """Wait until nobody is about to take a lease."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._none_acquiring.wait()

    async def wait_until_due(self) -> None:
        """Wait until it is time to renew, or until someone wants a look."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds / 4):
                await self._woken.wait()
        self._woken.clear()

    def wake(self) -> None:
        """End the pause."""
        self.wake_count += 1
        self._woken.set()

    async def renew(self, run_ids: Callable[[], Collection[str]]) -> RenewalResult:
        """Extend the leases of these runs, as they are by then."""
        async with self._one_at_a_time:
            asked, until = set(run_ids()), self.until()
            held = await self._store.renew(self._name, asked, until)
            self._renewed_until = until
        cancelled = {run_id for run_id, is_cancelled in held.items() if is_cancelled}
        return RenewalResult(cancelled=cancelled, lost=asked - held.keys())

    async def ensure_held(self, run: Run, *, is_lost: bool = False) -> None:
        """Make sure that nobody can take a run over for half a lease from now.

        The store is only asked when it was not for a while, as in a process that was frozen.

        Raises:
            StaleAttempt: the run is another's by now.
        """
        surely_until = max(run.lease_until or _LONG_AGO, self._renewed_until)
        if not is_lost and now() < surely_until - timedelta(seconds=self._seconds / 2):
            return
        async with self._one_at_a_time:
            held = await self._store.renew(self._name, [run.run_id], self.until())
        if run.run_id not in held:
            raise StaleAttempt(f"Another process has taken over run {run.run_id}.")

    async def release(self, run_id: str) -> None:
        """End a lease, so that another process takes the run at once."""
        with suppress(Unavailable):  # then it ends by itself
            async with self._one_at_a_time:
                await self._store.renew(self._name, [run_id], _LONG_AGO)
