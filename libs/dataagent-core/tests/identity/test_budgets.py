"""Budgets: what is refused is refused before it happens, however many ask at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.errors import BudgetExhausted
from dataagent_core.identity import budgets as module
from dataagent_core.identity.budgets import BudgetLimits, Budgets, RunBudget
from dataagent_core.identity.usage import Amounts, UsageRecorder, today
from dataagent_core.storage import open_database
from dataagent_core.storage.migrate import migrate

Calls = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 300), st.integers(0, 200), st.booleans()),
    max_size=30,
)


@pytest.fixture
async def book(tmp_path: Path) -> AsyncIterator[UsageRecorder]:
    database = open_database(f"sqlite:///{tmp_path / 'usage.db'}")
    await migrate(database)
    yield UsageRecorder(database)
    await database.close()


@given(limit=st.integers(1, 2000), calls=Calls)
def test_what_is_reserved_and_used_together_never_passes_the_limit_when_a_call_starts(
    limit: int, calls: list[tuple[int, int, int, bool]]
) -> None:
    budget = RunBudget(BudgetLimits(tokens=limit))
    under_way: list[tuple[int, int, int]] = []
    for estimate, used_in, used_out, ends_one in calls:
        if budget.reserve_tokens(estimate):
            under_way.append((estimate, used_in, used_out))
            assert budget.used("tokens") <= limit or not estimate
        else:
            assert budget.exhausted is not None
        if ends_one and under_way:
            reserved, spent_in, spent_out = under_way.pop()
            budget.commit_tokens(reserved, input_tokens=spent_in, output_tokens=spent_out)
    for reserved, spent_in, spent_out in under_way:
        budget.commit_tokens(reserved, input_tokens=spent_in, output_tokens=spent_out)
    assert budget.used("tokens") == budget.spent.tokens  # nothing stays reserved


def test_a_limit_may_be_used_to_the_last_and_the_next_is_refused() -> None:
    budget = RunBudget(BudgetLimits(tool_calls=2))
    assert [budget.take_tool_call() for _ in range(2)] == [True, True]
    assert budget.exhausted is None
    assert budget.reserve_tokens(10**9)  # tokens are not limited: the model may sum up
    assert not budget.take_tool_call()
    assert budget.exhausted is not None
    assert budget.exhausted.to_dict() == {
        "what": "tool_calls",
        "scope": "run",
        "limit": 2,
        "used": 2,
    }
    assert "2 tool calls, is used up" in budget.exhausted.sentence
    assert not budget.reserve_tokens(0)  # from now on nothing goes


def test_a_call_that_waits_for_a_person_is_given_back() -> None:
    budget = RunBudget(BudgetLimits(tool_calls=1))
    assert budget.take_tool_call()
    budget.refund_tool_call()
    assert budget.take_tool_call()


def test_time_for_sql_is_what_is_left() -> None:
    budget = RunBudget(BudgetLimits(sql_seconds=3))
    assert (budget.may_query(), budget.left("sql_seconds")) == (True, 3)
    budget.add_sql(2)
    assert (budget.may_query(), budget.left("sql_seconds")) == (True, 1)
    budget.add_sql(2)
    assert (budget.may_query(), budget.left("sql_seconds")) == (False, 0)


def test_none_and_nought_do_not_limit() -> None:
    assert BudgetLimits(tokens=0, tool_calls=None).is_empty
    budget = RunBudget(BudgetLimits(tokens=0))
    assert budget.reserve_tokens(10**12)
    assert budget.left("tokens") is None
    assert not budget.limits("tokens")


async def test_a_day_is_shared_by_a_users_runs_and_by_nobody_else(book: UsageRecorder) -> None:
    budgets = Budgets(book, per_day=BudgetLimits(tokens=1000))
    one, two = budgets.open("r1", "anna"), budgets.open("r2", "anna")
    other = budgets.open("r3", "bert")
    assert one.reserve_tokens(600)
    assert not two.reserve_tokens(600)
    assert other.reserve_tokens(600)
    assert two.exhausted is not None
    assert (two.exhausted.scope, two.exhausted.used) == ("day", 600)
    assert "starts anew at" in two.exhausted.sentence
    assert one.exhausted is None


async def test_a_day_that_is_used_up_starts_no_run_and_says_until_when(book: UsageRecorder) -> None:
    budgets = Budgets(book, per_day=BudgetLimits(tokens=100))
    await budgets.check_day("anna")
    run = budgets.open("r1", "anna")
    assert run.reserve_tokens(50)
    run.commit_tokens(50, input_tokens=70, output_tokens=40)
    budgets.close("r1", has_ended=True, tool_calls=0)
    with pytest.raises(BudgetExhausted) as refused:
        await budgets.check_day("anna")
    details: dict[str, Any] = refused.value.details or {}
    assert (details["what"], details["limit"], details["used"]) == ("tokens", 100, 110)
    resets = datetime.fromisoformat(details["resets"])
    assert resets > datetime.now(UTC)
    assert (resets.hour, resets.minute) == (0, 0)
    assert refused.value.retry_after_seconds is not None
    assert 0 < refused.value.retry_after_seconds <= 86_400
    await budgets.check_day("bert")


async def test_what_other_processes_wrote_counts_and_nothing_counts_twice(
    book: UsageRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.note("anna", today(), Amounts(tool_calls=3))
    await book.flush()
    budgets = Budgets(book, per_day=BudgetLimits(tool_calls=5))
    await budgets.check_day("anna")
    run = budgets.open("r1", "anna")
    assert run.take_tool_call()
    budgets.close("r1", has_ended=True, tool_calls=1)
    monkeypatch.setattr(module, "_FRESH_SECONDS", -1.0)
    for _ in range(3):  # reading again, before and after it is written
        await budgets.check_day("anna")
        assert budgets._day_of("anna").used("tool_calls") == 4
        await book.flush()
        budgets._day_of("anna").fresh_until = 0
    last = budgets.open("r2", "anna")
    await last.refresh()
    assert [last.take_tool_call(), last.take_tool_call()] == [True, False]


async def test_a_new_day_is_a_new_budget_and_a_run_counts_where_it_began(
    book: UsageRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = [date(2026, 11, 16)]
    monkeypatch.setattr(module, "today", lambda: days[0])
    budgets = Budgets(book, per_day=BudgetLimits(tool_calls=1))
    late = budgets.open("r1", "anna")
    assert late.take_tool_call()
    days[0] += timedelta(days=1)
    await budgets.check_day("anna")
    assert budgets.open("r2", "anna").take_tool_call()
    budgets.close("r1", has_ended=True, tool_calls=1)
    budgets.close("r2", has_ended=True, tool_calls=1)
    found = await book.days("anna", date(2026, 11, 1), date(2026, 11, 30))
    assert [(each.day.day, each.amounts.tool_calls) for each in found] == [(17, 1), (16, 1)]


async def test_runs_are_counted_while_they_are_open(book: UsageRecorder) -> None:
    budgets = Budgets(book)
    budgets.open("r1", "anna").reported = {"input_tokens": 7, "output_tokens": 2}
    budgets.open("r2", "anna")
    assert (budgets.active_of("anna"), budgets.active_of("bert")) == (2, 0)
    budgets.close("r1", has_ended=True, tool_calls=4)
    budgets.close("r1", has_ended=True, tool_calls=4)  # once is enough
    budgets.close("r2", has_ended=False, tool_calls=9)  # it goes on elsewhere
    assert budgets.active_of("anna") == 0
    kept = await book.of_day("anna", today())
    assert (kept.runs, kept.input_tokens, kept.output_tokens, kept.tool_calls) == (1, 7, 2, 4)
    assert kept.wall_seconds > 0
