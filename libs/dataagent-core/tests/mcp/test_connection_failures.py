"""What happens to callers and connections when servers fail, transport by transport."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from dataagent_core.mcp.connections.live_session import HealthRules
from dataagent_core.mcp.types import CallFailed
from dataagent_core.mcp.wire import WireLimits
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

from .conftest import Keep, Serve
from .running import QUICK, Party, call, outcome, spec_of, text_of


@requirement("R31.4")
async def test_seventy_callers_of_a_killed_server_are_released_within_a_second(
    doomed: Party, keep: Keep, serve: Serve
) -> None:
    """F1, F2: its tools are gone, another server's calls go on, and it recovers by itself."""
    other = await keep(spec_of(await serve("http", "modern"), server_id="other")).ready()
    connection = await keep(doomed.spec(max_concurrency=50)).ready()
    pid = int(await call(connection, "pid"))
    calls = [
        asyncio.create_task(connection.call("slow", {"seconds": 3600}, timeout_seconds=7200))
        for _ in range(70)
    ]
    await until(lambda: doomed.count("started ") == 50)

    async def elsewhere() -> int:
        count = 0
        while not all(calling.done() for calling in calls):
            await call(other, "echo", text="still here")
            count += 1
        return count

    going_on = asyncio.create_task(elsewhere())
    await asyncio.sleep(0)
    doomed.kill(pid)
    _, late = await asyncio.wait(calls, timeout=WAIT_SECONDS)
    assert not late, f"{len(late)} callers still wait: {connection.status}"
    assert {await outcome(calling) for calling in calls} == {"MCP_SERVER_UNAVAILABLE"}
    await until(lambda: connection.tools == () or connection.status.generation > 1)
    assert await going_on >= 1
    await doomed.start()
    await until(lambda: connection.status.generation == 2 and connection.tools)
    assert await call(connection, "echo", text="back") == "back"
    assert doomed.count("started ") == 50  # nothing was sent a second time


async def test_a_connection_is_closed_from_any_task(steady: Party, keep: Keep) -> None:
    """F3: the owner leaves what it entered; callers are released."""
    mark = uuid4().hex
    connection = await keep(steady.spec()).ready()
    arguments = {"seconds": 3600, "mark": mark}
    calling = asyncio.create_task(connection.call("slow", arguments, timeout_seconds=7200))
    await until(lambda: steady.count(f"started {mark}") == 1)
    await asyncio.create_task(connection.aclose())
    assert await outcome(calling) == "MCP_SERVER_UNAVAILABLE"
    assert connection.status.state == "closed"
    with pytest.raises(CallFailed) as failed:
        await call(connection, "echo", text="x")
    assert failed.value.was_sent is False


@requirement("M4.2")
async def test_a_slow_call_ends_at_its_deadline_and_the_server_is_told_to_stop(
    steady: Party, keep: Keep
) -> None:
    """F4: the session goes on."""
    mark = uuid4().hex
    connection = await keep(steady.spec()).ready()
    with pytest.raises(CallFailed) as failed:
        await connection.call("slow", {"seconds": 3600, "mark": mark}, timeout_seconds=0.5)
    assert (failed.value.failure.code, failed.value.was_sent) == ("MCP_TIMEOUT", True)
    await until(lambda: steady.count(f"cancelled {mark}") == 1)
    assert await call(connection, "echo", text="on") == "on"
    assert connection.status.generation == 1


async def test_a_cancelled_caller_leaves_at_once_and_the_server_is_told_to_stop(
    steady: Party, keep: Keep
) -> None:
    mark = uuid4().hex
    connection = await keep(steady.spec()).ready()
    arguments = {"seconds": 3600, "mark": mark}
    calling = asyncio.create_task(connection.call("slow", arguments, timeout_seconds=7200))
    await until(lambda: steady.count(f"started {mark}") == 1)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await until(lambda: steady.count(f"cancelled {mark}") == 1)
    assert connection.status.generation == 1


async def test_waiting_for_a_place_counts_against_the_deadline(steady: Party, keep: Keep) -> None:
    mark = uuid4().hex
    connection = await keep(steady.spec(max_concurrency=1)).ready()
    arguments = {"seconds": 3600, "mark": mark}
    first = asyncio.create_task(connection.call("slow", arguments, timeout_seconds=7200))
    await until(lambda: steady.count(f"started {mark}") == 1)
    with pytest.raises(CallFailed) as failed:
        await connection.call("slow", arguments, timeout_seconds=0.2)
    assert (failed.value.failure.code, failed.value.was_sent) == ("MCP_TIMEOUT", False)
    assert steady.count(f"started {mark}") == 1
    first.cancel()


