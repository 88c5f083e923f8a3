"""Takes over runs without a living owner: queued ones, and those whose process died.

The store makes sure that one process gets each. A queued run is answered, one that waits for an
approval goes on waiting, any other ends as failed, because nothing is executed twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from dataagent_core.errors import Unavailable
from dataagent_core.events import AnyEvent, DoneEvent, ErrorEvent, HITLRequestEvent
from dataagent_core.runs.approvals import is_waiting_in_call
from dataagent_core.runs.history import AnswerBuilder
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Run
from dataagent_core.session.types import now

if TYPE_CHECKING:
    from dataagent_core.runs.execution import Worker

logger = logging.getLogger(__name__)
_PAST_ALL_LEASES = datetime(9999, 1, 1, tzinfo=UTC)  # all other processes are known to be dead
_UNANNOUNCED_SECONDS = 1.0  # after that its queue message may be lost
_BATCH_SIZE = 50
_RETRY_SECONDS = 0.2
LOST = ErrorEvent(
    error="The process that answered this message stopped. The answer so far is stored; ask again.",
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


class Recovery:
    """Claims runs without an owner for this process's worker."""

    def __init__(self, store: RunStore, worker: Worker, role: WorkerRole) -> None:
        self._store = store
        self._worker = worker
        self._role = role
        self._capacity_freed = asyncio.Event()

    async def recover(self, *, not_worker: str | None = None) -> int:
        """Claim every run this process may take; return how many.

        With `not_worker` the runs of all other workers are claimed, whatever their leases say.
        """
        taken = 0
        at = None if not_worker is None else _PAST_ALL_LEASES
        for run in await self._store.abandoned(now(), not_worker=not_worker):
            if not self._worker.owns(run.run_id) and self._may_take(run):
                taken += await self.claim(run.run_id, at=at)
        return taken + await self._take_queued()

    def _may_take(self, run: Run) -> bool:
        return self._role.resumes_waiting or run.status != "waiting" or run.cancel_requested

    async def _take_queued(self) -> int:
        taken, at = 0, now()
        unannounced = at - timedelta(seconds=_UNANNOUNCED_SECONDS)
        for run in await self._store.queued(unannounced, limit=_BATCH_SIZE):
            if run.created_at < at - timedelta(seconds=self._role.queue_seconds):
                taken += await self.claim(run.run_id, failure=NOT_TAKEN)
            elif self._role.takes_queued and self._has_capacity:
                taken += await self.claim(run.run_id)
        return taken

    async def claim(
        self, run_id: str, *, at: datetime | None = None, failure: ErrorEvent | None = None
    ) -> bool:
        """Claim a run that has no living owner (at `at`, by default now) and continue it.

        With `failure` it ends with that error. False if the run has an owner or this process stops:
        a claimed run must be continued, and `Worker.aclose` waits for the claims in progress.
        """
        if self._worker.is_closing:
            return False
        with self._worker.leases.acquiring() as until:
            run = await self._store.claim(
                run_id, worker=self._worker.name, lease_until=until, at=at
            )
            if run is None:
                return False
            if run.attempt == 1 and failure is None and not run.cancel_requested:
                self._worker.begin(run, await self._last_seq(run, until))
            else:
                await self._take_over(run, failure or LOST)
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

    async def _take_over(self, run: Run, failure: ErrorEvent) -> None:
        """Continue a claimed run if it waits for an approval, else end it."""
        entries = await self._store.read_run(run.run_id)
        last_seq = await self._store.last_seq(run.session_id)
        active = self._worker.activate(run, last_seq, sum(len(entry.wire) for entry in entries))
        unsaved = AnswerBuilder()  # text since the last checkpoint, which is at each request
        for event in (entry.event for entry in entries):
            active.answer.add(event)
            unsaved.add(event)
            if isinstance(event, HITLRequestEvent):
                active.written_requests.add(event.request_id)
                unsaved = AnswerBuilder()
        if run.cancel_requested:
            events = self._cancel(run, unsaved.text)
        elif run.status == "waiting" and not is_waiting_in_call(
            await self._store.approvals(run.run_id)
        ):
            events = self._worker.agent_events(active, is_resumed=True)
        else:
            events = self._fail(run, unsaved.text, failure)
        self._worker.launch(active, events)

    async def _cancel(self, run: Run, partial_text: str) -> AsyncGenerator[AnyEvent]:
        """The events of a run that was cancelled while no process owned it."""
        await self._worker.record_interrupted_run(run, partial_text)
        yield DoneEvent(cancelled=True, reason="user_cancelled")

    async def _fail(
        self, run: Run, partial_text: str, failure: ErrorEvent
    ) -> AsyncGenerator[AnyEvent]:
        """The events of a lost run, whose partial answer is recorded in the thread."""
        logger.warning("run %s is lost (%s); it ends as failed", run.run_id, failure.error_code)
        await self._worker.record_interrupted_run(run, partial_text)
        yield ErrorEvent(
            error=failure.error, error_code=failure.error_code, recoverable=failure.recoverable
        )
        yield DoneEvent(reason="failed")

    # -- capacity -------------------------------------------------------------------------------

    @property
    def _has_capacity(self) -> bool:
        return self._worker.busy < self._role.max_runs

    async def wait_for_capacity(self) -> None:
        """Wait until one more run can be answered."""
        while not self._has_capacity:
            self._capacity_freed.clear()
            await self._capacity_freed.wait()

    def notify_capacity(self) -> None:
        """Wake `wait_for_capacity`: a run has ended, or waits for an approval."""
        self._capacity_freed.set()
