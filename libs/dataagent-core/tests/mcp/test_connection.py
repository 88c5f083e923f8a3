"""The parts of keeping a connection, by themselves: pauses, probes, clocks and who is asked."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataagent_core.mcp.connections.connection import Backoff
from dataagent_core.mcp.connections.live_session import CallTimer
from dataagent_core.mcp.types import Elicitation, ElicitationAnswer
from dataagent_core.network import HostPolicy
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

from .conftest import Keep
from .raw import RawServer
from .running import QUICK, Kept, Party, raw_spec, text_of


@requirement("M1.3")
@given(st.integers(1, 10_000))
def test_pauses_double_up_to_a_cap_and_differ(failures: int) -> None:
    pause = Backoff(first_seconds=1, most_seconds=300).pause(failures)
    whole = min(2.0 ** min(failures - 1, 30), 300)
    assert whole / 2 <= pause <= whole


def test_a_timer_is_suspended_while_a_person_is_asked() -> None:
    clock = CallTimer(0.05)
    with clock.paused():
        with clock.paused():
            assert clock.left() > 0
        assert clock.left() > 0
    assert clock.left() <= 0.05


@pytest.mark.slow
async def test_a_question_takes_no_time_of_the_call(steady: Party, keep: Keep) -> None:
    """The user thinks for longer than the call may take."""
    connection = await keep(steady.spec()).ready()

    async def answer(question: Elicitation) -> ElicitationAnswer:
        await asyncio.sleep(2.5)
        return ElicitationAnswer("accept", {"colour": "late"})

    result = await connection.call("colour", {}, timeout_seconds=2, on_elicit=answer)
    assert text_of(result) == "accept late"


@requirement("P49")
async def test_a_question_goes_to_its_own_caller_or_to_no_one(steady: Party, keep: Keep) -> None:
    """Two people call at once over one session: neither sees the other's question."""
    connection = await keep(steady.spec()).ready()
    both = asyncio.Barrier(2)
    asked: list[str] = []

    async def ask(person: str) -> str:
        async def answer(question: Elicitation) -> ElicitationAnswer:
            asked.append(person)
            return ElicitationAnswer("accept", {"colour": person})

        await both.wait()
        result = await connection.call("colour", {}, timeout_seconds=WAIT_SECONDS, on_elicit=answer)
        return text_of(result)

    answers = await asyncio.gather(ask("ann"), ask("ben"))
    if steady.kind == "http" or steady.era == "modern":
        assert answers == ["accept ann", "accept ben"]
    else:  # nothing says whose question it is: the first may be declined, none goes astray
        assert answers[0] in ("decline None", "accept ann")
        assert answers[1] in ("decline None", "accept ben")


@requirement("R31.4")
async def test_a_waiting_caller_gets_one_early_retry_per_interval(hosts: HostPolicy) -> None:
    async with RawServer() as server:
        pass
    rules = replace(QUICK, backoff=Backoff(first_seconds=600, early_seconds=600))
    connection = Kept(raw_spec(server), hosts, rules).connection
    connection.start()
    try:
        await until(lambda: connection.status.state == "backoff")
        assert connection.status.fail_count == 1
        assert connection.status.next_retry_at is not None
        connection.wake()
        await until(lambda: connection.status.fail_count == 2)
        connection.wake()
        await asyncio.sleep(0.2)
        assert connection.status.fail_count == 2
    finally:
        await connection.aclose()


@requirement("R31.4")
async def test_an_early_retry_reaches_a_server_that_is_back(hosts: HostPolicy) -> None:
    async with RawServer() as server:
        port = server.port
    rules = replace(QUICK, backoff=Backoff(first_seconds=600, early_seconds=0))
    connection = Kept(raw_spec(server), hosts, rules).connection
    connection.start()
    try:
        await until(lambda: connection.status.state == "backoff")
        async with RawServer(port=port):
            assert await connection.wait_ready(WAIT_SECONDS)
            assert (connection.status.fail_count, connection.status.reason) == (0, "")
            await connection.aclose()
    finally:
        await connection.aclose()


async def test_a_catalogue_that_fails_keeps_callers_out(hosts: HostPolicy) -> None:
    """Nothing can be called before its tools are written down."""
    async with RawServer() as server:
        kept = Kept(raw_spec(server), hosts)
        fails = True

        async def tools(*_: object) -> None:
            if fails:
                raise ConnectionError("the database is away")

        kept.connection._on_tools = tools
        kept.connection.start()
        try:
            await until(lambda: kept.connection.status.fail_count >= 2)
            assert "ready" not in kept.states
            fails = False
            await until(lambda: kept.connection.status.state == "ready")
        finally:
            await kept.connection.aclose()


async def test_statuses_are_published_on_change_only(hosts: HostPolicy) -> None:
    async with RawServer() as server:
        kept = Kept(raw_spec(server), hosts)
        connection = await kept.ready()
        for _ in range(5):
            await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
        await connection.aclose()
        await connection.aclose()
        assert kept.states == ["connecting", "ready", "closed"]
        with pytest.raises(AssertionError):
            await kept.ready(0.1)
