"""Approvals that survive connections and processes.

`StoredApprovals` is the `HITLHandler` of a run in a server or terminal: a request is stored before
it is shown, the decision may arrive over any transport, and after a restart the run goes on
waiting. No decision in time is a rejection.

A call can also ask the user something while it runs (`ask_in_call`). That request is stored and
decided like any other, but does not interrupt the graph and does not survive the process: a run
that dies with such a request ends as failed.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from time import time
from typing import TYPE_CHECKING

from dataagent_core.audit import AuditLog
from dataagent_core.engine import Suspended
from dataagent_core.errors import AlreadyDecided, BadDecision, RequestNotFound, Unavailable
from dataagent_core.events import HITLRequestEvent
from dataagent_core.hitl import IN_CALL, ActionRequest, Decision, DecisionType, check_arguments
from dataagent_core.middleware.observers import audit_arguments
from dataagent_core.runs.cluster.bus import Control
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Run
from dataagent_core.session.types import now

if TYPE_CHECKING:
    from dataagent_core.runs.execution import ActiveRun

logger = logging.getLogger(__name__)
_POLL_SECONDS = 2.0
TIMED_OUT = Decision("reject", "No answer came in time.")
_STOPPING = Decision("reject", "The process stops.")


class StoredApprovals:
    """Waits for the decisions of the runs this process owns."""

    def __init__(
        self,
        store: RunStore,
        audit: AuditLog | None = None,
        control: Control | None = None,
        *,
        timeout_seconds: float = 300.0,
    ) -> None:
        """`control` reaches the owners of runs in other processes, if there are any.

        Requests from inside a call expire after `timeout_seconds`; others say when they expire.
        """
        self._store = store
        self._audit = audit
        self._control = control if control is not None and control.is_shared else None
        self._timeout_seconds = timeout_seconds
        self._rechecks: set[asyncio.Task[None]] = set()
        self._runs: dict[str, Run] = {}
        self._waiting: dict[tuple[str, str], asyncio.Future[Decision | None]] = {}
        self._is_suspended = False

    def add_run(self, run: Run) -> None:
        """Register a run that this process executes from now on."""
        self._runs[run.session_id] = run

    def remove_run(self, run: Run) -> None:
        """Remove a run that ended or was left to another process; keep its session's newer run."""
        if self._runs.get(run.session_id) is run:
            del self._runs[run.session_id]

    def suspend(self) -> None:
        """End all waits because the process stops; the requests stay in the store."""
        self._is_suspended = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(None)

    @property
    def waiting(self) -> int:
        """How many runs wait for a decision."""
        return len({run_id for run_id, _ in self._waiting})

    async def add(self, run: Run, event: HITLRequestEvent) -> bool:
        """Store a request before it is shown; False if an earlier attempt stored it."""
        known = {approval.request_id for approval in await self._store.approvals(run.run_id)}
        if event.request_id in known:
            return False
        created = now()
        expires = datetime.fromtimestamp(event.expires_at or 2**32, created.tzinfo)
        approval = Approval(
            event.request_id,
            run.run_id,
            run.session_id,
            event.action,
            event.allowed,
            created,
            expires,
        )
        await self._store.add_approvals(run, [approval])
        return True

    async def ask_in_call(
        self, active: ActiveRun, action: ActionRequest, allowed: tuple[DecisionType, ...]
    ) -> Decision:
        """Ask a run's user something from inside a call, and wait for the decision."""
        request_id = f"{IN_CALL}{uuid.uuid4().hex}"
        action = replace(action, request_id=request_id)
        event = HITLRequestEvent(
            request_id=request_id,
            action=action,
            allowed=allowed,
            expires_at=time() + self._timeout_seconds,
        )
        await active.writer.flush()
        await self.add(active.run, event)
        active.emit(event)
        await active.writer.drain()
        try:
            return await self.request_approval(action, active.run.session_id)
        except Suspended:
            return _STOPPING

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        """Wait for the decision on one request, until it expires.

        Raises:
            Suspended: the process stops first.
        """
        run = self._runs[session_id]
        key = (run.run_id, action_request.request_id)
        answer = self._waiting.setdefault(key, asyncio.get_running_loop().create_future())
        try:
            approval = await self._load(run, action_request.request_id)
            if approval.decision is None and self._is_suspended:
                raise Suspended
            decision = approval.decision or await self._wait(run, approval, answer)
        finally:
            self._waiting.pop(key, None)
        if not any(run_id == run.run_id for run_id, _ in self._waiting):
            await self._store.set_status(run, "running")
        return decision

    async def _load(self, run: Run, request_id: str) -> Approval:
        for approval in await self._store.approvals(run.run_id):
            if approval.request_id == request_id:
                return approval
        raise RequestNotFound(f"Run {run.run_id} has no approval request {request_id!r}.")

    async def _wait(
        self, run: Run, approval: Approval, answer: asyncio.Future[Decision | None]
    ) -> Decision:
        while (remaining := (approval.expires_at - now()).total_seconds()) > 0:
            pause = remaining if self._control is None else min(remaining, _POLL_SECONDS)
            await asyncio.wait({answer}, timeout=pause)
            if answer.done():
                decision = answer.result()
                if decision is None:
                    raise Suspended
                return decision
            await self._recheck(run.run_id, approval.request_id)
        logger.info("approval %s of run %s timed out", approval.request_id, run.run_id)
        try:
            decided = await self._store.decide(run.run_id, approval.request_id, TIMED_OUT)
        except AlreadyDecided:
            decided = await self._load(run, approval.request_id)
        else:
            self._audit_decision(run, approval, TIMED_OUT, by="time")
        return decided.decision or TIMED_OUT

    async def decide(self, run: Run, request_id: str, decision: Decision) -> Approval:
        """Store a decision and hand it to the run.

        Raises:
            RequestNotFound, AlreadyDecided: as `RunStore.decide`.
            BadDecision: the request does not allow this decision.
        """
        approval = await self._load(run, request_id)
        check_decision(approval, decision)
        decided = await self._store.decide(run.run_id, request_id, decision)
        self._audit_decision(run, approval, decision, by="person")
        waiting = self._waiting.get((run.run_id, request_id))
        if waiting is not None and not waiting.done():
            waiting.set_result(decision)
        elif self._control is not None and run.lease_owner is not None:
            self._control.notify_decided(run.lease_owner, run.run_id, request_id)
        return decided

    def recheck(self, run_id: str, request_id: str) -> None:
        """Look up a decision that another process stored for a request of ours."""
        task = asyncio.create_task(self._recheck(run_id, request_id))
        self._rechecks.add(task)
        task.add_done_callback(self._rechecks.discard)

    async def _recheck(self, run_id: str, request_id: str) -> None:
        """Hand over a stored decision; if the store is unavailable, the next poll retries."""
        waiting = self._waiting.get((run_id, request_id))
        if waiting is None or self._control is None:
            return
        try:
            approvals = await self._store.approvals(run_id)
        except Unavailable:
            return
        for approval in approvals:
            if approval.request_id == request_id and approval.decision is not None:
                if not waiting.done():
                    waiting.set_result(approval.decision)
                return

    def _audit_decision(self, run: Run, approval: Approval, decision: Decision, *, by: str) -> None:
        if self._audit is None:
            return
        edited = decision.edited_action
        args = approval.action.args if edited is None else edited.args
        self._audit.note(
            "approval.decide",
            "success" if by == "person" else "denied",
            target=approval.action.name,
            run_id=run.run_id,
            session_id=run.session_id,
            details={
                "request_id": approval.request_id,
                "decision": decision.type,
                "by": by,
                **audit_arguments(approval.action.name, args),
            },
        )


def is_waiting_in_call(approvals: Iterable[Approval]) -> bool:
    """Whether a waiting run waits inside a call: its last request was made there."""
    last = max(approvals, key=lambda each: each.created_at, default=None)
    return last is not None and last.action.is_question


def check_decision(approval: Approval, decision: Decision) -> None:
    """Refuse a decision that would fail when the run resumes.

    Raises:
        BadDecision: not an allowed kind, another tool, or arguments that do not fit.
    """
    if decision.type not in approval.allowed:
        raise BadDecision(
            f"Request {approval.request_id!r} takes {', '.join(approval.allowed)}, "
            f"not {decision.type!r}."
        )
    edited = decision.edited_action
    if edited is None:
        return
    if edited.name != approval.action.name:
        raise BadDecision(f"An edit keeps the tool: {approval.action.name!r}, not {edited.name!r}.")
    check_arguments(approval.action, edited.args)
