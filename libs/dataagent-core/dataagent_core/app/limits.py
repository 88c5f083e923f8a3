"""What keeps users within bounds: tenants, budgets, the count of runs; opened with the core."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from dataagent_core.agents import AgentRegistry
from dataagent_core.agents.service import names_of
from dataagent_core.config import Settings
from dataagent_core.engine.factory import Middleware
from dataagent_core.identity.budgets import BudgetLimits, Budgets
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.usage import UsageRecorder
from dataagent_core.middleware import BudgetMiddleware, TenantFeaturesMiddleware
from dataagent_core.runs.admission import Admission
from dataagent_core.runs.types import ConcurrencyLimits
from dataagent_core.session.quota import ConversationQuota
from dataagent_core.session.store import ConversationStore
from dataagent_core.storage import Database


class AgentNames:
    """What else an agent is called, once it is known which there are."""

    def __init__(self) -> None:
        self._registry: AgentRegistry | None = None

    def set_registry(self, registry: AgentRegistry) -> None:
        """These are the agents."""
        self._registry = registry

    def __call__(self, name: str) -> Sequence[str]:
        """As `middleware.limits.NamesOf`; a name that is no agent's is its own."""
        found = None if self._registry is None else self._registry.find(name)
        return (name,) if found is None else names_of(found)


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """What a user, a run and a tenant may have."""

    tenancy: Tenancy
    usage: UsageRecorder
    budgets: Budgets
    admission: Admission
    conversations: ConversationQuota
    agent_names: AgentNames = field(default_factory=AgentNames)

    @property
    def around_calls(self) -> list[Middleware]:
        """What model and tool calls are wrapped in. Any run may come with a budget of its own."""
        switches = (
            [TenantFeaturesMiddleware(self.tenancy, self.agent_names)] if self.tenancy.is_on else []
        )
        return [*switches, BudgetMiddleware()]


def open_limits(
    settings: Settings, database: Database, sessions: ConversationStore, stack: AsyncExitStack
) -> UsageLimits:
    """Open them; the stack closes them, which has to be after the last run."""
    tenancy = Tenancy(database, is_on=settings.multi_tenant)
    usage = UsageRecorder(database)
    usage.start()
    stack.push_async_callback(usage.aclose)
    budgets = Budgets(
        usage,
        per_run=BudgetLimits(
            tokens=settings.run_max_tokens,
            tool_calls=settings.run_max_tool_calls,
            sql_seconds=settings.run_max_sql_seconds,
        ),
        per_day=BudgetLimits(
            tokens=settings.user_daily_tokens,
            tool_calls=settings.user_daily_tool_calls,
            sql_seconds=settings.user_daily_sql_seconds,
            wall_seconds=settings.user_daily_wall_seconds,
        ),
    )
    limits = ConcurrencyLimits(
        max_per_user=settings.max_runs_per_user, max_queued=settings.max_queued_runs
    )
    conversations = ConversationQuota(sessions, settings.conversation_quota)
    admission = Admission(
        budgets,
        tenancy,
        limits,
        conversations=conversations,
        is_alone=settings.redis_url is None,
    )
    return UsageLimits(tenancy, usage, budgets, admission, conversations)
