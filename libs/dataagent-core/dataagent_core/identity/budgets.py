"""Budgets of a run, and of a user per day: tokens, tool calls, SQL and wall seconds.

A run's budget is in its `RunContext`, shared by the agent, its sub-agents and their tools. Tokens
are reserved before a model call and corrected after it; a tool call is counted before it runs. The
first refusal exhausts the budget, and the run ends (`middleware/limits.py`). A day's budget counts
what is stored, what has ended here and what runs here; runs of other processes count once they have
ended.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from math import ceil
from typing import Literal

from dataagent_core.errors import BudgetExhausted, Unavailable
from dataagent_core.identity.usage import Amounts, UsageRecorder, today

logger = logging.getLogger(__name__)
Kind = Literal["tokens", "tool_calls", "sql_seconds", "wall_seconds"]
KINDS: tuple[Kind, ...] = ("tokens", "tool_calls", "sql_seconds", "wall_seconds")
Scope = Literal["run", "day"]
_FRESH_SECONDS = 10.0
_WORDS: Mapping[Kind, str] = {
    "tokens": "tokens",
    "tool_calls": "tool calls",
    "sql_seconds": "seconds of SQL",
    "wall_seconds": "seconds of work",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """The most of each; None and 0 are no limit."""

    tokens: int | None = None
    tool_calls: int | None = None
    sql_seconds: float | None = None
    wall_seconds: float | None = None

    def of(self, kind: Kind) -> float | None:
        """The most of a kind; None for any amount."""
        return getattr(self, kind) or None

    def with_tokens(self, most: int | None) -> BudgetLimits:
        """With at most so many tokens."""
        if most is None:
            return self
        return replace(self, tokens=min(most, self.tokens or most))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is limited."""
        return all(self.of(kind) is None for kind in KINDS)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """What ran out."""

    what: Kind
    scope: Scope
    limit: float
    used: float

    @property
    def sentence(self) -> str:
        """The message for the user."""
        whose = "The budget of this run" if self.scope == "run" else "Your budget for today"
        way_out = (
            "Ask for less at once, or for a larger budget."
            if self.scope == "run"
            else f"It starts anew at {next_day().isoformat()}."
        )
        return f"{whose}, {self.limit:,g} {_WORDS[self.what]}, is used up. {way_out}"

    def to_dict(self) -> dict[str, object]:
        """As `done.metadata["budget"]` has it."""
        used = round(self.used, 3)
        return {"what": self.what, "scope": self.scope, "limit": self.limit, "used": used}


@dataclass(slots=True, eq=False)
class _DayBudget:
    """A user's day, as far as this process knows it."""

    user_id: str
    day: date
    limits: BudgetLimits
    past: Amounts = field(default_factory=Amounts)  # of runs that have ended
    live: set[RunBudget] = field(default_factory=set["RunBudget"])
    fresh_until: float = 0.0

    def used(self, kind: Kind) -> float:
        running = sum(budget.used(kind) for budget in self.live)
        return getattr(self.past, kind) + running

    async def refresh(self, book: UsageRecorder) -> None:
        """Read what other processes have written since."""
        if self.fresh_until <= time.monotonic():
            self.past = await book.of_day(self.user_id, self.day)
            self.fresh_until = time.monotonic() + _FRESH_SECONDS


class RunBudget:
    """What one run may use and has used."""

    __slots__ = (
        "_book",
        "_day",
        "_limits",
        "_reserved",
        "_started",
        "exhausted",
        "reported",
        "spent",
    )

    def __init__(
        self,
        limits: BudgetLimits | None = None,
        *,
        day: _DayBudget | None = None,
        book: UsageRecorder | None = None,
    ) -> None:
        self.spent = Amounts()
        self.exhausted: Exhausted | None = None
        # the engine's own count of tokens, which counts where nothing is limited
        self.reported: Mapping[str, int] = {}
        self._limits = limits or BudgetLimits()
        self._day = day
        self._book = book
        self._reserved = 0
        self._started = time.monotonic()

    async def refresh(self) -> None:
        """Learn what the user has used elsewhere, if a day's limit asks for it."""
        if self._day is None or self._book is None:
            return
        try:
            await self._day.refresh(self._book)
        except Unavailable:  # what is known here still counts
            logger.warning("a user's usage of the day could not be read")

    def used(self, kind: Kind) -> float:
        """How much of a kind is used or reserved."""
        match kind:
            case "tokens":
                return self.spent.tokens + self._reserved
            case "wall_seconds":
                return time.monotonic() - self._started
            case _:
                return getattr(self.spent, kind)

    def left(self, kind: Kind) -> float | None:
        """How much of a kind may still be used; None for any amount."""
        rests = [limit - used for limit, used, _ in self._bounds(kind)]
        return max(0.0, min(rests)) if rests else None

    def limits(self, kind: Kind) -> bool:
        """Whether a kind is limited at all."""
        return bool(self._bounds(kind))

    def reserve_tokens(self, estimate: int) -> bool:
        """Set tokens aside for a model call; False if the model must not be called."""
        if not (self._fits("wall_seconds", 0) and self._fits("tokens", estimate)):
            return False
        self._reserved += estimate
        return True

    def commit_tokens(self, reserved: int, *, input_tokens: int, output_tokens: int) -> None:
        """Put what a model call used in place of what was set aside for it."""
        self._reserved -= reserved
        self.spent.input_tokens += input_tokens
        self.spent.output_tokens += output_tokens

    def take_tool_call(self) -> bool:
        """Count a tool call; False if it must not run."""
        if not (self._fits("wall_seconds", 0) and self._fits("tool_calls", 1)):
            return False
        self.spent.tool_calls += 1
        return True

    def refund_tool_call(self) -> None:
        """A call that was taken waits for a person: it is taken again when it runs."""
        self.spent.tool_calls -= 1

    def may_query(self) -> bool:
        """Whether there is time left for a statement."""
        return self._fits("sql_seconds", 0)

    def add_sql(self, seconds: float) -> None:
        """Count the time a statement took."""
        self.spent.sql_seconds += seconds

    def _fits(self, kind: Kind, more: float) -> bool:
        """Whether so much more may be used; if not, the budget is exhausted from now on."""
        for limit, used, scope in self._bounds(kind):
            is_over = used + more > limit if more else used >= limit
            if is_over and self.exhausted is None:
                self.exhausted = Exhausted(kind, scope, limit, used)
        return self.exhausted is None

    def _bounds(self, kind: Kind) -> list[tuple[float, float, Scope]]:
        """Limit and use of a kind, for the run and for the day, where there is a limit."""
        bounds: list[tuple[float, float, Scope]] = []
        if (limit := self._limits.of(kind)) is not None:
            bounds.append((limit, self.used(kind), "run"))
        day = self._day
        if day is not None and (limit := day.limits.of(kind)) is not None:
            bounds.append((limit, day.used(kind), "day"))
        return bounds

    def total(self, *, tool_calls: int) -> Amounts:
        """What the run used in all, by its own count or by what the engine has seen."""
        reported = self.reported
        return Amounts(
            input_tokens=max(self.spent.input_tokens, reported.get("input_tokens", 0)),
            output_tokens=max(self.spent.output_tokens, reported.get("output_tokens", 0)),
            tool_calls=max(self.spent.tool_calls, tool_calls),
            sql_seconds=self.spent.sql_seconds,
            wall_seconds=self.used("wall_seconds"),
        )


