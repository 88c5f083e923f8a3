"""Runs, events and approvals in this process, beside the sessions of the same `MemoryData`.

Everything happens on one event loop without awaiting, so each method is atomic.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime

from dataagent_core.hitl import Decision
from dataagent_core.runs import store
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import (
    Approval,
    Batch,
    Ending,
    Entry,
    NewRun,
    OpenedRun,
    Run,
    RunStatus,
    entries_of,
)
from dataagent_core.session.stores.memory import MemoryData
from dataagent_core.session.types import DEFAULT_TITLE, now
from dataagent_core.storage.database import storable


class MemoryRunStore(RunStore):
    """Runs in memory."""

    def __init__(self, data: MemoryData) -> None:
        self._data = data
        self._runs: dict[str, Run] = {}
        self._run_ids: dict[str, list[str]] = {}  # by session
        self._clients: dict[tuple[str, str], str] = {}
        self._entries: dict[str, list[Entry]] = {}  # by session, in order
        self._approvals: dict[str, dict[str, Approval]] = {}  # by run
        data.on_delete.append(self._forget)

    # -- a run's life ---------------------------------------------------------------------------

    async def open(
        self, new: NewRun, *, worker: str | None, lease_until: datetime | None
    ) -> OpenedRun:
        """As `RunStore.open`."""
        session = self._data.visible(new.session_id)
        if session is None:
            raise store.no_session_error(new.session_id)
        last_seq = self._last_seq(new.session_id)
        earlier = self._clients.get((new.session_id, new.client_message_id or ""))
        if new.client_message_id is not None and earlier is not None:
            return OpenedRun(self._runs[earlier], last_seq, is_new=False)
        active = self._data.active_runs.get(new.session_id)
        if active is not None:
            raise store.busy_error(new.session_id, active)
        if new.limits is not None:
            others = [self._runs[run_id] for run_id in self._data.active_runs.values()]
            new.limits.check_user(sum(other.user_id == new.user_id for other in others))
            if worker is None:
                new.limits.check_queue(sum(other.status == "queued" for other in others))
        run = store.initial_run(deepcopy(new), worker=worker, lease_until=lease_until)
        self._add_new(run)
        for message in store.initial_messages(deepcopy(new)):
            self._data.add(message)
        if new.title is not None and session.title == DEFAULT_TITLE:
            session.title = new.title
        return OpenedRun(run, last_seq, is_new=True)

    def _add_new(self, run: Run) -> None:
        self._runs[run.run_id] = run
        self._run_ids.setdefault(run.session_id, []).append(run.run_id)
        self._data.active_runs[run.session_id] = run.run_id
        if run.client_message_id is not None:
            self._clients[run.session_id, run.client_message_id] = run.run_id

    async def claim(
        self, run_id: str, *, worker: str, lease_until: datetime, at: datetime | None = None
    ) -> Run | None:
        """As `RunStore.claim`."""
        run = self._runs.get(run_id)
        if run is None or not store.is_claimable(run, at or now()):
            return None
        self._runs[run_id] = replace(
            run,
            status="running" if run.status == "queued" else run.status,
            attempt=run.attempt + 1,
            lease_owner=worker,
            lease_until=lease_until,
            started_at=run.started_at or now(),
        )
        return self._runs[run_id]

    async def close(self, run: Run, ending: Ending, last: Batch) -> bool:
        """As `RunStore.close`; the same end written again is True."""
        stored = self._runs.get(run.run_id)
        if stored is None or not self._owns(run.run_id, run.attempt):
            return stored is not None and store.is_same_end(stored, run, ending)
        self._runs[run.run_id] = replace(
            stored,
            status=ending.status,
            ended_at=ending.ended_at,
            lease_owner=None,
            lease_until=None,
            token_usage=deepcopy(ending.token_usage),
            error=deepcopy(ending.error),
        )
        self._add_batch(last)
        self._close_session(stored, ending)
        for request_id, approval in self._approvals.get(run.run_id, {}).items():
            if approval.decision is None:
                closed = replace(approval, decision=store.CLOSING_DECISION)
                self._approvals[run.run_id][request_id] = closed
        return True

    def _close_session(self, run: Run, ending: Ending) -> None:
        del self._data.active_runs[run.session_id]
        self._data.sessions[run.session_id].last_active = ending.ended_at
        self._data.bytes_used[run.session_id] += ending.bytes_used
        messages = self._data.messages.get(run.session_id, {})
        if run.answer_id in messages:
            messages[run.answer_id] = replace(
                messages[run.answer_id],
                content=storable(ending.content),
                status=ending.message_status,
            )

    async def set_status(self, run: Run, status: RunStatus) -> bool:
        """As `RunStore.set_status`."""
        if not self._owns(run.run_id, run.attempt) or self._runs[run.run_id].status == "queued":
            return False
        self._runs[run.run_id] = replace(self._runs[run.run_id], status=status)
        return True

    async def hand_over(self, run: Run, agent_id: str) -> bool:
        """As `RunStore.hand_over`."""
        if not self._owns(run.run_id, run.attempt):
            return False
        stored = self._runs[run.run_id]
        self._runs[run.run_id] = replace(stored, input=replace(stored.input, answered_by=agent_id))
        return True

    async def get(self, run_id: str) -> Run | None:
        """As `RunStore.get`."""
        return self._runs.get(run_id)

    async def find(self, run_id: str) -> Run | None:
        """As `RunStore.find`."""
        run = self._runs.get(run_id)
        return None if run is None or self._data.visible(run.session_id) is None else run

    async def find_by_client_id(self, session_id: str, client_message_id: str) -> Run | None:
        """As `RunStore.find_by_client_id`."""
        return self._runs.get(self._clients.get((session_id, client_message_id), ""))

    async def active_run(self, session_id: str) -> Run | None:
        """As `RunStore.active_run`."""
        return self._runs.get(self._data.active_runs.get(session_id, ""))

    async def active_of_user(self, user_id: str) -> list[Run]:
        """As `RunStore.active_of_user`."""
        active = (self._runs[run_id] for run_id in self._data.active_runs.values())
        return [run for run in active if run.user_id == user_id]

    async def active_agents(self) -> dict[str, frozenset[str]]:
        """As `RunStore.active_agents`."""
        active = [self._runs[run_id] for run_id in self._data.active_runs.values()]
        return store.statuses_by_agent(
            (run.input.answered_by or run.assistant_id, run.status) for run in active
        )

    async def request_cancel(self, run_id: str) -> None:
        """As `RunStore.request_cancel`."""
        run = self._runs.get(run_id)
        if run is not None and run.is_active:
            self._runs[run_id] = replace(run, cancel_requested=True)

    async def renew(
        self, worker: str, run_ids: Collection[str], lease_until: datetime
    ) -> dict[str, bool]:
        """As `RunStore.renew`."""
        held: dict[str, bool] = {}
        for run_id in run_ids:
            run = self._runs.get(run_id)
            if run is None or not run.is_active or run.lease_owner != worker:
                continue
            self._runs[run_id] = replace(run, lease_until=lease_until)
            held[run_id] = run.cancel_requested
        return held

    async def abandoned(self, at: datetime, *, not_worker: str | None = None) -> list[Run]:
        """As `RunStore.abandoned`."""
        active = (self._runs[run_id] for run_id in self._data.active_runs.values())
        leased = [run for run in active if run.lease_owner is not None]
        if not_worker is not None:
            return [run for run in leased if run.lease_owner != not_worker]
        return [run for run in leased if run.lease_until is not None and run.lease_until < at]

    async def queued(self, before: datetime, *, limit: int) -> list[Run]:
        """As `RunStore.queued`."""
        active = (self._runs[run_id] for run_id in self._data.active_runs.values())
        waiting = [run for run in active if run.status == "queued" and run.created_at < before]
        return sorted(waiting, key=lambda run: run.created_at)[:limit]

    # -- events ---------------------------------------------------------------------------------

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        """As `RunStore.append`. A batch sent again is stored once."""
        refused: set[str] = set()
        for batch in batches:
            if self._owns(batch.run_id, batch.attempt):
                self._add_batch(batch)
            else:
                refused.add(batch.run_id)
        return refused

    async def read(self, session_id: str, *, after: int, limit: int = 500) -> list[Entry]:
        """As `RunStore.read`."""
        entries = self._entries.get(session_id, [])
        start = after - entries[0].seq + 1 if entries else 0
        return entries[max(0, start) : max(0, start) + limit]

    async def read_run(self, run_id: str) -> list[Entry]:
        """As `RunStore.read_run`."""
        run = self._runs.get(run_id)
        entries = self._entries.get(run.session_id, []) if run else []
        return [entry for entry in entries if entry.run_id == run_id]

    async def read_runs(self, session_id: str, run_ids: Sequence[str]) -> list[Entry]:
        """As `RunStore.read_runs`."""
        wanted = set(run_ids)
        return [each for each in self._entries.get(session_id, []) if each.run_id in wanted]

    async def last_seq(self, session_id: str) -> int:
        """As `RunStore.last_seq`."""
        return self._last_seq(session_id)

    async def last_seqs(self, session_ids: Collection[str]) -> dict[str, int]:
        """As `RunStore.last_seqs`."""
        visible = (each for each in session_ids if self._data.visible(each) is not None)
        return {session_id: self._last_seq(session_id) for session_id in visible}

    # -- approvals ------------------------------------------------------------------------------

    async def add_approvals(self, run: Run, approvals: Sequence[Approval]) -> None:
        """As `RunStore.add_approvals`.

        Raises:
            StaleAttempt: the run has ended or a newer attempt owns it.
        """
        if not await self.set_status(run, "waiting"):
            raise store.stale_error(run)
        stored = self._approvals.setdefault(run.run_id, {})
        for approval in approvals:
            stored.setdefault(approval.request_id, deepcopy(approval))

    async def approvals(self, run_id: str, *, pending_only: bool = False) -> list[Approval]:
        """As `RunStore.approvals`."""
        return store.oldest_first(
            approval
            for approval in self._approvals.get(run_id, {}).values()
            if approval.decision is None or not pending_only
        )

    async def decide(self, run_id: str, request_id: str, decision: Decision) -> Approval:
        """As `RunStore.decide`."""
        stored = self._approvals.get(run_id, {})
        approval = stored.get(request_id)
        if approval is not None and approval.decision is None:
            stored[request_id] = replace(approval, decision=decision)
        return store.check_decided(stored.get(request_id), run_id, request_id, decision)

    # -- stored data -----------------------------------------------------------------------------

    def _owns(self, run_id: str, attempt: int) -> bool:
        run = self._runs.get(run_id)
        return run is not None and run.is_active and run.attempt == attempt

    def _add_batch(self, batch: Batch) -> None:
        entries = self._entries.setdefault(batch.session_id, [])
        last_seq = entries[-1].seq if entries else 0
        new = entries_of(batch.wires, batch.first_seq, batch.run_id)
        entries += [entry for entry in new if entry.seq > last_seq]

    def _last_seq(self, session_id: str) -> int:
        entries = self._entries.get(session_id)
        return entries[-1].seq if entries else 0

    def _forget(self, session_id: str) -> None:
        self._entries.pop(session_id, None)
        self._data.active_runs.pop(session_id, None)
        for run_id in self._run_ids.pop(session_id, []):
            run = self._runs.pop(run_id)
            self._approvals.pop(run_id, None)
            self._clients.pop((session_id, run.client_message_id or ""), None)
