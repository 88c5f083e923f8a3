"""Builds a run's `RunContext` as the run begins: its user, rules, budget and tools.

It includes a way to ask the run's user something in the middle of a call: a request like any
approval, stored before it is shown, but without interrupting the graph. It does not survive the
process: a run that dies while it asks has a call in flight and ends as failed (`Worker.take_over`).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from time import time

from dataagent_core.engine import AgentConfig, Suspended
from dataagent_core.errors import Unavailable
from dataagent_core.events import AnyEvent, HITLRequestEvent
from dataagent_core.hitl import IN_CALL, ActionRequest, Decision, DecisionType
from dataagent_core.identity import RunContext
from dataagent_core.identity.budgets import Budgets, RunBudget
from dataagent_core.identity.context import AskUser, HandOver, RunRules
from dataagent_core.mcp.hub import McpHub
from dataagent_core.runs.approvals import StoredApprovals
from dataagent_core.runs.ledger import RunWriter
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Run
from dataagent_core.session import SessionManager
from dataagent_core.telemetry import current_context

logger = logging.getLogger(__name__)
EmitEvent = Callable[[AnyEvent], None]
_STOPPING = Decision("reject", "The process stops.")
_LAST_MESSAGES = 4  # the run's own two, and those before them


class RunContexts:
    """Builds the contexts of runs."""

    def __init__(
        self,
        *,
        budgets: Budgets | None = None,
        mcp: McpHub | None = None,
        sessions: SessionManager | None = None,
        hitl_timeout_seconds: float = 300.0,
    ) -> None:
        self._budgets = budgets
        self._mcp = mcp
        self._sessions = sessions
        self._hitl_timeout_seconds = hitl_timeout_seconds

    def of(
        self, run: Run, config: AgentConfig, ask: AskUser, hand_over: HandOver | None = None
    ) -> RunContext:
        """The context a run is executed with from now on."""
        given = run.input
        return RunContext(
            user_id=run.user_id,
            session_id=run.session_id,
            run_id=run.run_id,
            assistant_id=config.assistant_id,
            tenant_id=config.tenant_id,
            role=given.role or "user",
            auto_approve=config.auto_approve if given.auto_approve is None else given.auto_approve,
            sandbox_id=config.sandbox_id,
            rules=RunRules(is_plan=given.is_plan, allow=given.allow, deny=given.deny),
            skill=given.skill,
            message=given.message,
            budget=self._budget(run),
            api_key_id=given.api_key_id,
            mcp=None if self._mcp is None else self._tools(self._mcp, run, config),
            ask=ask,
            hand_over=hand_over,
        )

    def _budget(self, run: Run) -> RunBudget | None:
        if self._budgets is None:
            return None
        return self._budgets.open(run.run_id, run.user_id, max_tokens=run.input.max_tokens)

    def _tools(self, mcp: McpHub, run: Run, config: AgentConfig) -> object:
        return mcp.prepare_run_tools(
            user_id=run.user_id,
            tenant_id=config.tenant_id,
            session_id=run.session_id,
            run_id=run.run_id,
            api_key_id=run.input.api_key_id,
            trace_id=current_context().request_id or "",
            last_message_at=lambda: self._last_said(run),
        )

    async def _last_said(self, run: Run) -> datetime | None:
        """The time of the session's last message before the run."""
        if self._sessions is None:
            return None
        page, _ = await self._sessions.messages(
            run.session_id, owner=run.user_id, limit=_LAST_MESSAGES, offset=None
        )
        own = (run.message_id, run.answer_id)
        before = (each.created_at for each in page if each.message_id not in own)
        return max(before, default=None)

    def ask_user_for(
        self, run: Run, writer: RunWriter, emit: EmitEvent, approvals: StoredApprovals
    ) -> AskUser:
        """A function that asks the run's user something from inside a call."""

        async def ask(action: ActionRequest, allowed: tuple[DecisionType, ...]) -> Decision:
            request_id = f"{IN_CALL}{uuid.uuid4().hex}"
            action = replace(action, request_id=request_id)
            event = HITLRequestEvent(
                request_id=request_id,
                action=action,
                allowed=allowed,
                expires_at=time() + self._hitl_timeout_seconds,
            )
            await writer.flush()
            await approvals.keep(run, event)
            emit(event)
            await writer.drain()
            try:
                return await approvals.request_approval(action, run.session_id)
            except Suspended:
                return _STOPPING

        return ask


def hand_over_recorder(store: RunStore, run: Run, set_speaker: Callable[[str], None]) -> HandOver:
    """A function that records who answers a run; an unavailable store does not end the run."""

    async def hand_over(agent_id: str, name: str) -> None:
        set_speaker(name)
        try:
            await store.hand_over(run, agent_id)
        except Unavailable:
            logger.warning("run %s: could not record that %s answers", run.run_id, agent_id)

    return hand_over


def was_asking_in_call(approvals: Iterable[Approval]) -> bool:
    """Whether a waiting run waits inside a call: its last request was made there."""
    last = max(approvals, key=lambda each: each.created_at, default=None)
    return last is not None and last.action.is_question
