"""The leases of one process on its runs, which show other processes that it lives.

A lease is renewed long before it ends; one that is released ends at once.
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
    """The outcome of renewing leases."""

    cancelled: set[str]  # runs to cancel
    lost: set[str]  # runs that another process owns by now


class Leases:
    """The leases that a process holds."""

    def __init__(self, store: RunStore, name: str, *, seconds: float) -> None:
        """`name` is the process's; a lease lasts `seconds` without being renewed."""
        self._store = store
        self._name = name
        self._seconds = seconds
        self._lock = asyncio.Lock()  # without it a released lease could be renewed
        self._woken = asyncio.Event()
        self.wake_count = 0  # calls of `wake`
        self._acquiring = 0
        self._none_acquiring = asyncio.Event()
        self._none_acquiring.set()
        self._renewed_until = _LONG_AGO

    def until(self) -> datetime:
        """When a lease taken now ends."""
        return now() + timedelta(seconds=self._seconds)

    @contextmanager
    def acquiring(self) -> Generator[datetime]:
        """Take a lease until the yielded time; `wait_for_acquisitions` waits for this to end."""
        self._acquiring += 1
        self._none_acquiring.clear()
        try:
            yield self.until()
        finally:
            self._acquiring -= 1
            if not self._acquiring:
                self._none_acquiring.set()

    async def wait_for_acquisitions(self, timeout_seconds: float) -> None:
        """Wait until no lease is being taken."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._none_acquiring.wait()

    async def wait_until_due(self) -> None:
        """Wait until it is time to renew, or until `wake` is called."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds / 4):
                await self._woken.wait()
        self._woken.clear()

    def wake(self) -> None:
        """End the wait of `wait_until_due`."""
        self.wake_count += 1
        self._woken.set()

    async def renew(self, run_ids: Callable[[], Collection[str]]) -> RenewalResult:
        """Extend the leases of these runs; the ids are read once it is this call's turn."""
        async with self._lock:
            requested, until = set(run_ids()), self.until()
            held = await self._store.renew(self._name, requested, until)
            self._renewed_until = until
        cancelled = {run_id for run_id, is_cancelled in held.items() if is_cancelled}
        return RenewalResult(cancelled=cancelled, lost=requested - held.keys())

    async def ensure_held(self, run: Run, *, is_lost: bool = False) -> None:
        """Make sure that no other process can take a run over for half a lease from now.

        The store is read only if the lease was not renewed for a while, as in a frozen process.

        Raises:
            StaleAttempt: another process owns the run.
        """
        certain_until = max(run.lease_until or _LONG_AGO, self._renewed_until)
        if not is_lost and now() < certain_until - timedelta(seconds=self._seconds / 2):
            return
        async with self._lock:
            held = await self._store.renew(self._name, [run.run_id], self.until())
        if run.run_id not in held:
            raise StaleAttempt(f"Another process has taken over run {run.run_id}.")

    async def release(self, run_id: str) -> None:
        """End a lease, so that another process takes the run at once."""
        with suppress(Unavailable):  # then it ends by itself
            async with self._lock:
                await self._store.renew(self._name, [run_id], _LONG_AGO)