class Budgets:
    """The budgets of the runs in this process, by run and by user and day."""

    def __init__(
        self,
        book: UsageRecorder,
        *,
        per_run: BudgetLimits | None = None,
        per_day: BudgetLimits | None = None,
    ) -> None:
        self._book = book
        self._per_run = per_run or BudgetLimits()
        self._per_day = per_day or BudgetLimits()
        self._open: dict[str, tuple[str, date, RunBudget]] = {}
        self._active: dict[str, int] = {}
        self._date = today()
        self._days: dict[str, _DayBudget] = {}

    def active_of(self, user_id: str) -> int:
        """How many runs of a user are under way in this process."""
        return self._active.get(user_id, 0)

    async def check_day(self, user_id: str) -> None:
        """Refuse a run of a user whose day is used up.

        Raises:
            BudgetExhausted: it is; says when it starts anew.
        """
        if self._per_day.is_empty:
            return
        day = self._day_of(user_id)
        await day.refresh(self._book)
        for kind in KINDS:
            limit = self._per_day.of(kind)
            if limit is not None and (used := day.used(kind)) >= limit:
                ran_out = Exhausted(kind, "day", limit, used)
                resets = next_day()
                raise BudgetExhausted(
                    ran_out.sentence,
                    details={**ran_out.to_dict(), "resets": resets.isoformat()},
                    retry_after_seconds=max(1, ceil((resets - datetime.now(UTC)).total_seconds())),
                )

    def open(self, run_id: str, user_id: str, *, max_tokens: int | None = None) -> RunBudget:
        """The budget of a run that begins here; its caller may give it fewer tokens than it has."""
        day = None if self._per_day.is_empty else self._day_of(user_id)
        budget = RunBudget(self._per_run.with_tokens(max_tokens), day=day, book=self._book)
        if day is not None:
            day.live.add(budget)
        self._open[run_id] = (user_id, today(), budget)
        self._active[user_id] = self._active.get(user_id, 0) + 1
        return budget

    def close(self, run_id: str, *, has_ended: bool, tool_calls: int) -> None:
        """Note what a run used that has ended here, or goes on elsewhere.

        Tool calls of a run that goes on are counted where it ends, from its ledger.
        """
        known = self._open.pop(run_id, None)
        if known is None:
            return
        user_id, day, budget = known
        self._active[user_id] -= 1
        if not self._active[user_id]:
            del self._active[user_id]
        amounts = budget.total(tool_calls=tool_calls)
        amounts.runs = int(has_ended)
        if not has_ended:
            amounts.tool_calls = 0
        self._book.note(user_id, day, amounts)
        self._settle(user_id, budget, amounts)

    def _settle(self, user_id: str, budget: RunBudget, amounts: Amounts) -> None:
        account = self._days.get(user_id)
        if account is not None and budget in account.live:
            account.live.discard(budget)
            account.past.add(amounts)

    def _day_of(self, user_id: str) -> _DayBudget:
        """The user's account of today; yesterday's are forgotten on the way."""
        if (now := today()) != self._date:
            self._date, self._days = now, {}
        account = self._days.get(user_id)
        if account is None:
            account = self._days[user_id] = _DayBudget(user_id, now, self._per_day)
        return account


def next_day() -> datetime:
    """When the next day begins, in UTC."""
    return datetime.combine(today() + timedelta(days=1), time_of_day(), tzinfo=UTC)
