"""Many callers at once, in every kind of store."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.pool import AsyncAdaptedQueuePool
from sqlalchemy.util import await_only

from dataagent_core.errors import AlreadyDecided, Conflict, SessionBusy
from dataagent_core.hitl import Decision
from dataagent_core.runs.types import OpenedRun, Run
from dataagent_core.session.types import now
from dataagent_core.storage.pooled import PooledDatabase
from tests.requirements import requirement
from tests.stores import LEASE, Stores, approval, batch, ending, new_run, open_stores
from tests.waiting import WAIT_SECONDS

CALLERS = 20


@pytest.mark.every_store
@requirement("G7", "G1")
async def test_one_of_twenty_runs_gets_into_a_session(stores: Stores) -> None:
    session = await stores.session()
    new = [new_run(session.session_id) for _ in range(CALLERS)]

    outcomes = await asyncio.gather(*map(stores.opened, new), return_exceptions=True)

    winners = [outcome for outcome in outcomes if isinstance(outcome, OpenedRun)]
    assert len(winners) == 1
    assert sum(isinstance(outcome, SessionBusy) for outcome in outcomes) == CALLERS - 1
    assert await stores.runs.active_run(session.session_id) == winners[0].run
    said = await stores.messages.get_messages(session.session_id)
    assert [message.run_id for message in said] == [winners[0].run.run_id] * 2


@requirement("G15")
async def test_same_client_message_sent_twenty_times_is_one_run(stores: Stores) -> None:
    session = await stores.session()
    new = [new_run(session.session_id, client_message_id="m1") for _ in range(CALLERS)]

    outcomes = await asyncio.gather(*map(stores.opened, new))

    assert sum(outcome.is_new for outcome in outcomes) == 1
    assert len({outcome.run.run_id for outcome in outcomes}) == 1
    assert await stores.messages.count_messages(session.session_id) == 2


@requirement("G7", "G4")
async def test_runs_that_follow_at_once_never_share_a_number(stores: Stores) -> None:
    session = await stores.session()

    async def talk(turns: int) -> None:
        while turns:
            try:
                opened = await stores.opened(new_run(session.session_id))
            except SessionBusy:
                continue
            run, seq = opened.run, opened.last_seq + 1
            assert await stores.runs.append([batch(run, seq)]) == set()
            assert await stores.runs.close(run, ending(), batch(run, seq + 2, ["end"]))
            turns -= 1

    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.gather(*(talk(3) for _ in range(4)))

    told = await stores.runs.read(session.session_id, after=0)
    assert [entry.seq for entry in told] == list(range(1, 3 * 4 * 3 + 1))


@pytest.mark.every_store
@requirement("G3")
async def test_abandoned_run_is_claimed_by_one_of_twenty(stores: Stores) -> None:
    run = await stores.running()
    await stores.runs.renew("w1", [run.run_id], now() - LEASE)

    claims = await asyncio.gather(
        *(
            stores.runs.claim(run.run_id, worker=f"new-{i}", lease_until=now() + LEASE)
            for i in range(CALLERS)
        )
    )

    [owner] = [claim for claim in claims if claim is not None]
    assert owner.attempt == 2
    assert await stores.runs.get(run.run_id) == owner


@requirement("G3")
async def test_nothing_of_an_older_attempt_appears_after_a_takeover(stores: Stores) -> None:
    async def write(run: Run) -> None:
        seq = 1
        while not await stores.runs.append([batch(run, seq)]):
            seq += 2

    async def take(run: Run) -> int:
        await stores.taken_over(run)
        return await stores.runs.last_seq(run.session_id)

    async with asyncio.timeout(WAIT_SECONDS):
        for _ in range(10):
            run = await stores.running()
            writing = asyncio.create_task(write(run))
            seen = await take(run)
            await writing
            assert await stores.runs.last_seq(run.session_id) == seen


@requirement("G3")
@pytest.mark.parametrize("sql_kind", ["postgres", "mysql"], indirect=True)
async def test_takeover_waits_for_the_write_that_was_let_in(sql_stores: Stores) -> None:
    """The older attempt is held between the fence and its insert while the takeover runs."""
    stores, database = sql_stores, sql_stores.database
    assert isinstance(database, PooledDatabase)
    run = await stores.running()
    await stores.runs.renew("w1", [run.run_id], now() - LEASE)
    takeover: list[asyncio.Task[Run | None]] = []

    async def start_takeover() -> None:
        claim = stores.runs.claim(run.run_id, worker="w2", lease_until=now() + LEASE)
        takeover.append(asyncio.create_task(claim))
        async with asyncio.timeout(WAIT_SECONDS):
            while not await database.read(_someone_waits):
                assert not takeover[0].done(), "The takeover went past an open write."

    def hold(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT runs.run_id") and not takeover:
            await_only(start_takeover())

    event.listen(database._engine.sync_engine, "after_cursor_execute", hold)
    assert await stores.runs.append([batch(run, 1)]) == set()
    [claim] = takeover
    assert await claim is not None
    assert await stores.runs.last_seq(run.session_id) == 2


def _someone_waits(connection: Connection) -> bool:
    """Whether a transaction waits for a lock (on MySQL: anywhere on the server)."""
    waiting = {
        "postgresql": "SELECT 'waiting', count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()",
        "mysql": "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'",
    }
    return int(connection.execute(text(waiting[connection.dialect.name])).one()[1]) > 0


@requirement("G2")
async def test_run_closed_from_two_sides_has_one_end(stores: Stores) -> None:
    for _ in range(5):
        run = await stores.running()
        done = ending("answered")
        cancelled = ending("stopped", status="cancelled", message_status="cancelled")

        kept = await asyncio.gather(
            stores.runs.close(run, done, batch(run, 1, ["done"])),
            stores.runs.close(run, cancelled, batch(run, 1, ["cancelled"])),
        )

        assert sorted(kept) == [False, True]
        winner = done if kept[0] else cancelled
        _, answer = await stores.messages.get_messages(run.session_id)
        assert (answer.content, answer.status) == (winner.content, winner.message_status)
        assert len(await stores.runs.read(run.session_id, after=0)) == 1


@requirement("G11")
async def test_one_of_two_opposite_decisions_holds(stores: Stores) -> None:
    for _ in range(5):
        run = await stores.running()
        await stores.runs.add_approvals(run, [approval(run)])

        outcomes = await asyncio.gather(
            stores.runs.decide(run.run_id, "call-1", Decision("approve")),
            stores.runs.decide(run.run_id, "call-1", Decision("reject")),
            return_exceptions=True,
        )

        [refused] = [outcome for outcome in outcomes if isinstance(outcome, AlreadyDecided)]
        [kept] = [outcome for outcome in outcomes if outcome is not refused]
        assert await stores.runs.approvals(run.run_id) == [kept]


async def test_session_id_is_given_to_one_of_twenty(stores: Stores) -> None:
    outcomes = await asyncio.gather(
        *(stores.sessions.create(f"user-{i}", "agent", session_id="mine") for i in range(CALLERS)),
        return_exceptions=True,
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == CALLERS - 1
    [session] = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert await stores.sessions.get("mine") == session


async def test_session_deleted_while_its_run_writes_is_gone_for_good(stores: Stores) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        for _ in range(5):
            run = await stores.running()
            writes = [stores.runs.append([batch(run, seq)]) for seq in (1, 3, 5)]
            end = stores.runs.close(run, ending(), batch(run, 7))
            await asyncio.gather(*writes, stores.sessions.delete(run.session_id), end)

            assert await stores.sessions.get(run.session_id) is None
            assert await stores.runs.get(run.run_id) is None
            assert await stores.runs.read(run.session_id, after=0) == []
            assert await stores.messages.count_messages(run.session_id) == 0
            assert await stores.sessions.list_by_user("alice") == []


@requirement("R25.8", "P44")
async def test_hundred_operations_at_once_all_succeed(stores: Stores) -> None:
    async def one(number: int) -> str:
        session = await stores.session(f"user-{number % 7}")
        run = await stores.running(session)
        await stores.runs.append([batch(run, 1)])
        await stores.runs.close(run, ending(str(number)), batch(run, 3))
        return (await stores.messages.get_messages(session.session_id))[1].content

    async with asyncio.timeout(WAIT_SECONDS):
        assert await asyncio.gather(*map(one, range(100))) == [str(i) for i in range(100)]


@requirement("R25.8", "P44", "S6.1")
async def test_small_pool_serves_hundred_callers_and_gets_every_connection_back(
    sql_kind: str, sql_place: str
) -> None:
    async with open_stores(sql_kind, sql_place, pool_size=2, max_overflow=1) as stores:
        run = await stores.running()

        async def one(number: int) -> None:
            if number % 3 == 0:
                await stores.sessions.touch(run.session_id)
            elif number % 3 == 1:
                await stores.runs.get(run.run_id)
            else:
                with pytest.raises(SessionBusy):  # a failed unit gives its connection back too
                    await stores.opened(new_run(run.session_id))

        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(*map(one, range(100)))

        if isinstance(stores.database, PooledDatabase):
            pool = stores.database._engine.pool
            assert isinstance(pool, AsyncAdaptedQueuePool)
            assert pool.checkedout() == 0
            assert pool.checkedin() <= 3


@requirement("R25.8", "P44")
async def test_cancelled_callers_leave_no_connection_behind(sql_kind: str, sql_place: str) -> None:
    async with open_stores(sql_kind, sql_place, pool_size=2, max_overflow=0) as stores:
        run = await stores.running()
        calls = [
            asyncio.create_task(stores.runs.append([batch(run, 1 + 2 * i)])) for i in range(20)
        ]
        await calls[0]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(*(stores.runs.get(run.run_id) for _ in range(20)))
        assert await stores.runs.close(run, ending(), batch(run, 100))
