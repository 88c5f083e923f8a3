"""Approvals that survive connections and processes.

`StoredApprovals` is the `HITLHandler` of a run in a server or terminal: a request is stored before
anyone is asked, the decision may arrive over any transport, and after a restart the run goes on
waiting. No decision in time is a rejection.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime

from dataagent_core.audit import AuditLog
from dataagent_core.engine import Suspended
from dataagent_core.errors import AlreadyDecided, BadDecision, RequestNotFound, Unavailable
from dataagent_core.events import HITLRequestEvent
from dataagent_core.hitl import ActionRequest, Decision, check_arguments
from dataagent_core.middleware.observers import audit_arguments
from dataagent_core.runs.cluster.bus import Control
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Run
from dataagent_core.session.types import now

logger = logging.getLogger(__name__)
_POLL_SECONDS = 2.0
TIMED_OUT = Decision("reject", "No answer came in time.")


class StoredApprovals:
    """Waits for the decisions of the runs this process owns."""

    def __init__(
        self, store: RunStore, audit: AuditLog | None = None, control: Control | None = None
    ) -> None:
        """`control` reaches the owners of runs in other processes, if there are any."""
        self._store = store
        self._audit = audit
        self._control = control if control is not None and control.is_shared else None
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

    async def keep(self, run: Run, event: HITLRequestEvent) -> bool:
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
            decision = approval.decision or await self._answer(run, approval, answer)
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

    async def _answer(
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
            kept = await self._store.decide(run.run_id, approval.request_id, TIMED_OUT)
        except AlreadyDecided:
            kept = await self._load(run, approval.request_id)
        else:
            self._note(run, approval, TIMED_OUT, by="time")
        return kept.decision or TIMED_OUT

    async def decide(self, run: Run, request_id: str, decision: Decision) -> Approval:
        """Store a decision and hand it to the run.

        Raises:
            RequestNotFound, AlreadyDecided: as `RunStore.decide`.
            BadDecision: the request does not allow this decision.
        """
        approval = await self._load(run, request_id)
        check_decision(approval, decision)
        kept = await self._store.decide(run.run_id, request_id, decision)
        self._note(run, approval, decision, by="person")
        waiting = self._waiting.get((run.run_id, request_id))
        if waiting is not None and not waiting.done():
            waiting.set_result(decision)
        elif self._control is not None and run.lease_owner is not None:
            self._control.notify_decided(run.lease_owner, run.run_id, request_id)
        return kept

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
            kept = await self._store.approvals(run_id)
        except Unavailable:
            return
        for approval in kept:
            if approval.request_id == request_id and approval.decision is not None:
                if not waiting.done():
                    waiting.set_result(approval.decision)
                return

    def _note(self, run: Run, approval: Approval, decision: Decision, *, by: str) -> None:
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