async def test_a_huge_answer_fails_its_own_call_and_nothing_else(steady: Party, keep: Keep) -> None:
    """F7: while another call waits on the same session."""
    mark = uuid4().hex
    rules = replace(QUICK, wire=WireLimits(max_message_bytes=200_000))
    connection = await keep(steady.spec(), rules).ready()
    arguments = {"seconds": 1.0, "mark": mark}
    waiting = asyncio.create_task(connection.call("slow", arguments, timeout_seconds=WAIT_SECONDS))
    await until(lambda: steady.count(f"started {mark}") == 1)
    with pytest.raises(CallFailed) as failed:
        await connection.call("huge", {"size": 3_000_000}, timeout_seconds=WAIT_SECONDS)
    assert failed.value.failure.code == "MCP_RESULT_TOO_LARGE"
    assert text_of(await waiting) == "done"
    assert len(await call(connection, "huge", size=150_000)) == 150_000
    assert connection.status.generation == 1


async def test_an_answer_of_several_megabytes_arrives_whole(steady: Party, keep: Keep) -> None:
    """F7: the library alone stops at one."""
    connection = await keep(steady.spec()).ready()
    result = await connection.call("huge", {"size": 5_000_000}, timeout_seconds=60)
    assert len(text_of(result)) == 5_000_000
    assert result.byte_size > 5_000_000


@requirement("M1.3")
@pytest.mark.parametrize("kind", ["sse", "http"])
async def test_refused_credentials_are_a_state_that_ends_by_itself(
    kind: str, era: str, serve: Serve, keep: Keep, tmp_path: Path
) -> None:
    """F5: 401 in the middle of a session, then the token is good again."""
    token = tmp_path / "token"
    token.write_text("right")
    server = await serve(kind, era, TOKEN_FILE=str(token))
    connection = await keep(spec_of(server, headers={"Authorization": "Bearer right"})).ready()
    token.write_text("another")
    with pytest.raises(CallFailed) as failed:
        await call(connection, "echo", text="x")
    assert failed.value.failure.code == "MCP_AUTH_REQUIRED"
    await until(lambda: connection.status.state == "auth_required")
    assert (connection.status.status, connection.tools) == ("error", ())
    await until(lambda: connection.status.fail_count >= 2)
    assert connection.status.state in ("auth_required", "connecting")
    token.write_text("right")
    await until(lambda: connection.status.state == "ready")
    assert await call(connection, "echo", text="x") == "x"


@pytest.mark.parametrize("kind", ["sse", "http"])
async def test_one_refused_request_does_not_end_the_session(
    kind: str, era: str, serve: Serve, keep: Keep, tmp_path: Path
) -> None:
    refusal, notes = tmp_path / "refusal", tmp_path / "notes"
    server = await serve(kind, era, REFUSE_FILE=str(refusal), NOTES_FILE=str(notes))
    connection = await keep(spec_of(server)).ready()
    running = asyncio.create_task(
        connection.call("slow", {"seconds": 1.0}, timeout_seconds=WAIT_SECONDS)
    )
    await until(notes.exists)
    for status, code in ((429, "MCP_RATE_LIMITED"), (500, "MCP_SERVER_UNAVAILABLE")):
        refusal.write_text(str(status))
        with pytest.raises(CallFailed) as failed:
            await call(connection, "echo", text="x")
        assert (failed.value.failure.code, failed.value.failure.retryable) == (code, True)
        refusal.unlink()
    assert text_of(await running) == "done"
    assert await call(connection, "echo", text="x") == "x"
    assert connection.status.generation == 1


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_that_was_restarted_is_met_anew_and_no_call_is_replayed(
    kind: str, doomed: Party, keep: Keep
) -> None:
    """F17: the old session means nothing to the new process."""
    connection = await keep(doomed.spec()).ready()
    await connection.call("slow", {"seconds": 0, "mark": "one"}, timeout_seconds=WAIT_SECONDS)
    doomed.kill()
    await doomed.start()
    last = time.monotonic() + WAIT_SECONDS
    while not doomed.count("finished two") and time.monotonic() < last:
        with suppress(CallFailed):
            await connection.call(
                "slow", {"seconds": 0, "mark": "two"}, timeout_seconds=WAIT_SECONDS
            )
        await connection.wait_ready(WAIT_SECONDS)
    assert (doomed.count("started one"), doomed.count("started two")) == (1, 1)
    if kind == "http" and doomed.era == "modern":
        return  # no session over HTTP: a restart between two calls may go unnoticed
    assert connection.status.generation == 2


@pytest.mark.slow
@requirement("R31.4", "M1.3")
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_that_only_stops_answering_is_noticed_by_its_missed_probes(
    kind: str, era: str, serve: Serve, keep: Keep
) -> None:
    """Three probes without a sign of life; it is ready again once it goes on."""
    server = await serve(kind, era)
    rules = replace(QUICK, health=HealthRules(interval_seconds=0.1, probe_seconds=0.2))
    connection = await keep(spec_of(server, connect_timeout_seconds=2), rules).ready()
    server.pause()
    waiting = asyncio.create_task(connection.call("echo", {"text": "x"}, timeout_seconds=7200))
    try:
        await until(lambda: connection.status.state == "backoff")
        assert connection.tools == ()
        assert await asyncio.wait_for(outcome(waiting), WAIT_SECONDS) == "MCP_SERVER_UNAVAILABLE"
    finally:
        server.pause(is_paused=False)
    await until(lambda: connection.status.state == "ready")
