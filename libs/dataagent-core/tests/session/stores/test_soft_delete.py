"""Sessions that were put away, in every kind of store: nobody sees them until they are back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dataagent_core.errors import Conflict, SessionNotFound
from dataagent_core.runs.types import Run
from dataagent_core.session.types import DEFAULT_TITLE, Session, now
from tests.requirements import requirement
from tests.stores import Stores, batch, ending, new_run


async def test_session_is_found_by_its_thread(stores: Stores) -> None:
    session, _other = await stores.session(), await stores.session()

    assert await stores.sessions.get_by_thread(session.thread_id) == session
    for nothing in ("", "0", session.thread_id.upper() + "x", "nul\x00", "half \ud800"):
        assert await stores.sessions.get_by_thread(nothing) is None


async def test_title_is_kept_from_the_beginning(stores: Stores) -> None:
    session = await stores.sessions.create("alice", "agent", title="销售 by year")

    assert session.title == "销售 by year"
    assert await stores.sessions.get(session.session_id) == session


async def test_session_that_was_put_away_is_nowhere(stores: Stores) -> None:
    kept, away = await stores.session(), await stores.session()
    run = await stores.running(away)
    await stores.runs.close(run, ending(), batch(run, 1))

    assert await stores.sessions.soft_delete(away.session_id) is True
    assert await stores.sessions.soft_delete(away.session_id) is False

    assert await stores.sessions.get(away.session_id) is None
    assert await stores.sessions.get_by_thread(away.thread_id) is None
    assert await stores.sessions.list_by_user("alice") == [kept]
    assert await stores.sessions.list_by_assistant("agent") == [kept]
    assert await stores.sessions.count_by_user("alice") == 1
    assert await stores.runs.find(run.run_id) is None
    assert await stores.runs.get(run.run_id) is not None
    assert await stores.sessions.get_soft_deleted(kept.session_id) is None
    with pytest.raises(SessionNotFound):
        await stores.sessions.update(replace(away, title="mine"))
    with pytest.raises(SessionNotFound):
        await stores.opened(new_run(away.session_id, title="mine"))
    with pytest.raises(Conflict):
        await stores.sessions.create("bob", "agent", session_id=away.session_id)
    await stores.sessions.touch(away.session_id)
    assert await stores.sessions.count_by_user("alice") == 1


@pytest.mark.every_store
async def test_session_comes_back_with_all_it_had(stores: Stores) -> None:
    session = await stores.session()
    run = await stores.running(session)
    await stores.sessions.soft_delete(session.session_id)
    assert await stores.runs.close(run, ending("partly"), batch(run, 1))  # what ran in it ends
    assert await stores.sessions.list_by_user("alice") == []

    assert await stores.sessions.restore(session.session_id) is True
    assert await stores.sessions.restore(session.session_id) is False

    [back] = await stores.sessions.list_by_user("alice")
    assert (back.session_id, back.thread_id) == (session.session_id, session.thread_id)
    assert await stores.sessions.get(session.session_id) == back
    assert await stores.sessions.list_by_assistant("agent") == [back]
    assert await stores.runs.find(run.run_id) is not None
    contents = [each.content for each in await stores.messages.get_messages(session.session_id)]
    assert contents == ["How many?", "partly"]
    assert (await stores.opened(new_run(session.session_id))).is_new


@pytest.mark.every_store
async def test_put_away_session_is_deleted_for_good_and_its_id_stays_closed(
    stores: Stores,
) -> None:
    session = await stores.session()
    await stores.sessions.soft_delete(session.session_id)

    assert await stores.sessions.delete(session.session_id) is True

    assert await stores.sessions.get_soft_deleted(session.session_id) is None
    assert await stores.sessions.restore(session.session_id) is False
    assert await stores.sessions.soft_deleted_before(now() + timedelta(days=1)) == []
    with pytest.raises(Conflict):
        await stores.sessions.create("alice", "agent", session_id=session.session_id)


async def test_those_longest_away_are_told_first(stores: Stores) -> None:
    away: list[Session] = []
    for _ in range(3):
        away.append(await stores.session())
        await stores.sessions.soft_delete(away[-1].session_id)
        await asyncio.sleep(0.002)  # times are kept in milliseconds
    await stores.session()

    later = now() + timedelta(seconds=1)
    assert await stores.sessions.soft_deleted_before(later) == away
    assert await stores.sessions.soft_deleted_before(later, limit=2) == away[:2]
    assert await stores.sessions.soft_deleted_before(now() - timedelta(hours=1)) == []


# -- runs in them ---------------------------------------------------------------------------------


async def test_first_message_gives_the_title_and_later_ones_do_not(stores: Stores) -> None:
    session = await stores.session()

    async def title() -> str:
        kept = await stores.sessions.get(session.session_id)
        assert kept is not None
        return kept.title

    async def turn(suggested: str | None) -> None:
        run = (await stores.opened(new_run(session.session_id, title=suggested))).run
        await stores.runs.close(run, ending(), batch(run, 1, []))

    await turn(None)
    assert await title() == DEFAULT_TITLE
    await turn("每月销售额")
    assert await title() == "每月销售额"
    await turn("Another")
    assert await title() == "每月销售额"


async def test_refused_message_leaves_the_title(stores: Stores) -> None:
    session = await stores.session()
    await stores.running(session)
    with pytest.raises(Exception, match="still answering"):
        await stores.opened(new_run(session.session_id, title="Not this"))
    kept = await stores.sessions.get(session.session_id)
    assert kept is not None
    assert kept.title == DEFAULT_TITLE


@requirement("G15")
async def test_run_of_a_clients_message_is_found(stores: Stores) -> None:
    session = await stores.session()
    run = (await stores.opened(new_run(session.session_id, client_message_id="m1"))).run

    assert await stores.runs.find_by_client_id(session.session_id, "m1") == run
    assert await stores.runs.find_by_client_id(session.session_id, "m2") is None
    assert await stores.runs.find_by_client_id("elsewhere", "m1") is None


async def test_entries_of_some_runs_come_in_order(stores: Stores) -> None:
    session = await stores.session()
    runs: list[Run] = []
    for number in range(3):
        run = await stores.running(session)
        await stores.runs.append([batch(run, number * 4 + 1)])
        await stores.runs.close(run, ending(), batch(run, number * 4 + 3))
        runs.append(run)

    found = await stores.runs.read_runs(session.session_id, [runs[2].run_id, runs[0].run_id])

    assert [entry.seq for entry in found] == [1, 2, 3, 4, 9, 10, 11, 12]
    assert {entry.run_id for entry in found} == {runs[0].run_id, runs[2].run_id}
    assert await stores.runs.read_runs(session.session_id, ["nothing"]) == []


@requirement("G2")
async def test_run_is_opened_before_its_session_goes_or_not_at_all(stores: Stores) -> None:
    """Whoever puts a session away sees the run that got in before, and none gets in after."""

    async def soft_delete(session: Session) -> Run | None:
        await stores.sessions.soft_delete(session.session_id)
        return await stores.runs.active_run(session.session_id)

    for _ in range(15):
        session = await stores.session()
        outcomes: tuple[Any, Any] = await asyncio.gather(
            stores.opened(new_run(session.session_id, title="t")),
            soft_delete(session),
            return_exceptions=True,
        )
        opened, seen = outcomes
        if isinstance(opened, SessionNotFound):
            assert seen is None
            assert await stores.runs.active_run(session.session_id) is None
        else:
            assert seen == opened.run
