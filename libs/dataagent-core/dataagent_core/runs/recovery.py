"""Takes over runs without a living owner: queued ones, and those whose worker died.

Decides which of them this process claims; the store makes sure that only one process gets each.
What then happens to a run is up to `worker.py`: a queued one is answered, one that waits for an
approval goes on waiting, any other ends as failed, because nothing is executed twice. A claimed run
must be begun, so a process that stops claims none and waits for the claims in progress.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from dataagent_core.errors import Unavailable
from dataagent_core.events import ErrorEvent
from dataagent_core.runs.cluster.leases import Leases
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Run
from dataagent_core.session.types import now

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
