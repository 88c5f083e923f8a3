"""Builds a run's `RunContext` as the run begins: its user, rules, budget and tools."""

from __future__ import annotations

from datetime import datetime

from dataagent_core.engine import AgentConfig
from dataagent_core.identity import RunContext
from dataagent_core.identity.budgets import Budgets, RunBudget
from dataagent_core.identity.context import AskUser, HandOver, RunRules
from dataagent_core.mcp.hub import McpHub
from dataagent_core.runs.types import Run
from dataagent_core.session import SessionManager
from dataagent_core.telemetry import current_context

_LAST_MESSAGES = 4  # the run's own two, and those before them


class RunContexts:
    """Builds the contexts of runs."""

    def __init__(
        self,
        *,
        budgets: Budgets | None = None,
        mcp: McpHub | None = None,
        sessions: SessionManager | None = None,
    ) -> None:
        self._budgets = budgets
        self._mcp = mcp
        self._sessions = sessions

    def of(self, run: Run, config: AgentConfig, ask: AskUser, hand_over: HandOver) -> RunContext:
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
            mcp=self._mcp_tools(run, config),
            ask=ask,
            hand_over=hand_over,
        )

    def _budget(self, run: Run) -> RunBudget | None:
        if self._budgets is None:
            return None
        return self._budgets.open(run.run_id, run.user_id, max_tokens=run.input.max_tokens)

    def _mcp_tools(self, run: Run, config: AgentConfig) -> object | None:
        if self._mcp is None:
            return None
        return self._mcp.prepare_run_tools(
            user_id=run.user_id,
            tenant_id=config.tenant_id,
            session_id=run.session_id,
            run_id=run.run_id,
            api_key_id=run.input.api_key_id,
            trace_id=current_context().request_id or "",
            last_message_at=lambda: self._last_message_at(run),
        )

    async def _last_message_at(self, run: Run) -> datetime | None:
        """The time of the session's last message before the run."""
        if self._sessions is None:
            return None
        page, _ = await self._sessions.messages(
            run.session_id, owner=run.user_id, limit=_LAST_MESSAGES, offset=None
        )
        own = (run.message_id, run.answer_id)
        earlier = (each.created_at for each in page if each.message_id not in own)
        return max(earlier, default=None)
