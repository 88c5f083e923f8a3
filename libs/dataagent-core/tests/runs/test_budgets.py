"""A run whose budget is used up ends with what there is, and says so; what was used is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.errors import BudgetExhausted
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent, ToolResultEvent, event_from_dict
from dataagent_core.hitl import Decision
from dataagent_core.identity.usage import Amounts, today
from dataagent_core.middleware import TenantFeatures, ToolCallBudget
from tests.requirements import requirement

ChatIn = Callable[..., Any]
MakeSettings = Callable[..., Settings]
LS = '!tool ls {"path": "/"}'
WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'


def done_of(events: list[AnyEvent]) -> DoneEvent:
    (done,) = [event for event in events if isinstance(event, DoneEvent)]
    assert events[-1] is done
    return done


def text_of(events: list[AnyEvent]) -> str:
    return "".join(event.content for event in events if isinstance(event, TextEvent))


def results_of(events: list[AnyEvent]) -> list[tuple[str, str]]:
    return [(e.tool_name, e.status) for e in events if isinstance(e, ToolResultEvent)]


async def used_by(core: Core, user_id: str = "anna") -> Amounts:
    return await core.limits.usage.of_day(user_id, today())


@requirement("G2")
async def test_a_run_over_its_tool_calls_ends_with_what_there_is(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_max_tool_calls=2)) as core:
        chat = await chat_in(core)
        run = await chat.start(f"!echo start\n{LS}\n{LS}\n{LS}\n!echo never said")
        events = await chat.events(run)
        assert results_of(events) == [("ls", "success"), ("ls", "success"), ("ls", "denied")]
        about = {"what": "tool_calls", "scope": "run", "limit": 2, "used": 2}
        assert done_of(events) == DoneEvent(
            reason="budget", metadata={"budget": about}, token_usage=ANY, timestamp=ANY
        )
        assert "2 tool calls, is used up" in text_of(events)
        assert "never said" not in text_of(events)
        assert (await chat.run(run)).status == "done"
        answer = (await chat.history())[-1]
        assert (answer.status, "is used up" in answer.content) == ("complete", True)
        assert done_of(await chat.ask("!echo again")).reason == "completed"  # a budget is a run's


async def test_a_run_within_its_budget_ends_as_ever(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_max_tool_calls=2, run_max_tokens=10**6)) as core:
        events = await (await chat_in(core)).ask(f"{LS}\n{LS}\n!echo the end")
        assert (done_of(events).reason, done_of(events).metadata) == ("completed", None)
        assert text_of(events).endswith("the end")


async def test_a_run_without_tokens_calls_no_model(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_max_tokens=10)) as core:
        events = await (await chat_in(core)).ask("!echo never said")
        assert done_of(events).reason == "budget"
        assert done_of(events).token_usage is None
        assert "10 tokens, is used up" in text_of(events)
        assert "never said" not in text_of(events)


async def test_tokens_are_used_until_the_next_call_would_be_too_much(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_max_tokens=60_000)) as core:
        chat = await chat_in(core)
        events = await chat.ask("\n".join([LS] * 60) + "\n!echo never said")
        assert done_of(events).reason == "budget"
        assert 1 < len(results_of(events)) < 60
        usage = done_of(events).token_usage or {}
        assert 0 < usage["total_tokens"] <= 60_000
        kept = await used_by(core)
        assert kept.tokens == usage["total_tokens"]
        assert kept.tool_calls == len(results_of(events))


@requirement("G2")
async def test_sub_agents_share_the_budget_of_their_run(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    task = json.dumps({"description": f"{LS}\n{LS}", "subagent_type": "general-purpose"})
    async with open_core(make_settings(run_max_tool_calls=4)) as core:
        chat = await chat_in(core)
        events = await chat.ask(f"!tool task {task}\n!tool task {task}\n!echo never said")
        assert done_of(events).reason == "budget"  # task, ls, ls, task; the next ls is the fifth
        assert next(name for name, status in results_of(events) if status == "denied") == "ls"
        ran = [name for name, status in results_of(events) if status == "success"]
        assert sorted(ran) == ["ls", "ls", "task", "task"]
        assert "never said" not in text_of(events)


async def test_calls_side_by_side_do_not_pass_the_limit(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    calls = json.dumps([{"name": "ls", "args": {"path": "/"}}] * 8)
    async with open_core(make_settings(run_max_tool_calls=3)) as core:
        events = await (await chat_in(core)).ask(f"!tools {calls}\n!echo never said")
        statuses = [status for _, status in results_of(events)]
        assert (statuses.count("success"), statuses.count("denied")) == (3, 5)
        assert done_of(events).reason == "budget"


@requirement("G11")
async def test_a_call_that_is_approved_counts_once(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_max_tool_calls=1)) as core:
        chat = await chat_in(core)
        run = await chat.start(f"{WRITE}\n!echo written")
        (request,) = await chat.requests(run)
        await chat.decide(run, request.request_id, Decision("approve"))
        events = await chat.events(run)
        assert results_of(events) == [("write_file", "success")]
        assert done_of(events).reason == "completed"


async def test_nobody_is_asked_about_a_call_the_budget_forbids(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_max_tool_calls=1)) as core:
        events = await (await chat_in(core)).ask(f"{LS}\n{WRITE}")
        assert results_of(events) == [("ls", "success"), ("write_file", "denied")]
        assert done_of(events).reason == "budget"


@pytest.mark.slow
async def test_sql_seconds_stop_a_statement_and_then_the_run(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    endless = (
        "SELECT COUNT(*) FROM Track a, Track b, Track c WHERE a.Milliseconds < b.Milliseconds "
        "AND b.Milliseconds < c.Milliseconds"
    )
    query = f"!tool sql_db_query {json.dumps({'query': endless})}"
    quick = f"!tool sql_db_query {json.dumps({'query': 'SELECT COUNT(*) AS n FROM Track'})}"
    settings = make_settings(run_max_sql_seconds=4.0, sample_data=True)
    async with open_core(settings) as core:
        events = await (await chat_in(core)).ask(f"{quick}\n{query}\n{quick}\n!echo never said")
        statuses = [status for _, status in results_of(events)]
        assert statuses[:2] == ["success", "timeout"]
        assert done_of(events).reason == "budget"
        assert (done_of(events).metadata or {})["budget"]["what"] == "sql_seconds"
        assert "never said" not in text_of(events)
        assert (await used_by(core)).sql_seconds >= 4.0


async def test_a_day_that_is_used_up_refuses_the_next_message_and_keeps_nothing_of_it(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(user_daily_tool_calls=2)) as core:
        chat, other = await chat_in(core), await chat_in(core, owner="bert")
        first = await chat.ask(f"{LS}\n{LS}\n{LS}")
        assert done_of(first).reason == "budget"
        assert (done_of(first).metadata or {})["budget"]["scope"] == "day"
        with pytest.raises(BudgetExhausted) as refused:
            await chat.start("!echo more")
        assert (refused.value.details or {})["what"] == "tool_calls"
        assert len(await chat.history()) == 2
        assert done_of(await other.ask(LS)).reason == "completed"


@requirement("G6")
async def test_a_cancelled_run_has_used_what_it_used(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_max_tokens=10**6)) as core:
        chat = await chat_in(core)
        run = await chat.start(f"{LS}\n!slow 1000 60")
        await chat.seen(run, "text")
        await core.runs.cancel(run.run_id, owner="anna")
        kept = await used_by(core)
        assert (kept.runs, kept.tool_calls) == (1, 1)
        assert kept.input_tokens > 0


async def test_usage_is_kept_where_nothing_is_limited(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings()) as core:
        chat = await chat_in(core)
        events = await chat.ask(f"{LS}\n!echo one two three")
        usage = done_of(events).token_usage or {}
        run = await chat.start(f"{LS}\n!slow 1000 60")
        await chat.seen(run, "text")
        await core.runs.cancel(run.run_id, owner="anna")
        kept = await used_by(core)
        assert (kept.runs, kept.tool_calls) == (2, 2)
        assert kept.input_tokens > usage["input_tokens"]
        assert kept.output_tokens > usage["output_tokens"]
        assert core.limits.budgets.active_of("anna") == 0
    async with open_core(make_settings()) as reopened:
        assert await used_by(reopened) == kept


def test_the_end_by_budget_comes_back_from_its_wire_form() -> None:
    done = DoneEvent(reason="budget", metadata={"budget": {"what": "tokens", "limit": 5}})
    assert event_from_dict(done.to_dict()) == done


async def test_switches_are_looked_at_only_where_there_are_tenants(
    make_settings: MakeSettings,
) -> None:
    async with open_core(make_settings()) as core:
        assert [type(each) for each in core.limits.checks] == [ToolCallBudget]
    async with open_core(make_settings(multi_tenant=True, user_daily_tokens=5)) as core:
        assert [type(each) for each in core.limits.checks] == [TenantFeatures, ToolCallBudget]
