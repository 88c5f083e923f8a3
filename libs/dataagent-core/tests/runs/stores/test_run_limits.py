"""Where several processes open runs, the store keeps to how many there may be."""

from __future__ import annotations

import pytest

from dataagent_core.errors import QueueFull, TooManyRuns
from dataagent_core.runs.types import ConcurrencyLimits
from tests.requirements import requirement
from tests.stores import Stores, batch, ending, new_run


@requirement("G12")
async def test_with_other_processes_the_store_counts(stores: Stores) -> None:
    limits = ConcurrencyLimits(max_per_user=2, max_queued=3)
    for _ in range(2):
        session = await stores.session()
        await stores.opened(new_run(session.session_id, limits=limits))
    third = await stores.session()
    with pytest.raises(TooManyRuns):
        await stores.opened(new_run(third.session_id, limits=limits))
    assert await stores.runs.active_run(third.session_id) is None
    assert await stores.messages.count_messages(third.session_id) == 0
    other = await stores.session(user_id="bert")
    again = new_run(other.session_id, user_id="bert", limits=limits, client_message_id="m1")
    assert (await stores.opened(again)).is_new
    repeated = new_run(
        other.session_id,
        user_id="bert",
        limits=ConcurrencyLimits(max_per_user=1),
        client_message_id="m1",
    )
    assert not (await stores.opened(repeated)).is_new  # found, not counted


@requirement("G12")
async def test_a_full_queue_takes_no_more(stores: Stores) -> None:
    limits = ConcurrencyLimits(max_queued=2)
    for user in ("a1", "a2", "a3"):
        session = await stores.session(user_id=user)
        new = new_run(session.session_id, user_id=user, limits=limits)
        if user == "a3":
            with pytest.raises(QueueFull) as refused:
                await stores.runs.open(new, worker=None, lease_until=None)
            assert refused.value.details == {"limit": 2, "used": 2}
            assert (await stores.opened(new)).is_new  # one that need not wait gets in
        else:
            await stores.runs.open(new, worker=None, lease_until=None)


@requirement("G12")
async def test_a_run_that_has_ended_makes_room(stores: Stores) -> None:
    limits = ConcurrencyLimits(max_per_user=1)
    first = await stores.running()
    session = await stores.session()
    with pytest.raises(TooManyRuns):
        await stores.opened(new_run(session.session_id, limits=limits))
    assert await stores.runs.close(first, ending(), batch(first, 1))
    assert (await stores.opened(new_run(session.session_id, limits=limits))).is_new
