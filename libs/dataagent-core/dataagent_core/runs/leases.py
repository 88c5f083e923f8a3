"""Takes over runs without a living owner: queued ones, and those whose worker died.

Decides which of them this process claims; the store makes sure that only one process gets each.
What then happens to a run is up to `worker.py`: a queued one is answered, one that waits for an
approval goes on waiting, any other ends as failed, because nothing is executed twice. A claimed run
must be begun, so a process that stops claims none and waits for the claims in progress.

The leases of one process on its runs: how others know that it lives.

A lease is renewed long before it ends; one that is given up ends at once. Above: `worker.py`.
Below: a `RunStore`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from dataagent_core.errors import StaleAttempt, Unavailable
from dataagent_core.events import ErrorEvent
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


_PAST_ALL_LEASES = datetime(9999, 1, 1, tzinfo=UTC)  # all other processes are known to be dead
_UNANNOUNCED_SECONDS = 1.0  # after that its queue message may be lost
_BATCH_SIZE = 50
_RETRY_SECONDS = 0.2
LOST = ErrorEvent(
    error="The process that answered this message stopped. What it had said is kept; ask again.",
    error_code="interrupted",
    recoverable=True,
)
NOT_TAKEN = ErrorEvent(
    error="No worker was free to answer this message in time. Ask again.",
    error_code="not_taken",
    recoverable=True,
)


@dataclass(frozen=True, slots=True)
class WorkerRole:
    """What a process does with runs it did not open."""

    takes_queued: bool = False  # answers queued runs
    resumes_waiting: bool = True  # continues runs that wait for an approval
    max_runs: int = 200  # executed at once, not counting those that wait for an approval
    queue_seconds: float = 300.0  # after that a queued run ends as failed


class RunOwner(Protocol):
    """The part of a `Worker` that recovery needs."""

    name: str
    leases: Leases
    is_closing: bool

    @property
    def busy(self) -> int:
        """How many runs it executes, not counting those that wait for an approval."""
        ...

    def owns(self, run_id: str) -> bool:
        """Whether it has the run already."""
        ...

    def begin(self, run: Run, last_seq: int) -> None:
        """Answer a run."""
        ...

    async def take_over(self, run: Run, lost: ErrorEvent = LOST) -> None:
        """Continue a run that waits for an approval, or end it."""
        ...


class Recovery:
    """Claims runs without an owner for this process's worker."""

    def __init__(self, store: RunStore, owner: RunOwner, worker_role: WorkerRole) -> None:
        self._store = store
        self._owner = owner
        self._worker_role = worker_role
        self._capacity_freed = asyncio.Event()

    async def recover(self, *, not_worker: str | None = None) -> int:
        """Claim every run this process may take; return how many."""
        taken = 0
        at = None if not_worker is None else _PAST_ALL_LEASES
        for lost in await self._store.abandoned(now(), not_worker=not_worker):
            if self._owner.owns(lost.run_id) or not self._may_take(lost):
                continue
            taken += await self._claim(lost.run_id, at=at)
        return taken + await self._take_queued()

    def _may_take(self, lost: Run) -> bool:
        return (
            self._worker_role.resumes_waiting or lost.status != "waiting" or lost.cancel_requested
        )

    async def _take_queued(self) -> int:
        taken, at = 0, now()
        waiting = at - timedelta(seconds=_UNANNOUNCED_SECONDS)
        for run in await self._store.queued(waiting, limit=_BATCH_SIZE):
            if run.created_at < at - timedelta(seconds=self._worker_role.queue_seconds):
                taken += await self._claim(run.run_id, lost=NOT_TAKEN)
            elif self._worker_role.takes_queued and self._has_capacity:
                taken += await self._claim(run.run_id)
        return taken

    async def claim(self, run_id: str) -> bool:
        """Claim a run that has no living owner and continue it; False if another process has it."""
        return await self._claim(run_id)

    async def _claim(
        self, run_id: str, *, at: datetime | None = None, lost: ErrorEvent | None = None
    ) -> bool:
        if self._owner.is_closing:
            return False
        with self._owner.leases.acquiring() as until:
            run = await self._store.claim(run_id, worker=self._owner.name, lease_until=until, at=at)
            if run is None:
                return False
            if run.attempt == 1 and lost is None and not run.cancel_requested:
                self._owner.begin(run, await self._last_seq(run, until))
            else:
                await self._owner.take_over(run, lost or LOST)
            return True

    async def _last_seq(self, run: Run, until: datetime) -> int:
        """The session's last `seq`, retried while the claimed run is ours.

        Raises:
            Unavailable: the store was unavailable until the lease ended.
        """
        while True:
            try:
                return await self._store.last_seq(run.session_id)
            except Unavailable:
                if now() > until:
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    # -- capacity -------------------------------------------------------------------------------

    @property
    def _has_capacity(self) -> bool:
        return self._owner.busy < self._worker_role.max_runs

    async def wait_for_capacity(self) -> None:
        """Wait until one more run can be answered."""
        while not self._has_capacity:
            self._capacity_freed.clear()
            await self._capacity_freed.wait()

    def notify_capacity(self) -> None:
        """Wake `wait_for_capacity`: a run has ended, or waits for an approval."""
        self._capacity_freed.set()
