"""Decides whether a run may start, and whether it may go on.

`Admission` checks limits before a run starts: concurrent runs, budget, stored bytes, agents. Runs
of this process are counted in memory. Where several processes share a database the store counts as
well, in the transaction that opens the run (`ConcurrencyLimits`).

`Accounts` finds the runs whose user's account was disabled or deleted. `RunService.cancel_all`
stops a user's runs when the account changes, but it misses a run that is just being opened and a
change made by a command, so a worker also checks whenever it renews its leases.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from sqlalchemy import bindparam, select

from dataagent_core.identity.budgets import Budgets
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.runs.types import ConcurrencyLimits, Run
from dataagent_core.session.store import ConversationQuota
from dataagent_core.storage import Database
from dataagent_core.storage.tables import users


class Admission:
    """Checks every limit before a run starts. Used from the event loop only."""

    def __init__(
        self,
        budgets: Budgets | None = None,
        tenancy: Tenancy | None = None,
        limits: ConcurrencyLimits | None = None,
        *,
        conversations: ConversationQuota | None = None,
        is_alone: bool = True,
    ) -> None:
        """`is_alone`: no other process opens runs, so counting here is enough."""
        self._budgets = budgets
        self._tenancy = tenancy
        self._conversations = conversations
        self._limits = limits or ConcurrencyLimits()
        self._reserved: dict[str, int] = {}
        self.limits = None if is_alone else limits

    async def check(self, user_id: str, *agent: str) -> str | None:
        """The id of the user's tenant, if they are in one and may start a run of the agent.

        `agent` are all its names, the one it was called by first.

        Raises:
            AgentDisabled: the tenant has the agent off.
            BudgetExhausted: the user's day is used up.
            UserLimit: their conversations are at their quota.
        """
        if self._conversations is not None:
            await self._conversations.check(user_id)
        if self._budgets is not None:
            await self._budgets.check_day(user_id)
        tenant = await self._tenancy.check_agent(user_id, *agent) if self._tenancy else None
        return None if tenant is None else tenant.tenant_id

    @contextmanager
    def reserve(self, user_id: str) -> Generator[None]:
        """Reserve a slot for a run while it is opened; after that its budget counts it.

        Raises:
            TooManyRuns: the user has no slot left.
        """
        active = self._budgets.active_of(user_id) if self._budgets else 0
        reserved = self._reserved.get(user_id, 0)
        self._limits.check_user(active + reserved)
        self._reserved[user_id] = reserved + 1
        try:
            yield
        finally:
            self._reserved[user_id] -= 1
            if not self._reserved[user_id]:
                del self._reserved[user_id]


_STATUSES = select(users.c.id, users.c.status).where(
    users.c.id.in_(bindparam("user_ids", expanding=True))
)


class Accounts:
    """Reads the account status of the users of runs."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def runs_to_cancel(self, runs: Sequence[Run]) -> list[str]:
        """The ids of those runs whose user's account is disabled or deleted.

        A user without an account comes from a deployment key; their runs continue.
        """
        user_ids = {"user_ids": sorted({run.user_id for run in runs})}
        rows = await self._db.read(lambda c: c.execute(_STATUSES, user_ids).all())
        statuses: dict[str, str] = {row.id: row.status for row in rows}
        return [run.run_id for run in runs if not _may_continue(run, statuses.get(run.user_id))]


def _may_continue(run: Run, status: str | None) -> bool:
    return status == "active" if run.input.has_account else status in (None, "active")
