"""A process from start to end: ready after a kill, an orderly end."""

from __future__ import annotations

import asyncio
import json
import signal
import uuid

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.server import receive_until, send
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS


@requirement("G8", "G11")
async def test_a_pending_approval_survives_a_kill_and_is_decided_after_it(
    start_server: StartServer,
) -> None:
    server = await start_server()
    session_id = str(uuid.uuid4())
    async with server.socket(session_id) as socket:
        await receive_until(socket, "connected")
        call = json.dumps({"file_path": "/files/a.txt", "content": "kept"})
        await send(socket, "chat", message=f"!tool write_file {call}")
        request = (await receive_until(socket, "hitl_request"))[-1]
        await server.signal()
    await server.start()
    run = await server.get(f"/runs/{request['run_id']}")
    assert run["status"] == "waiting"
    assert [p["request_id"] for p in run["pending"]] == [request["data"]["request_id"]]
    async with server.socket(session_id, after=request["seq"]) as socket:
        await receive_until(socket, "connected")
        await send(
            socket, "hitl_decision", request_id=request["data"]["request_id"], type="approve"
        )
        events = await receive_until(socket, "done")
    assert [e["event_type"] for e in events if e["event_type"] == "hitl_request"] == []
    assert (server.home / "data/workspaces/alice/files/a.txt").read_text() == "kept"


@pytest.mark.slow
@requirement("G9")
async def test_sigterm_gives_every_client_an_end_and_keeps_what_was_said(
    start_server: StartServer,
) -> None:
    server = await start_server()
    session_id = str(uuid.uuid4())
    async with server.socket(session_id) as socket:
        await receive_until(socket, "connected")
        await send(socket, "chat", message="!slow 5000 20")
        await receive_until(socket, "text")
        stopping = asyncio.create_task(server.signal(signal.SIGTERM))
        with pytest.raises(ConnectionClosed) as closed:
            await read_for_ever(socket)
        await stopping
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code in (1001, 1012)
    await server.start()
    messages = (await server.get(f"/sessions/{session_id}/messages"))["items"]
    assert [m["status"] for m in messages] == ["complete", "failed"]
    assert messages[1]["content"].startswith("chunk0 chunk1")


@pytest.mark.slow
@requirement("G8")
async def test_keys_and_cookies_outlive_a_kill(start_server: StartServer) -> None:
    server = await start_server()
    status, made = await server.post("/sessions", {})
    assert status in (200, 201)
    await server.signal()
    await server.start()
    assert (await server.get(f"/sessions/{made['session_id']}"))["user_id"] == "alice"


async def read_for_ever(socket: ClientConnection) -> None:
    """Read until the server closes; it has 35 seconds."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            await socket.recv()
