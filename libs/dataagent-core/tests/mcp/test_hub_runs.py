"""MCP tools in runs: approvals, questions, results, and servers that fail."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.events import (
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    TextEvent,
    ThinkingEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import Decision, EditedAction
from dataagent_core.runs import Run
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

from .hub.shop import Program, Shop, Talk, failure_of, told

DETAIL, SEARCH, CANCEL = "mall4j.order.get_detail", "mall4j.product.search", "order.cancel"
NAMES = {
    name: f"mall__{name.replace('.', '_')}"
    for name in (DETAIL, SEARCH, CANCEL, "colour", "steps", "picture", "long", "wrong_total")
}


@pytest.fixture
async def talk(shop: Shop, mall: Program) -> Talk:
    """A talk with an agent that may use all tools of the shop."""
    spec = await shop.add("mall", mall)
    tools = shop.core.mcp.catalogue.tools_of(spec.server_id)
    await shop.bind(spec, *(tool.name for tool in tools))
    await shop.approve(spec, DETAIL)
    return await shop.talk()


def result_of(events: list[AnyEvent]) -> ToolResultEvent:
    return next(event for event in events if isinstance(event, ToolResultEvent))


# -- approvals ------------------------------------------------------------------------------------


async def test_a_tool_that_may_change_something_asks_first(talk: Talk) -> None:
    run = await talk.start(told(NAMES[CANCEL], orderId="o1"), auto_approve=False)
    request = await talk.request(run)
    assert (request.action.name, request.action.args) == (NAMES[CANCEL], {"orderId": "o1"})
    assert request.action.args_schema is not None
    assert request.action.args_schema["required"] == ["orderId"]
    await talk.decide(run, request.request_id, Decision("approve"))
    assert result_of(await talk.events(run)).result == f"mall: {CANCEL} ['orderId']"


async def test_an_approved_read_only_tool_needs_no_approval(talk: Talk) -> None:
    events = await talk.ask(told(NAMES[DETAIL], orderId="o1"), auto_approve=False)
    assert result_of(events).status == "success"


async def test_a_read_only_hint_is_believed_once_the_tool_is_approved(
    shop: Shop, talk: Talk
) -> None:
    run = await talk.start(told(NAMES[SEARCH], text="x"), auto_approve=False)
    request = await talk.request(run)
    assert request.action.description.endswith("nobody has confirmed that.")
    await talk.decide(run, request.request_id, Decision("approve"))
    assert result_of(await talk.events(run)).status == "success"
    planned = result_of(await talk.ask(told(NAMES[SEARCH], text="x"), is_plan=True))
    assert planned.status == "denied"
    [spec] = await shop.core.mcp.servers.list()
    await shop.approve(spec, SEARCH)
    events = await talk.ask(told(NAMES[SEARCH], text="x"), auto_approve=False)
    assert result_of(events).status == "success"


async def test_a_run_that_approves_all_asks_no_one(talk: Talk) -> None:
    events = await talk.ask(told(NAMES[CANCEL], orderId="o1"), auto_approve=True)
    assert result_of(events).status == "success"


async def test_the_rules_of_a_run_hold_for_mcp_tools(talk: Talk) -> None:
    cancel, detail = told(NAMES[CANCEL], orderId="o1"), told(NAMES[DETAIL], orderId="o1")
    allowed = await talk.ask(cancel, auto_approve=False, allow=("mall__*",))
    assert result_of(allowed).status == "success"
    denied = result_of(await talk.ask(detail, allow=("*",), deny=("mall__mall4j*",)))
    assert denied.status == "denied"
    assert "The user does not allow" in denied.result
    planned = result_of(await talk.ask(cancel, is_plan=True))
    assert (planned.status, planned.result[:10]) == ("denied", "plan mode:")
    assert result_of(await talk.ask(detail, is_plan=True)).status == "success"


async def test_an_edited_call_is_made_as_it_was_edited(talk: Talk) -> None:
    run = await talk.start(told(NAMES[CANCEL], orderId="o1", extra=1), auto_approve=False)
    request = await talk.request(run)
    edited = EditedAction(NAMES[CANCEL], {"orderId": "o2"})
    await talk.decide(run, request.request_id, Decision("edit", None, edited))
    result = str(result_of(await talk.events(run)).result)
    assert result.endswith(f"mall: {CANCEL} ['orderId']")
    assert "Executed instead: " in result  # the model made another call
    assert '{"orderId": "o2"}' in result


async def test_a_rejected_call_ends_the_run_and_is_not_made(shop: Shop, talk: Talk) -> None:
    run = await talk.start(told(NAMES[CANCEL], orderId="o1"), auto_approve=False)
    request = await talk.request(run)
    await talk.decide(run, request.request_id, Decision("reject"))
    done = (await talk.events(run))[-1]
    assert isinstance(done, DoneEvent)
    assert (done.cancelled, done.reason) == (True, "rejected")
    assert await shop.calls() == []


async def test_calls_at_once_ask_each_for_itself(talk: Talk) -> None:
    calls = [{"name": NAMES[CANCEL], "args": {"orderId": each}} for each in ("o1", "o2")]
    run = await talk.start(f"!tools {json.dumps(calls)}", auto_approve=False)
    await until_pending(talk, run, 2)
    pending = (await talk.core.runs.get(run.run_id, owner="anna")).pending
    assert sorted(each.action.args["orderId"] for each in pending) == ["o1", "o2"]
    for each in pending:
        await talk.decide(run, each.request_id, Decision("approve"))
    results = [e for e in await talk.events(run) if isinstance(e, ToolResultEvent)]
    assert [each.status for each in results] == ["success", "success"]


async def until_pending(talk: Talk, run: Run, number: int) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while len((await talk.core.runs.get(run.run_id, owner="anna")).pending) < number:
            await asyncio.sleep(0.02)


async def test_a_helper_has_the_tools_bound_to_it_and_asks_too(shop: Shop, mall: Program) -> None:
    spec = await shop.add("mall", mall)
    await shop.bind(spec, CANCEL, agent="sql")
    talk = await shop.talk()
    alone = await talk.call(NAMES[CANCEL], {"orderId": "o1"})
    assert alone.status == "denied"  # general itself is not bound
    task = {"description": told(NAMES[CANCEL], orderId="o1"), "subagent_type": "sql"}
    run = await talk.start(told("task", **task), auto_approve=False)
    request = await talk.request(run)
    assert request.action.name == NAMES[CANCEL]
    await talk.decide(run, request.request_id, Decision("approve"))
    results = [e for e in await talk.events(run) if isinstance(e, ToolResultEvent)]
    assert f"mall: {CANCEL} ['orderId']" in [each.result for each in results]
    ended = {row.status: row.agent_id for row in await shop.calls(tool_name=CANCEL)}
    assert ended == {"denied": "general", "ok": "sql"}


# -- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision("edit", None, EditedAction(NAMES["colour"], {"colour": "red"})), "accept red"),
        (Decision("respond", "blue"), "accept blue"),
        (Decision("reject"), "decline None"),
    ],
)
async def test_a_servers_question_during_a_call_goes_to_the_user(
    talk: Talk, decision: Decision, said: str
) -> None:
    run = await talk.start(f"{told(NAMES['colour'])}\n!echo goes on")
    request = await talk.request(run)
    assert request.action.description == "Server 'mall' asks: Which colour?"
    assert request.allowed == ("edit", "reject", "respond")
    view = await talk.core.runs.get(run.run_id, owner="anna")
    assert (view.run.status, [p.request_id for p in view.pending]) == (
        "waiting",
        [request.request_id],
    )
    await talk.decide(run, request.request_id, decision)
    events = await talk.events(run)
    assert result_of(events).result == said
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].reason == "completed"


async def test_an_unanswered_question_is_declined_and_the_run_goes_on(
    make_settings: Callable[..., Settings], mall: Program
) -> None:
    async with open_core(make_settings(hitl_timeout=0.5), grace_seconds=2) as core:
        shop = Shop(core)
        spec = await shop.add("mall", mall, call_timeout_seconds=0.4)
        await shop.bind(spec, "colour")
        talk = await shop.talk()
        result = await talk.call(NAMES["colour"])
        assert (result.status, result.result) == ("success", "decline None")


async def test_cancelling_a_run_that_asks_ends_it(talk: Talk) -> None:
    run = await talk.start(told(NAMES["colour"]))
    await talk.request(run)
    ended = await talk.core.runs.cancel(run.run_id, owner="anna")
    assert ended.status == "cancelled"


# -- results --------------------------------------------------------------------------------------


async def test_pictures_and_long_results_become_the_users_files(talk: Talk) -> None:
    events = await talk.ask(told(NAMES["picture"]))
    [artifact] = [event for event in events if isinstance(event, ArtifactEvent)]
    assert (artifact.kind, artifact.title) == ("file", "mall__picture-1.png")
    assert artifact.url in result_of(events).result
    kept = await talk.core.files.store.get(artifact.artifact_id, owner="anna")
    assert kept.session_id == talk.session_id

    events = await talk.ask(told(NAMES["long"], size=2_000_000))
    [artifact] = [event for event in events if isinstance(event, ArtifactEvent)]
    assert artifact.preview == {"size": 2_000_000, "content_type": "text/plain"}
    assert len(result_of(events).result) < 10_000


async def test_a_result_beyond_all_limits_is_refused_and_the_run_goes_on(talk: Talk) -> None:
    events = await talk.ask(f"{told(NAMES['long'], size=17 * 1024 * 1024)}\n!echo goes on")
    assert failure_of(result_of(events))["code"] == "MCP_RESULT_TOO_LARGE"
    assert (await talk.call(NAMES[DETAIL], {"orderId": "o1"})).status == "success"


@requirement("M3.1")
async def test_a_result_that_breaks_its_own_schema_is_an_error_and_the_run_goes_on(
    shop: Shop, talk: Talk
) -> None:
    events = await talk.ask(f"{told('mall__wrong_total')}\n{told('mall__right_total')}\n!echo on")
    wrong, right = (event for event in events if isinstance(event, ToolResultEvent))
    assert (wrong.status, failure_of(wrong)["code"]) == ("error", "MCP_INVALID_OUTPUT")
    assert (right.status, right.result) == ("success", "10")
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].reason == "completed"
    rows = {row.tool_name: (row.status, row.output_valid) for row in await shop.calls()}
    assert rows == {"wrong_total": ("invalid", False), "right_total": ("ok", True)}


async def test_a_calls_progress_is_reported_while_it_runs(talk: Talk) -> None:
    events = await talk.ask(told(NAMES["steps"]))
    told_of = [e.content for e in events if isinstance(e, ThinkingEvent)]
    assert told_of[0] == "mall__steps: 1 of 3 - step 1\n"
    assert told_of[-1] == "mall__steps: 3 of 3 - step 3\n"


@requirement("M4.1")
async def test_the_model_reads_a_tools_error(talk: Talk) -> None:
    result = await talk.call("mall__fail", {"text": "that"})
    assert result.status == "error"
    assert failure_of(result)["code"] == "MCP_TOOL_ERROR"
    assert failure_of(result)["message"] == "cannot do that"


# -- servers that fail ----------------------------------------------------------------------------


@requirement("R31.4")
async def test_a_server_killed_during_a_run_leaves_an_error_and_the_run_goes_on(
    shop: Shop, mortal: Program, mall: Program, tmp_path: Path
) -> None:
    spec = await shop.add("mortal", mortal)
    other = await shop.add("mall", mall)
    await shop.bind(spec, "slow", DETAIL)
    await shop.bind(other, DETAIL)
    talk = await shop.talk()
    started = tmp_path / "started"
    slow = told("mortal__slow", seconds=3600, started=str(started))
    run = await talk.start(f"{slow}\n{told(NAMES[DETAIL], orderId='o1')}\n!echo goes on")
    await until(started.exists)
    mortal.kill()
    events = await talk.events(run)
    first, second = (event for event in events if isinstance(event, ToolResultEvent))
    assert failure_of(first)["code"] == "MCP_SERVER_UNAVAILABLE"
    assert second.status == "success"
    assert "goes on" in "".join(e.content for e in events if isinstance(e, TextEvent))


@requirement("P48", "R29.5")
async def test_a_dead_server_delays_no_run_and_takes_nothing_from_others(
    make_settings: Callable[..., Settings], mall: Program
) -> None:
    """A run that waited for it would wait for a minute."""
    async with open_core(make_settings(mcp_wait=60), grace_seconds=2) as core:
        await _call_beside_a_dead_server(Shop(core), mall)


async def _call_beside_a_dead_server(shop: Shop, mall: Program) -> None:
    dead = await shop.register("dead", url="http://127.0.0.1:9/mcp")
    alive = await shop.add("mall", mall)
    await shop.bind(alive, DETAIL)

    def has_failed() -> bool:
        known = shop.core.mcp.pool.statuses()
        return any(k.server_id == dead.server_id and s.fail_count for k, s in known.items())

    await until(has_failed)
    talk = await shop.talk()
    started = time.monotonic()
    result = await talk.call(NAMES[DETAIL], {"orderId": "o1"})
    assert result.status == "success"
    assert time.monotonic() - started < 60


@requirement("R31.5", "R31.6")
async def test_a_server_that_does_not_answer_in_time_is_put_down_and_logged(
    make_settings: Callable[..., Settings], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        async with open_core(make_settings(), grace_seconds=2) as core:
            shop = Shop(core)
            spec = await shop.register("silent", url=url, connect_timeout_seconds=0.2)

            def is_put_down() -> bool:
                return [one.state for one in core.mcp.pool.statuses().values()] == ["backoff"]

            await until(is_put_down)
    line = next(each for each in caplog.records if "is not reached" in each.message)
    assert line.levelname == "WARNING"
    assert f"silent ({spec.server_id})" in line.message


@pytest.mark.slow
@requirement("P48", "M1.3")
async def test_a_server_that_never_answers_keeps_only_the_first_run_waiting(
    make_settings: Callable[..., Settings],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        async with open_core(make_settings(mcp_wait=3), grace_seconds=2) as core:
            shop = Shop(core)
            await shop.register("silent", url=url, scope="user", user_id="anna")
            talk = await shop.talk()
            took: list[float] = []
            for _ in range(2):
                started = time.monotonic()
                await talk.ask("!echo hello")
                took.append(time.monotonic() - started)
            assert took[0] >= 3
            assert took[1] < took[0]


@pytest.mark.slow
async def test_the_log_says_how_long_a_call_stood_in_line(shop: Shop, mall: Program) -> None:
    """With one place, the second of two calls waits for nearly all of the first."""
    spec = await shop.add("mall", mall, max_concurrency=1)
    await shop.bind(spec, "slow")
    talks = [await shop.talk(), await shop.talk("bob")]
    await asyncio.gather(*(talk.call("mall__slow", {"seconds": 0.5}) for talk in talks))
    first, second = sorted(await shop.calls(), key=lambda row: row.queue_ms)
    assert first.queue_ms < second.queue_ms
    assert second.queue_ms > 0.5 * (first.duration_ms - first.queue_ms)
    assert second.queue_ms < second.duration_ms
