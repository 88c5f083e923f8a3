"""Approval requests and their decisions, in every kind of store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dataagent_core.errors import AlreadyDecided, RequestNotFound, StaleAttempt
from dataagent_core.hitl import Decision, EditedAction
from tests.requirements import requirement
from tests.stores import Stores, approval, batch, ending, open_stores

APPROVE = Decision("approve")
EDIT = Decision("edit", None, EditedAction("write_file", {"path": "b.txt", "mode": (1, 2)}))


@pytest.mark.every_store
@requirement("G11")
async def test_asking_sets_the_run_to_waiting_and_keeps_the_requests(stores: Stores) -> None:
    run = await stores.running()
    second = approval(run, "call-2")
    first = replace(approval(run, "call-1"), created_at=second.created_at - timedelta(seconds=1))

    await stores.runs.add_approvals(run, [second, first])

    assert await stores.runs.approvals(run.run_id) == [first, second]
    assert await stores.runs.approvals(run.run_id, pending_only=True) == [first, second]
    assert await stores.runs.get(run.run_id) == replace(run, status="waiting")


@requirement("G11")
async def test_pending_request_outlives_a_restart(sql_stores: Stores) -> None:
    assert sql_stores.database is not None
    run = await sql_stores.running()
    asked = approval(run)
    await sql_stores.runs.add_approvals(run, [asked])

    url = sql_stores.database.url.render_as_string(hide_password=False)
    async with open_stores(sql_stores.kind, url) as restarted:
        assert await restarted.runs.approvals(run.run_id, pending_only=True) == [asked]
        await restarted.runs.decide(run.run_id, asked.request_id, APPROVE)

    assert await sql_stores.runs.approvals(run.run_id, pending_only=True) == []


@requirement("G11")
@pytest.mark.parametrize("decision", [APPROVE, Decision("reject", "Not this 📁"), EDIT])
async def test_same_decision_twice_is_one(stores: Stores, decision: Decision) -> None:
    run = await stores.running()
    asked = approval(run)
    await stores.runs.add_approvals(run, [asked])

    first = await stores.runs.decide(run.run_id, asked.request_id, decision)
    again = await stores.runs.decide(run.run_id, asked.request_id, decision)

    assert first.decision is not None
    assert first.decision.type == decision.type
    assert again == first
    assert await stores.runs.approvals(run.run_id) == [first]
    assert await stores.runs.approvals(run.run_id, pending_only=True) == []


@pytest.mark.every_store
@requirement("G11")
async def test_other_decision_is_refused_and_the_first_stays(stores: Stores) -> None:
    run = await stores.running()
    await stores.runs.add_approvals(run, [approval(run)])
    kept = await stores.runs.decide(run.run_id, "call-1", APPROVE)

    for other in (Decision("reject"), EDIT, Decision("approve", "and a word")):
        with pytest.raises(AlreadyDecided):
            await stores.runs.decide(run.run_id, "call-1", other)

    assert await stores.runs.approvals(run.run_id) == [kept]


@requirement("G11")
@pytest.mark.parametrize("request_id", ["call-2", "", "nul\x00"])
async def test_decision_on_an_unknown_request_is_an_error(stores: Stores, request_id: str) -> None:
    run, other = await stores.running(), await stores.running()
    asked = approval(run)
    await stores.runs.add_approvals(run, [asked])

    with pytest.raises(RequestNotFound):
        await stores.runs.decide(run.run_id, request_id, APPROVE)
    with pytest.raises(RequestNotFound):
        await stores.runs.decide(other.run_id, "call-1", APPROVE)

    assert await stores.runs.approvals(run.run_id, pending_only=True) == [asked]


@requirement("G11")
async def test_asking_again_leaves_known_requests_as_they_are(stores: Stores) -> None:
    run = await stores.running()
    asked = approval(run)
    await stores.runs.add_approvals(run, [asked])
    decided = await stores.runs.decide(run.run_id, asked.request_id, APPROVE)

    later = replace(asked, created_at=asked.created_at + timedelta(hours=1))
    new = replace(later, request_id="call-2", action=replace(asked.action, request_id="call-2"))
    await stores.runs.add_approvals(run, [later, new])

    assert await stores.runs.approvals(run.run_id) == [decided, new]


@requirement("G3")
async def test_older_attempt_cannot_ask(stores: Stores) -> None:
    old = await stores.running()
    new = await stores.taken_over(old)

    with pytest.raises(StaleAttempt):
        await stores.runs.add_approvals(old, [approval(old)])
    assert await stores.runs.approvals(old.run_id) == []

    await stores.runs.close(new, ending(), batch(new, 1))
    with pytest.raises(StaleAttempt):
        await stores.runs.add_approvals(new, [approval(new)])


@requirement("G11")
async def test_end_of_a_run_closes_its_open_requests(stores: Stores) -> None:
    run = await stores.running()
    await stores.runs.add_approvals(run, [approval(run, "call-1"), approval(run, "call-2")])
    await stores.runs.decide(run.run_id, "call-1", APPROVE)

    assert await stores.runs.close(run, ending(status="cancelled"), batch(run, 1))

    kept = {each.request_id: each.decision for each in await stores.runs.approvals(run.run_id)}
    assert kept == {"call-1": APPROVE, "call-2": Decision("reject")}
    assert await stores.runs.approvals(run.run_id, pending_only=True) == []
    with pytest.raises(AlreadyDecided):
        await stores.runs.decide(run.run_id, "call-2", APPROVE)
