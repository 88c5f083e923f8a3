"""What keeps users within bounds: tenants, budgets, the count of runs; opened with the core."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from dataagent_core.config import Settings
from dataagent_core.engine.factory import Middleware
from dataagent_core.identity.budgets import BudgetLimits, Budgets
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.identity.usage import UsageBook
from dataagent_core.middleware import BudgetMiddleware, SwitchesMiddleware
from dataagent_core.runs.admission import Admission
from dataagent_core.runs.types import Room
from dataagent_core.storage import Database


@dataclass(frozen=True, slots=True)
class Limits:
    """What a user, a run and a tenant may have."""

    tenancy: Tenancy
    usage: UsageBook
    budgets: Budgets
    admission: Admission

    @property
    def around_calls(self) -> list[Middleware]:
        """What model and tool calls are wrapped in: nothing where nothing is limited."""
        switches = [SwitchesMiddleware(self.tenancy)] if self.tenancy.is_on else []
        return [*switches, *([BudgetMiddleware()] if self.budgets.is_limited else [])]


def open_limits(settings: Settings, database: Database, stack: AsyncExitStack) -> Limits:
    """Open them; the stack closes them, which has to be after the last run."""
    tenancy = Tenancy(database, is_on=settings.multi_tenant)
    usage = UsageBook(database)
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
    room = Room(most_of_user=settings.max_runs_per_user, most_queued=settings.max_queued_runs)
    is_alone = settings.redis_url is None
    return Limits(tenancy, usage, budgets, Admission(budgets, tenancy, room, is_alone=is_alone))
