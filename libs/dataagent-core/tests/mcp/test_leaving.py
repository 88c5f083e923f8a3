"""Callers leave a call with a failure or cancelled, and are never blocked by a server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from dataagent_core.mcp.connections.live_session import (
    CallTimer,
    Health,
    HealthRules,
    LiveSession,
    PendingCall,
    run_call,
)
from dataagent_core.mcp.types import CallFailed, RemoteResult, ServerSpec
from dataagent_core.mcp.wire import SessionSignals
from dataagent_core.mcp.wire.connect import cancelling_in_background
from tests.standins.mcp_server import stdio_command
from tests.waiting import WAIT_SECONDS, until

from .conftest import Keep
from .running import Party, call, outcome, stdio_spec

SPEC = ServerSpec(server_id="srv", scope="global", name="s", alias="s", max_concurrency=2)
DEAF = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    result = {"tools": [{"name": "listen", "inputSchema": {"type": "object"}}]}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "deaf", "version": "1"}}
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if message["method"] == "server/discover":
        print(json.dumps({**answer, "error": {"code": -32601, "message": "no"}}), flush=True)
    elif message["method"] == "tools/call":
        time.sleep(300)
    elif "id" in message:
        print(json.dumps({**answer, "result": result}), flush=True)
"""


class Silent:
    """A session that never answers.

    In place of a real one: two ends of one call in the same turn of the loop cannot be brought
    about with a server of flesh and blood.
    """

    def __init__(self) -> None:
        self.is_called = asyncio.Event()

    async def call(self, *_: Any, **__: Any) -> RemoteResult:
        self.is_called.set()
        await asyncio.Event().wait()
        raise AssertionError


def silent() -> tuple[LiveSession, Silent]:
    port = Silent()
    # as a port
    health = Health(HealthRules())
    return LiveSession(port, SessionSignals(), health, SPEC), port  # type: ignore[arg-type]


async def called(live: LiveSession, seconds: float = 60) -> RemoteResult:
    return await run_call(live, PendingCall("t", {}, CallTimer(seconds)))


@pytest.mark.parametrize("cancels_first", [False, True])
async def test_a_caller_who_is_cancelled_as_the_session_dies_stays_cancelled(
    cancels_first: bool,
) -> None:
    live, port = silent()
    calling = asyncio.create_task(called(live))
    await port.is_called.wait()
    if cancels_first:
        calling.cancel()
    live.end("gone")
    if not cancels_first:
        calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert not live.is_busy


async def test_a_task_cancelled_earlier_still_gets_the_failure_of_its_call() -> None:
    live, _ = silent()

    async def last_words() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            return await outcome(called(live, 0.05))  # noqa: B012 a task that ends its own way

    task = asyncio.create_task(last_words())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "MCP_TIMEOUT"


async def test_each_caller_leaves_at_their_own_deadline_in_any_order() -> None:
    live, _ = silent()
    long = asyncio.create_task(called(live, 60))
    await asyncio.sleep(0)
    short = [asyncio.create_task(called(live, seconds)) for seconds in (0.2, 0.1, 0.3)]
    async with asyncio.timeout(WAIT_SECONDS):
        assert [await outcome(task) for task in short] == ["MCP_TIMEOUT"] * 3
    assert not long.done()
    live.end("gone")
    assert await outcome(long) == "MCP_SERVER_UNAVAILABLE"
    await live.drain()
    with pytest.raises(CallFailed) as failed:
        await called(live)
    assert failed.value.was_sent is False


async def test_a_call_that_was_given_up_leaves_its_task_as_it_was(
    steady: Party, keep: Keep
) -> None:
    connection = await keep(steady.spec()).ready()
    with pytest.raises(CallFailed):
        await connection.call("slow", {"seconds": 60}, timeout_seconds=0.2)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)
    assert await call(connection, "echo", text="on") == "on"


@pytest.mark.slow
async def test_a_program_that_does_not_read_holds_no_caller_back(keep: Keep) -> None:
    """Its pipe is full, so neither the call nor the news that the caller left can be written."""
    spec = stdio_spec(command=sys.executable, args=("-c", DEAF))
    connection = await keep(spec).ready()
    much = {"text": "x" * 1_000_000}
    first = asyncio.create_task(connection.call("listen", much, timeout_seconds=60))
    await until(lambda: connection.is_busy)
    async with asyncio.timeout(WAIT_SECONDS):  # the library would wait for five seconds with each
        assert await outcome(connection.call("listen", much, timeout_seconds=0.2)) == "MCP_TIMEOUT"
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first


@asynccontextmanager
async def stuck() -> AsyncGenerator[TransportStreams]:
    """Streams that take nothing."""
    inbox, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outbox = anyio.create_memory_object_stream[SessionMessage](0)
    async with inbox, reading, writing, outbox:
        yield reading, writing


async def test_only_cancellations_are_sent_in_the_background() -> None:
    async with cancelling_in_background(stuck()) as (_, writing):
        gone = JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={})
        async with asyncio.timeout(WAIT_SECONDS):
            await writing.send(SessionMessage(gone))
        asked = JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call", params={})
        sending = asyncio.create_task(writing.send(SessionMessage(asked)))
        _, waiting = await asyncio.wait({sending}, timeout=0.05)
        assert waiting
        sending.cancel()
        before = len(asyncio.all_tasks())
    assert len(asyncio.all_tasks()) < before


UNCLOSED = """
import asyncio, json, sys
from dataagent_core.mcp import MCPConfig, MCPConnectionManager, MCPServerConfig

async def main():
    manager = MCPConnectionManager()
    program = json.loads(sys.argv[1])
    await manager.connect_user_servers("ana", MCPConfig([MCPServerConfig("sums", **program)]))
    print(len(await manager.get_user_tools("ana")))

asyncio.run(main())
"""


async def test_a_program_that_closes_nothing_ends(tmp_path: Path) -> None:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", UNCLOSED, json.dumps(stdio_command())),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "DATAAGENT_DATA_DIR": str(tmp_path), "DATAAGENT_MCP_STDIO": "any"},
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            printed, _ = await program.communicate()
    finally:
        if program.returncode is None:
            program.kill()
    assert (int(printed) > 0, program.returncode) == (True, 0)
