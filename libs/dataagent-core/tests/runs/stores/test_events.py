"""What is appended to a session is read back, in every kind of store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.events import TextEvent
from dataagent_core.runs.types import Entry
from tests.requirements import requirement
from tests.stores import Stores, batch, ending


async def _all(stores: Stores, session_id: str, *, after: int = 0, limit: int) -> list[Entry]:
    """What a reader gets who asks until there is nothing more."""
    found: list[Entry] = []
    while page := await stores.runs.read(session_id, after=after, limit=limit):
        found += page
        after = page[-1].seq
    return found


@requirement("G4")
@given(
    sizes=st.lists(st.integers(1, 5), max_size=8),
    after=st.integers(0, 45),
    limit=st.integers(1, 12),
)
async def test_reader_gets_everything_after_its_cursor_once_and_in_order(
    stores: Stores, sizes: list[int], after: int, limit: int
) -> None:
    run = await stores.running()
    wires: list[bytes] = []
    for size in sizes:
        part = batch(run, len(wires) + 1, ["é\n\u2028😀"] * size)
        assert await stores.runs.append([part]) == set()
        wires += part.wires

    found = await _all(stores, run.session_id, after=after, limit=limit)

    assert [entry.seq for entry in found] == list(range(after + 1, len(wires) + 1))
    assert [entry.wire for entry in found] == wires[after:]
    assert {entry.run_id for entry in found} <= {run.run_id}
    assert await stores.runs.last_seq(run.session_id) == len(wires)


@pytest.mark.every_store
@requirement("G4")
async def test_events_of_a_session_go_on_over_its_runs(stores: Stores) -> None:
    first = await stores.running()
    await stores.runs.append([batch(first, 1, ["a", "b"])])
    await stores.runs.close(first, ending(), batch(first, 3, ["c"]))
    session = await stores.sessions.get(first.session_id)
    assert session is not None
    second = await stores.running(session)
    await stores.runs.append([batch(second, 4, ["d"])])

    told = await stores.runs.read(first.session_id, after=0)

    assert [(e.seq, e.run_id) for e in told] == [
        (1, first.run_id),
        (2, first.run_id),
        (3, first.run_id),
        (4, second.run_id),
    ]
    assert [e.event.content for e in told if isinstance(e.event, TextEvent)] == list("abcd")
    assert await stores.runs.read_run(first.run_id) == told[:3]
    assert await stores.runs.read_run(second.run_id) == told[3:]
    assert await stores.runs.read_run("nothing") == []
    assert await stores.runs.last_seq("nothing") == 0


@requirement("G3")
async def test_batches_of_many_sessions_are_judged_one_by_one(stores: Stores) -> None:
    good, old, ended = [await stores.running() for _ in range(3)]
    await stores.taken_over(old)
    await stores.runs.close(ended, ending(), batch(ended, 1))

    batches = [batch(good, 1), batch(old, 1), batch(ended, 3), batch(good, 3)]
    refused = await stores.runs.append(batches)

    assert refused == {old.run_id, ended.run_id}
    assert await stores.runs.last_seq(good.session_id) == 4
    assert await stores.runs.last_seq(old.session_id) == 0
    assert await stores.runs.last_seq(ended.session_id) == 2
    assert await stores.runs.append([]) == set()


@pytest.mark.every_store
@requirement("G4")
async def test_batch_sent_again_is_kept_once(stores: Stores) -> None:
    run = await stores.running()
    part = batch(run, 1)

    assert await stores.runs.append([part]) == set()
    assert await stores.runs.append([part, batch(run, 3)]) == set()

    assert [entry.seq for entry in await stores.runs.read(run.session_id, after=0)] == [1, 2, 3, 4]


async def test_empty_batch_of_an_owner_is_accepted_and_keeps_nothing(stores: Stores) -> None:
    run = await stores.running()

    assert await stores.runs.append([batch(run, 1, [])]) == set()

    assert await stores.runs.read(run.session_id, after=0) == []


@pytest.mark.parametrize("limit", [1, 10, 500])
async def test_a_page_is_about_as_long_as_asked(stores: Stores, limit: int) -> None:
    run = await stores.running()
    await stores.runs.append([batch(run, 1 + 3 * i, ["a", "b", "c"]) for i in range(400)])

    page = await stores.runs.read(run.session_id, after=1, limit=limit)

    assert page[0].seq == 2
    assert limit - 1 <= len(page) <= limit + 3 * 64
    assert len(await _all(stores, run.session_id, limit=limit)) == 1200
