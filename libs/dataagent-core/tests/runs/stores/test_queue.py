"""Queued runs, and how far many sessions are, on every kind of store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dataagent_core.runs.types import Run
from dataagent_core.session.types import now
from tests.requirements import requirement
from tests.stores import LEASE, Stores, batch, new_run


@pytest.mark.every_store
@requirement("G2")
async def test_queued_runs_are_found_oldest_first_until_they_are_claimed(stores: Stores) -> None:
    runs: list[Run] = []
    started = now()
    for age in (3, 1, 2):
        session = await stores.session()
        new = new_run(session.session_id, created_at=started - timedelta(seconds=age))
        runs.append((await stores.runs.open(new, worker=None, lease_until=None)).run)
    await stores.running()
    oldest, young, old = runs
    a_while_ago = started - timedelta(seconds=1.5)

    found = await stores.runs.queued(a_while_ago, limit=10)
    assert {run.run_id for run in found} == {oldest.run_id, old.run_id}
    assert len(await stores.runs.queued(now(), limit=2)) == 2

    claimed = await stores.runs.claim(oldest.run_id, worker="w1", lease_until=now() + LEASE)
    assert claimed is not None
    assert (claimed.status, claimed.attempt) == ("running", 1)
    left = await stores.runs.queued(now(), limit=10)
    assert {run.run_id for run in left} == {old.run_id, young.run_id}

    await stores.sessions.delete(old.session_id)
    assert [run.run_id for run in await stores.runs.queued(now(), limit=10)] == [young.run_id]


@pytest.mark.every_store
@requirement("G4")
async def test_many_sessions_tell_how_far_they_are_at_once(stores: Stores) -> None:
    quiet = await stores.session()
    run = await stores.running()
    await stores.runs.append([batch(run, 1, ("a", "b", "c"))])
    away, deleted = await stores.session(), await stores.session()
    await stores.sessions.soft_delete(away.session_id)
    await stores.sessions.delete(deleted.session_id)
    found = await stores.runs.last_seqs(
        [quiet.session_id, away.session_id, run.session_id, deleted.session_id]
    )
    assert found == {quiet.session_id: 0, run.session_id: 3}


@pytest.mark.every_store
@requirement("G11")
async def test_a_lease_given_up_lets_another_take_the_run_at_once(stores: Stores) -> None:
    run = await stores.running()
    await stores.runs.renew("w1", [run.run_id], now() - LEASE)
    assert [lost.run_id for lost in await stores.runs.abandoned(now())] == [run.run_id]
