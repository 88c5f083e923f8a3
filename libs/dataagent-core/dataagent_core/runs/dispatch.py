"""Decides where a run is executed, and stops a run in whichever process owns it.

Without a queue a run begins in the process that accepted it; with one it is left to the workers. A
run of this process is stopped directly. For a run of another process the cancellation is stored,
its owner is notified, and the caller waits for the end.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from dataagent_core.errors import Unavailable
from dataagent_core.runs.cluster.bus import LocalBus
from dataagent_core.runs.cluster.control import Control
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.tracing import with_traceparent
from dataagent_core.runs.types import NewRun, OpenedRun, Run
from dataagent_core.runs.worker import Worker
from dataagent_core.session.types import now
from dataagent_core.telemetry import Traces

if TYPE_CHECKING:
    from dataagent_core.runs.cluster.queue import RunQueue

_STOP_SECONDS = 5.0
_PAUSES = (0.02, 0.05, 0.1, 0.2)


class Dispatch:
    """Starts and stops runs in the process they belong to."""

    def __init__(
        self,
        store: RunStore,
        worker: Worker,
        *,
        control: Control | None = None,
        queue: RunQueue | None = None,
        traces: Traces | None = None,
    ) -> None:
        """With a `queue` runs are executed by other processes, which take them from it.

        With `traces` a run stores its position in the trace of the request that starts it.
        """
        self._store = store
        self._worker = worker
        self._control = control or Control(LocalBus())
        self._queue = queue
        self._traces = traces or Traces()

    async def open(self, new: NewRun) -> OpenedRun:
        """Commit a run and start or enqueue its execution.

        Raises:
            SessionNotFound, SessionBusy: as `RunStore.open`.
            Unavailable: this process is stopping.
        """
        if self._worker.is_closing:
            raise Unavailable("This process is shutting down. Try again in a moment.")
        new = with_traceparent(new, self._traces)
        if self._queue is not None:
            opened = await self._store.open(new, worker=None, lease_until=None)
            if opened.is_new:
                self._queue.put(opened.run.run_id)
            return opened
        worker = self._worker
        with worker.leases.acquiring() as until:
            opened = await self._store.open(new, worker=worker.name, lease_until=until)
            if opened.is_new:
                worker.begin(opened.run, opened.last_seq)
        return opened

    async def stop(self, run: Run) -> None:
        """Stop a run and wait for its end, five seconds at most."""
        ended = self._worker.cancel(run.run_id)
        if ended is not None:
            await asyncio.wait({ended}, timeout=_STOP_SECONDS)
            return
        await self._store.request_cancel(run.run_id)
        if self._control.is_shared:
            await self._stop_elsewhere(run.run_id)

    async def _stop_elsewhere(self, run_id: str) -> None:
        """Notify the owner until the run has ended; end a run without a living owner here."""
        deadline = time.monotonic() + _STOP_SECONDS
        pauses = iter(_PAUSES)
        while time.monotonic() < deadline:
            run = await self._store.get(run_id)
            if run is None or not run.is_active:
                return
            if _is_ownerless(run):
                await self._worker.take(run_id)
            elif run.lease_owner is not None:
                self._control.cancel(run.lease_owner, run_id)
            await asyncio.sleep(next(pauses, _PAUSES[-1]))


def _is_ownerless(run: Run) -> bool:
    return run.status == "queued" or run.lease_until is None or run.lease_until < now()
