"""Who has a connection, for how long, and how many there may be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import pytest

from dataagent_core.errors import TooManyServers
from dataagent_core.mcp.connections.connection import ConnectionRules
from dataagent_core.mcp.connections.pool import ConnectionPool, PoolLimits
from dataagent_core.mcp.types import (
    CallFailed,
    ConnectionKey,
    ConnectionStatus,
    RemoteTool,
    ServerSpec,
)
from dataagent_core.network import HostPolicy
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

from .raw import Asked, RawServer
from .running import QUICK, alive, raw_spec, stdio_spec, stubborn

MakePool = Callable[..., ConnectionPool]


class Heard:
    """What a pool told."""

    def __init__(self) -> None:
        self.statuses: list[tuple[str, str]] = []
        self.lists: list[str] = []

    async def tools(self, spec: ServerSpec, tools: tuple[RemoteTool, ...]) -> None:
        self.lists.append(spec.server_id)

    def status(self, key: ConnectionKey, spec: ServerSpec, status: ConnectionStatus) -> None:
        self.statuses.append((key.principal, status.state))


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def make_pool(hosts: HostPolicy, heard: Heard) -> AsyncGenerator[MakePool]:
    pools: list[ConnectionPool] = []

    def make(rules: ConnectionRules = QUICK, **limits: float) -> ConnectionPool:
        made = PoolLimits(connection=rules, **limits)  # pyright: ignore[reportArgumentType] numbers
        pools.append(
            ConnectionPool(hosts, on_tools=heard.tools, on_status=heard.status, limits=made)
        )
        return pools[-1]

    yield make
    for pool in pools:
        await pool.aclose()


@pytest.fixture
async def server() -> AsyncGenerator[RawServer]:
    async with RawServer() as server:
        yield server


def greetings(server: RawServer) -> int:
    return sum(asked.message.get("method") == "initialize" for asked in server.asked)


async def test_many_who_need_a_connection_at_once_get_one(
    make_pool: MakePool, server: RawServer, heard: Heard
) -> None:
    """Made by the first, without waiting; its tools are told before it is ready."""
    pool = make_pool()
    spec = raw_spec(server)
    leases = [pool.lease(spec, user_id=f"u{n}", session_id=f"s{n}") for n in range(50)]
    assert len({id(lease) for lease in leases}) == 1
    assert greetings(server) == 0
    assert all(await asyncio.gather(*(lease.wait_ready(WAIT_SECONDS) for lease in leases)))
    assert (greetings(server), heard.lists) == (1, ["srv"])
    assert heard.statuses == [("shared", "connecting"), ("shared", "ready")]
    assert pool.find(spec, user_id="u1", session_id="s1") is leases[0]
    assert [status.state for status in pool.statuses().values()] == ["ready"]


@requirement("R31.1", "P49")
async def test_who_shares_a_connection_is_as_the_registration_says(
    make_pool: MakePool, server: RawServer
) -> None:
    pool = make_pool(max_per_user=10)
    shared, by_user, by_session, own = (
        raw_spec(server, server_id="a"),
        raw_spec(server, server_id="b", session_scope="user"),
        raw_spec(server, server_id="c", session_scope="session"),
        raw_spec(server, server_id="d", scope="user", user_id="ann"),
    )
    for spec in (shared, by_user, by_session, own):
        pool.lease(spec, user_id="ann", session_id="s1")
        pool.lease(spec, user_id="ann", session_id="s2")
    for spec in (shared, by_user, by_session):
        pool.lease(spec, user_id="ben", session_id="s3")
    assert sorted((key.server_id, key.principal) for key in pool.statuses()) == [
        ("a", "shared"),
        ("b", "user:ann"),
        ("b", "user:ben"),
        ("c", "session:s1"),
        ("c", "session:s2"),
        ("c", "session:s3"),
        ("d", "user:ann"),
    ]
    assert pool.find(own, user_id="ben", session_id="s3") is None


@pytest.mark.slow
@requirement("R31.3", "P50")
async def test_the_last_holders_end_frees_a_connection_after_a_while(
    make_pool: MakePool, server: RawServer
) -> None:
    pool = make_pool(linger_seconds=0.3)
    spec = raw_spec(server)
    connection = pool.lease(spec, user_id="ann", session_id="s1")
    pool.lease(spec, user_id="ben", session_id="s2")
    assert await connection.wait_ready(WAIT_SECONDS)
    pool.release("s1")
    await asyncio.sleep(0.5)
    assert connection.status.state == "ready"
    pool.release("s2")
    assert pool.lease(spec, user_id="cam", session_id="s3") is connection  # taken up in time
    await asyncio.sleep(0.5)
    assert connection.status.state == "ready"
    pool.release("s3")
    pool.release("nobody")
    await until(lambda: connection.status.state == "closed")
    assert pool.statuses() == {}
    await until(lambda: server.is_quiet)


async def test_a_held_connection_stays_without_a_session(
    make_pool: MakePool, server: RawServer
) -> None:
    pool = make_pool(linger_seconds=0.05)
    held = pool.hold(raw_spec(server))
    assert pool.lease(raw_spec(server), user_id="ann", session_id="s1") is held
    assert await held.wait_ready(WAIT_SECONDS)
    pool.release("s1")
    await asyncio.sleep(0.2)
    assert held.status.state == "ready"
    await pool.drop("srv")
    await until(lambda: held.status.state == "closed")


async def test_an_unused_connection_is_put_down_and_taken_up_by_the_next_call(
    make_pool: MakePool, server: RawServer
) -> None:
    pool = make_pool(replace(QUICK, idle_seconds=0.3))
    connection = pool.lease(raw_spec(server), user_id="ann", session_id="s1")
    assert await connection.wait_ready(WAIT_SECONDS)
    await until(lambda: connection.status.state == "idle")
    assert connection.tools == ()
    await until(lambda: server.is_quiet)
    await connection.call("echo", {}, timeout_seconds=WAIT_SECONDS)
    assert (connection.status.state, connection.status.generation) == ("ready", 2)


@pytest.mark.slow
async def test_an_unused_connection_is_ready_again_for_who_only_looks(
    make_pool: MakePool, server: RawServer
) -> None:
    pool = make_pool(replace(QUICK, idle_seconds=1.0))
    connection = pool.lease(raw_spec(server), user_id="ann", session_id="s1")
    assert await connection.wait_ready(WAIT_SECONDS)
    await until(lambda: connection.status.state == "idle")
    await asyncio.sleep(1.0)  # longer ago than it may lie unused
    assert await connection.wait_ready(WAIT_SECONDS)


async def test_a_changed_registration_is_a_new_connection(
    make_pool: MakePool, server: RawServer
) -> None:
    pool = make_pool()
    before = raw_spec(server, headers={"X-Key": "1"})
    after = raw_spec(server, headers={"X-Key": "2"}, config_version=2)
    old = pool.lease(before, user_id="ann", session_id="s1")
    assert await old.wait_ready(WAIT_SECONDS)
    assert pool.find(after, user_id="ann", session_id="s1") is None
    new = pool.lease(after, user_id="ann", session_id="s1")
    assert new is not old
    assert await new.wait_ready(WAIT_SECONDS)
    await until(lambda: old.status.state == "closed")
    assert {asked.headers.get("x-key") for asked in server.asked[-2:]} == {"2"}


@requirement("R30.6")
async def test_a_call_that_runs_ends_well_though_its_server_was_changed(
    make_pool: MakePool, server: RawServer, heard: Heard
) -> None:
    has_come, may_answer = asyncio.Event(), asyncio.Event()

    async def hold(asked: Asked, _writer: asyncio.StreamWriter) -> bool:
        if asked.message.get("method") == "tools/call":
            has_come.set()
            await may_answer.wait()
        return False

    pool = make_pool()
    before, after = raw_spec(server), raw_spec(server, config_version=2)
    old = pool.lease(before, user_id="ann", session_id="s1")
    assert await old.wait_ready(WAIT_SECONDS)
    server.on_request = hold
    running = asyncio.create_task(old.call("echo", {}, timeout_seconds=WAIT_SECONDS))
    await asyncio.wait_for(has_come.wait(), WAIT_SECONDS)
    await pool.drop(before.server_id)
    new = pool.lease(after, user_id="ann", session_id="s1")
    assert await new.wait_ready(WAIT_SECONDS)
    assert not running.done()
    may_answer.set()
    assert (await running).content[0]["text"] == "raw"
    await until(lambda: old.status.state == "closed")
    assert heard.statuses[-1][1] == "ready"  # how the old one ended says nothing of the new


async def test_the_end_of_the_program_waits_for_no_call(
    make_pool: MakePool, server: RawServer
) -> None:
    has_come = asyncio.Event()

    async def hold(asked: Asked, _writer: asyncio.StreamWriter) -> bool:
        if asked.message.get("method") == "tools/call":
            has_come.set()
            await asyncio.sleep(3600)
        return False

    pool = make_pool()
    connection = pool.lease(raw_spec(server), user_id="ann", session_id="s1")
    assert await connection.wait_ready(WAIT_SECONDS)
    server.on_request = hold
    running = asyncio.create_task(connection.call("echo", {}, timeout_seconds=WAIT_SECONDS))
    await asyncio.wait_for(has_come.wait(), WAIT_SECONDS)
    await pool.drop(connection.spec.server_id)
    async with asyncio.timeout(WAIT_SECONDS):
        await pool.aclose()
    with pytest.raises(CallFailed):
        await running
    assert connection.status.state == "closed"


@requirement("R31.2")
async def test_a_user_has_so_many_own_servers_connected_and_no_more(
    make_pool: MakePool, server: RawServer
) -> None:
    pool = make_pool(max_per_user=2)
    own = [
        raw_spec(server, server_id=f"o{n}", scope="user", user_id="ann", session_scope="user")
        for n in range(4)
    ]
    pool.lease(own[0], user_id="ann", session_id="s1")
    pool.lease(own[1], user_id="ann", session_id="s1")
    with pytest.raises(TooManyServers) as refused:
        pool.lease(own[2], user_id="ann", session_id="s1")
    assert refused.value.details == {"what": "mcp_connections", "limit": 2, "used": 2}
    pool.lease(raw_spec(server), user_id="ann", session_id="s1")  # shared ones do not count
    pool.lease(own[0], user_id="ann", session_id="s9")
    pool.release("s1")
    pool.lease(own[3], user_id="ann", session_id="s2")  # in place of one that only lingers
    assert {key.server_id for key in pool.statuses()} == {"srv", "o0", "o3"}


async def test_there_are_so_many_processes_and_no_more(make_pool: MakePool) -> None:
    pool = make_pool(max_processes=1)
    first = pool.lease(stdio_spec(server_id="a"), user_id="ann", session_id="s1")
    with pytest.raises(TooManyServers):
        pool.lease(stdio_spec(server_id="b"), user_id="ben", session_id="s2")
    assert await first.wait_ready(WAIT_SECONDS)


@pytest.mark.slow
@requirement("P48", "R29.5", "M6.2")
async def test_one_dead_server_does_not_affect_the_others(
    make_pool: MakePool, server: RawServer
) -> None:
    """F16: each is reached by itself."""
    pool = make_pool()
    async with RawServer() as gone:
        dead = raw_spec(gone, server_id="dead")
    failing = [
        pool.hold(dead),
        pool.hold(stdio_spec(server_id="nothing", command="no-such-program")),
    ]
    alive = [pool.hold(raw_spec(server, server_id=name)) for name in ("x", "y")]
    assert all([await connection.wait_ready(WAIT_SECONDS) for connection in alive])
    await until(lambda: all(connection.status.status == "error" for connection in failing))
    assert failing[0].status.next_retry_at is not None


async def test_a_disabled_server_is_not_reached(make_pool: MakePool, server: RawServer) -> None:
    connection = make_pool().lease(raw_spec(server, disabled=True), user_id="a", session_id="s")
    assert not await connection.wait_ready(WAIT_SECONDS)
    assert (connection.status.state, server.asked) == ("disabled", [])


async def test_a_files_server_may_be_anywhere(heard: Heard, server: RawServer) -> None:
    closed = HostPolicy()
    pool = ConnectionPool(
        closed, on_tools=heard.tools, on_status=heard.status, limits=PoolLimits(connection=QUICK)
    )
    try:
        own = pool.lease(raw_spec(server, scope="file"), user_id="ann", session_id="s1")
        assert await own.wait_ready(WAIT_SECONDS)
    finally:
        await pool.aclose()
        closed.close()


@pytest.mark.slow
async def test_closing_ends_every_connection_and_process(
    make_pool: MakePool, server: RawServer
) -> None:
    """Also servers that ignore every request to go, and one that is only being reached."""
    pool = make_pool()
    held = [pool.hold(stdio_spec(server_id=f"s{n}", **stubborn())) for n in range(3)]
    held.append(pool.hold(raw_spec(server)))
    assert all([await connection.wait_ready(WAIT_SECONDS) for connection in held])
    pids = [int(pid) for one in held[:3] for pid in one.tools[0].name.split("-")]
    slow = pool.hold(stdio_spec(server_id="slow", command="sleep", args=("3600",)))
    await until(lambda: slow.status.state == "connecting")
    await pool.aclose()
    assert {one.status.state for one in [*held, slow]} == {"closed"}
    assert not any(alive(pid) for pid in pids)
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("mcp ")] == []
