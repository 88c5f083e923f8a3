"""Approvals of a run: kept before they are shown, answered through any door, once."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from unittest.mock import ANY

import pytest

from dataagent_core.errors import AlreadyDecided, BadDecision, RequestNotFound, RunNotFound
from dataagent_core.events import DoneEvent, HITLRequestEvent, ToolResultEvent
from dataagent_core.hitl import ActionRequest, Decision, EditedAction
from dataagent_core.runs.approvals import check_decision
from dataagent_core.runs.types import Approval
from dataagent_core.session import now
from tests.requirements import requirement

DONE = DoneEvent(token_usage=ANY, timestamp=ANY)


def write(name: str, content: str = "x") -> dict[str, Any]:
    return {"name": "write_file", "args": {"file_path": f"/files/{name}", "content": content}}


def line(call: dict[str, Any]) -> str:
    return f"!tool {call['name']} {json.dumps(call['args'])}"


def delegated(inner: str) -> dict[str, Any]:
    return {"name": "task", "args": {"description": inner, "subagent_type": "general-purpose"}}


@requirement("R3.1", "G11")
async def test_request_is_kept_before_it_is_shown(chat: Any) -> None:
    run = await chat.start(f"!echo Wait.\n{line(write('a.txt'))}")
    (request,) = await chat.requests(run)
    view = await chat.core.runs.get(run.run_id, owner="anna")
    assert view.run.status == "waiting"
    (pending,) = view.pending
    assert (pending.request_id, pending.action) == (request.request_id, request.action)
    assert pending.allowed == request.allowed == ("approve", "reject", "edit", "respond")
    # pytest's stubs
    assert pending.expires_at.timestamp() == pytest.approx(request.expires_at, abs=0.01)
    await chat.core.runs.cancel(run.run_id, owner="anna")


async def test_approved_call_is_made(chat: Any) -> None:
    run = await chat.start(f"{line(write('a.txt'))}\n!echo Written.")
    (request,) = await chat.requests(run)
    kept = await chat.decide(run, request.request_id, Decision("approve"))
    assert kept.decision == Decision("approve")
    events = await chat.events(run)
    assert events[-1] == DONE
    assert [e.event_type for e in events if e.event_type in {"hitl_request", "file_operation"}] == [
        "hitl_request",
        "file_operation",
    ]
    assert await chat.files() == {"a.txt": "x"}


async def test_edited_call_is_made_as_edited(chat: Any) -> None:
    run = await chat.start(line(write("a.txt")))
    (request,) = await chat.requests(run)
    edited = EditedAction("write_file", write("b.txt", "edited")["args"])
    await chat.decide(run, request.request_id, Decision("edit", edited_action=edited))
    assert (await chat.events(run))[-1] == DONE
    assert await chat.files() == {"b.txt": "edited"}


async def test_answer_in_place_of_the_call_reaches_the_model(chat: Any) -> None:
    run = await chat.start(f"{line(write('a.txt'))}\n!echo Understood.")
    (request,) = await chat.requests(run)
    await chat.decide(run, request.request_id, Decision("respond", "Not there."))
    events = await chat.events(run)
    (result,) = [e for e in events if isinstance(e, ToolResultEvent)]
    assert "Not there." in result.result
    assert (events[-1], await chat.files()) == (DONE, {})


@requirement("G11", "R3.3")
@pytest.mark.parametrize(
    "decision",
    [
        Decision("edit", edited_action=EditedAction("write_file", {"file_path": 7, "content": []})),
        Decision("edit", edited_action=EditedAction("write_file", {"content": "no path"})),
        Decision("edit", edited_action=EditedAction("shell", {"command": "true"})),
    ],
)
async def test_edit_that_does_not_fit_is_refused_and_the_run_still_waits(
    chat: Any, decision: Decision
) -> None:
    run = await chat.start(line(write("a.txt")))
    (request,) = await chat.requests(run)
    with pytest.raises(BadDecision):
        await chat.decide(run, request.request_id, decision)
    view = await chat.core.runs.get(run.run_id, owner="anna")
    assert (view.run.status, [p.request_id for p in view.pending]) == (
        "waiting",
        [request.request_id],
    )
    await chat.decide(run, request.request_id, Decision("approve"))
    assert (await chat.events(run))[-1] == DONE
    assert await chat.files() == {"a.txt": "x"}


@requirement("G11")
async def test_same_decision_twice_is_one_and_another_is_refused(chat: Any) -> None:
    run = await chat.start(line(write("a.txt")))
    (request,) = await chat.requests(run)
    first, second = await asyncio.gather(
        *(chat.decide(run, request.request_id, Decision("approve")) for _ in range(2))
    )
    assert first == second
    assert (await chat.events(run))[-1] == DONE
    assert await chat.decide(run, request.request_id, Decision("approve")) == first
    with pytest.raises(AlreadyDecided):
        await chat.decide(run, request.request_id, Decision("reject"))
    assert await chat.files() == {"a.txt": "x"}


@requirement("G11")
async def test_unknown_request_and_foreign_run_are_errors(chat: Any) -> None:
    run = await chat.start(line(write("a.txt")))
    (request,) = await chat.requests(run)
    with pytest.raises(RequestNotFound):
        await chat.decide(run, "no such request", Decision("approve"))
    with pytest.raises(RunNotFound):
        await chat.core.runs.decide(
            run.run_id, request.request_id, Decision("approve"), owner="bert"
        )
    assert (await chat.run(run)).status == "waiting"
    await chat.core.runs.cancel(run.run_id, owner="anna")
    with pytest.raises(AlreadyDecided):
        await chat.decide(run, request.request_id, Decision("approve"))


@requirement("G11")
async def test_parallel_requests_are_answered_one_by_one_in_any_order(chat: Any) -> None:
    calls = [write("a.txt"), write("b.txt"), write("c.txt")]
    run = await chat.start(f"!tools {json.dumps(calls)}\n!echo All.")
    requests = await chat.requests(run, times=3)
    assert len({request.request_id for request in requests}) == 3
    by_path = {request.action.args["file_path"]: request.request_id for request in requests}
    await chat.decide(run, by_path["/files/c.txt"], Decision("approve"))
    await chat.decide(run, by_path["/files/a.txt"], Decision("respond", "no"))
    view = await chat.core.runs.get(run.run_id, owner="anna")
    assert [p.request_id for p in view.pending] == [by_path["/files/b.txt"]]
    assert view.run.status == "waiting"
    assert await chat.files() == {}
    await chat.decide(run, by_path["/files/b.txt"], Decision("approve"))
    assert (await chat.events(run))[-1] == DONE
    assert await chat.files() == {"b.txt": "x", "c.txt": "x"}


@requirement("R3.4", "P7")
async def test_one_rejection_ends_the_run_and_closes_the_other_requests(chat: Any) -> None:
    run = await chat.start(f"!tools {json.dumps([write('a.txt'), write('b.txt')])}")
    requests = await chat.requests(run, times=2)
    await chat.decide(run, requests[1].request_id, Decision("reject", "no"))
    events = await chat.events(run)
    assert events[-1] == DoneEvent(
        token_usage=ANY, cancelled=True, reason="rejected", timestamp=ANY
    )
    kept = await chat.core.runs._store.approvals(run.run_id)
    assert {approval.decision.type for approval in kept} == {"reject"}
    assert await chat.files() == {}


async def test_requests_of_parallel_sub_agents_are_each_asked_for_once(chat: Any) -> None:
    calls = [delegated(line(write("a.txt"))), delegated(line(write("b.txt")))]
    run = await chat.start(f"!tools {json.dumps(calls)}\n!echo Both.")
    requests = await chat.requests(run, times=2)
    for request in requests:
        await chat.decide(run, request.request_id, Decision("approve"))
    events = await chat.events(run)
    assert len([e for e in events if isinstance(e, HITLRequestEvent)]) == 2
    assert events[-1] == DONE
    assert await chat.files() == {"a.txt": "x", "b.txt": "x"}


@requirement("P7")
async def test_rejection_inside_a_sub_agent_ends_the_run(chat: Any) -> None:
    run = await chat.start(line(delegated(line(write("a.txt")))))
    (request,) = await chat.requests(run)
    await chat.decide(run, request.request_id, Decision("reject"))
    assert (await chat.events(run))[-1].reason == "rejected"
    assert await chat.files() == {}


async def test_run_that_may_ask_nobody_is_not_stopped(chat: Any) -> None:
    events = await chat.ask(line(write("a.txt")), auto_approve=True)
    assert not [e for e in events if isinstance(e, HITLRequestEvent)]
    assert await chat.files() == {"a.txt": "x"}


def test_decision_that_is_not_allowed_is_refused() -> None:
    moment = now()
    action = ActionRequest("write_file", {})
    approval = Approval("q", "r", "s", action, ("approve", "reject"), moment, moment)
    check_decision(approval, Decision("approve"))
    with pytest.raises(BadDecision, match="takes approve, reject"):
        check_decision(approval, Decision("respond", "x"))


def test_edit_of_a_tool_without_schema_is_taken_as_it_is() -> None:
    moment = now()
    approval = Approval("q", "r", "s", ActionRequest("any", {}), ("edit",), moment, moment)
    check_decision(approval, Decision("edit", edited_action=EditedAction("any", {"x": 1})))
