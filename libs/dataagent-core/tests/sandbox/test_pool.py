"""Who gets which sandbox, how many there are, and when one ends."""

from __future__ import annotations

import asyncio

import pytest

from dataagent_core.errors import (
    NotFound,
    SandboxGone,
    SandboxUnavailable,
    TooManySandboxes,
    UserLimit,
)
from dataagent_core.sandbox import BwrapWall, PoolSettings, Sandboxes, SandboxSession
from dataagent_core.telemetry import Metrics
from tests.requirements import requirement
from tests.waiting import until

from .keeping import FEW, MakeSandboxes, living, process_of, ran

pytestmark = pytest.mark.asyncio(loop_scope="session")


def is_gone(session: SandboxSession) -> bool:
    return not session.is_alive and not living(process_of(session).pid)


@requirement("R32.1", "S2.4.1a")
async def test_a_thread_keeps_its_sandbox_and_no_other_thread_or_user_gets_it(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes()
    mine = await sandboxes.session("ann", "t1")
    assert await sandboxes.session("ann", "t1") is mine
    others = [await sandboxes.session("ann", "t2"), await sandboxes.session("bob", "t1")]
    assert len({mine.id, *(other.id for other in others)}) == 3
    await ran(mine, "secret = 'word'; open('/tmp/f', 'w').write(secret)")
    for other in others:
        seen = await ran(other, "import os; 'secret' in dir(), os.path.exists('/tmp/f')")
        assert seen == "(False, False)\n"


@requirement("R32.1")
async def test_a_sandbox_id_gives_back_ones_own_and_never_anothers(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes()
    mine = await sandboxes.session("ann", "t1")
    assert await sandboxes.session("ann", "another thread", sandbox_id=mine.id) is mine
    for user_id, sandbox_id in (("bob", mine.id), ("ann", "nonsense")):
        with pytest.raises(NotFound):
            await sandboxes.session(user_id, "t1", sandbox_id=sandbox_id)


@requirement("R32.1")
async def test_many_who_ask_at_once_for_one_thread_get_one_sandbox(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes()
    asked = [sandboxes.session("ann", "t1") for _ in range(5)]
    assert len({session.id for session in await asyncio.gather(*asked)}) == 1


@requirement("R32.1")
async def test_who_waited_and_who_comes_while_a_sandbox_ends_get_the_same_next_one(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes()
    coming: list[asyncio.Task[SandboxSession]] = []

    async def have_one_ended() -> None:
        await sandboxes.session("ann", "t1")
        coming.append(asyncio.create_task(sandboxes.session("ann", "t1")))
        await sandboxes.release("ann", "t1")

    ending = asyncio.create_task(have_one_ended())
    waiting = asyncio.create_task(sandboxes.session("ann", "t1"))
    await ending
    assert (await waiting).id == (await coming[0]).id
    assert sandboxes.bound == 1


@requirement("S10.3")
async def test_an_unused_sandbox_ends_and_a_used_one_does_not(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes(PoolSettings(ready=0, idle_seconds=2))
    session = await sandboxes.session("ann", "t1")
    await ran(session, "import time; time.sleep(3)")
    assert session.is_alive
    await until(lambda: is_gone(session))


@requirement("S2.4.1a", "S10.3")
async def test_a_sandbox_is_replaced_after_its_last_use(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes(PoolSettings(ready=0, max_uses=2))
    first = await sandboxes.session("ann", "t1")
    await ran(first, "x = 1")
    assert await sandboxes.session("ann", "t1") is first
    await ran(first, "x")
    second = await sandboxes.session("ann", "t1")
    assert second is not first
    assert (await second.run_python("1")).state_lost
    await until(lambda: is_gone(first))


@requirement("S10.3")
async def test_releasing_ends_everything_in_it(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes()
    session = await sandboxes.session("ann", "t1")
    await ran(session, "x = 1")
    await sandboxes.release("ann", "t1")
    await until(lambda: is_gone(session))
    await sandboxes.release("ann", "t1")


@requirement("G6", "S10.3")
async def test_releasing_while_code_runs_ends_the_code(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes()
    session = await sandboxes.session("ann", "t1")
    running = asyncio.create_task(session.run_python("while True: pass"))
    await until(lambda: len(living(process_of(session).pid)) == 3)
    family = living(process_of(session).pid)
    await sandboxes.release("ann", "t1")
    with pytest.raises(SandboxGone):
        await running
    await until(lambda: not any(living(pid) for pid in family))


@requirement("S10.3")
async def test_when_all_are_taken_the_longest_idle_one_goes(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes(FEW)
    first, second = [await sandboxes.session("ann", thread) for thread in ("t1", "t2")]
    await ran(first, "1")
    third = await sandboxes.session("bob", "t1")
    assert (first.is_alive, second.is_alive, third.is_alive) == (True, False, True)


@requirement("G12", "S10.3")
async def test_when_all_are_busy_the_next_caller_is_refused(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes(FEW)
    busy = [await sandboxes.session("ann", thread) for thread in ("t1", "t2")]
    running = [asyncio.create_task(session.run_python("while True: pass")) for session in busy]
    await until(lambda: all(session.is_busy for session in busy))
    with pytest.raises(TooManySandboxes) as caught:
        await sandboxes.session("bob", "t1")
    assert caught.value.details == {"limit": 2, "waiting": 0}
    assert caught.value.retry_after_seconds == 1
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert (await sandboxes.session("bob", "t1")).is_alive


@requirement("G12", "G13", "S10.3")
async def test_a_user_over_their_share_gives_up_an_idle_one_of_their_own(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes(PoolSettings(ready=0, max_per_user=2))
    other = await sandboxes.session("bob", "t1")
    mine = [await sandboxes.session("ann", f"t{number}") for number in range(4)]
    assert [session.is_alive for session in mine] == [False, False, True, True]
    assert other.is_alive
    assert sandboxes.bound == 3


@requirement("G12", "G13", "S10.3")
async def test_a_user_whose_share_is_busy_is_refused_and_others_are_not(
    make_sandboxes: MakeSandboxes,
) -> None:
    sandboxes = make_sandboxes(PoolSettings(ready=0, max_per_user=1, wait_seconds=0.1))
    busy = await sandboxes.session("ann", "t1")
    running = asyncio.create_task(busy.run_python("while True: pass"))
    await until(lambda: busy.is_busy)
    with pytest.raises(UserLimit) as caught:
        await sandboxes.session("ann", "t2")
    assert caught.value.details == {"what": "sandboxes", "limit": 1, "used": 1}
    assert (await sandboxes.session("bob", "t1")).is_alive
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (await sandboxes.session("ann", "t2")).is_alive


@requirement("S10.3")
async def test_who_waits_gets_the_first_that_is_idle(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes(PoolSettings(ready=0, max_sessions=1, wait_seconds=20))
    busy = await sandboxes.session("ann", "t1")
    running = asyncio.create_task(busy.run_python("while True: pass"))
    await until(lambda: busy.is_busy)
    waiting = asyncio.create_task(sandboxes.session("bob", "t1"))
    await until(lambda: sandboxes._waiting == 1)
    running.cancel()
    assert (await waiting).is_alive
    assert not busy.is_alive


@requirement("S2.4.1a")
async def test_the_pool_is_filled_again_after_one_was_taken(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes(PoolSettings(ready=2))
    await sandboxes.warm()
    assert sandboxes.ready == 2
    await sandboxes.session("ann", "t1")
    await until(lambda: sandboxes.ready == 2)


@requirement("S10.3")
async def test_why_sandboxes_end_and_how_long_making_one_takes_is_counted(
    wall: BwrapWall,
) -> None:
    metrics = Metrics()
    settings = PoolSettings(ready=1, max_sessions=1, max_uses=1, idle_seconds=60)
    sandboxes = Sandboxes(wall, settings=settings, metrics=metrics)
    try:
        await sandboxes.warm()
        first = await sandboxes.session("ann", "t1")
        await ran(first, "1")
        second = await sandboxes.session("ann", "t1")  # used up
        await second.close()
        await sandboxes.session("ann", "t1")  # lost
        await sandboxes.session("bob", "t1")  # displaced
        sandboxes.release_soon("t1")  # released
        await until(lambda: sandboxes.bound == 0)
    finally:
        await sandboxes.aclose()
    text = metrics.text().decode()
    for cause in ("used_up", "lost", "displaced", "released"):
        assert f'dataagent_sandbox_kills_total{{cause="{cause}"}} 1.0' in text
    [made] = [line for line in text.splitlines() if "sandbox_refill_seconds_count" in line]
    assert float(made.split()[-1]) >= 1


@requirement("S10.3")
async def test_closing_ends_all_and_refuses_more(make_sandboxes: MakeSandboxes) -> None:
    sandboxes = make_sandboxes(PoolSettings(ready=1))
    session = await sandboxes.session("ann", "t1")
    await sandboxes.aclose()
    assert is_gone(session)
    with pytest.raises(SandboxUnavailable):
        await sandboxes.session("ann", "t1")
