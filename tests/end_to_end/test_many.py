"""Two web processes and two workers: everything works wherever the request lands."""

from __future__ import annotations

import asyncio
import json
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from tests.end_to_end.server import Server, receive_until, send
from tests.end_to_end.test_outage import survive
from tests.end_to_end.topology import Topology, topology
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

KINDS = ["postgres", pytest.param("mysql", marks=pytest.mark.slow)]


async def events_from(socket: ClientConnection, after: int) -> list[dict[str, Any]]:
    """The events after a `seq`, up to the first end."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["event_type"] != "done":
        message = (await receive_until_any(socket))[0]
        if message.get("seq", 0) > after:
            found.append(message)
    return found


async def receive_until_any(socket: ClientConnection) -> list[dict[str, Any]]:
    async with asyncio.timeout(WAIT_SECONDS):
        return [json.loads(await socket.recv())]


async def ask_for_file(socket: ClientConnection) -> dict[str, Any]:
    """Ask for something that needs approval; the request."""
    call = json.dumps({"file_path": "/files/a.txt", "content": "kept"})
    await send(socket, "chat", message=f"!tool write_file {call}")
    return (await receive_until(socket, "hitl_request"))[-1]


async def decide(server: Server, request: dict[str, Any], answer: str) -> tuple[int, Any]:
    """Answer a request through a server."""
    path = f"/runs/{request['run_id']}/decisions/{request['data']['request_id']}"
    return await server.post(path, {"type": answer})


@pytest.mark.parametrize("kind", KINDS)
@requirement("G6", "G10", "G11", "G14")
async def test_a_run_is_watched_cancelled_and_decided_through_another_process(
    kind: str, tmp_path: Path
) -> None:
    async with topology(kind, tmp_path) as many:
        await watched_elsewhere(many)
        await cancelled_elsewhere(many)
        await decided_elsewhere(many)
        await handed_over(many)
        await not_ready_without_workers(many)


async def watched_elsewhere(many: Topology) -> None:
    """Start on one, watch on the other: everything, in order, once, from sockets and REST."""
    session_id = str(uuid.uuid4())
    async with (
        many.web[0].socket(session_id) as here,
        many.web[1].socket(session_id, after=0) as there,
    ):
        await receive_until(here, "connected")
        await receive_until(there, "connected")
        await send(here, "chat", message='!slow 30 10\n!tool ls {"path": "/"}\n!slow 30 10')
        seen_here, seen_there = await asyncio.gather(events_from(here, 0), events_from(there, 0))
    assert [e["seq"] for e in seen_there] == list(range(1, len(seen_there) + 1))
    assert seen_there == seen_here
    text = "".join(e["data"]["content"] for e in seen_there if e["event_type"] == "text")
    assert text.split() == [f"chunk{i}" for i in range(30)] * 2
    body = {"message": "again", "session_id": session_id, "client_message_id": "once"}
    answers = await asyncio.gather(*(server.post("/chat", body) for server in many.web))
    assert {status for status, _ in answers} == {200}
    assert len({answer["run_id"] for _, answer in answers}) == 1


async def cancelled_elsewhere(many: Topology) -> None:
    """Cancel through the other: the end is there when the answer comes."""
    session_id = str(uuid.uuid4())
    async with many.web[0].socket(session_id) as socket:
        await receive_until(socket, "connected")
        await send(socket, "chat", message="!slow 50000 20")
        run_id = (await receive_until(socket, "text"))[-1]["run_id"]
        status, run = await many.web[1].post(f"/runs/{run_id}/cancel")
        assert (status, run["status"]) == (200, "cancelled")
        done = (await receive_until(socket, "done"))[-1]["data"]
    assert (done["cancelled"], done["reason"]) == (True, "user_cancelled")


async def decided_elsewhere(many: Topology) -> None:
    """Decide through the other, twice; another answer is refused."""
    async with many.web[0].socket(str(uuid.uuid4())) as socket:
        await receive_until(socket, "connected")
        request = await ask_for_file(socket)
        assert [(await decide(many.web[1], request, "approve"))[0] for _ in range(2)] == [200, 200]
        assert (await decide(many.web[0], request, "reject"))[0] == 409
        events = await receive_until(socket, "done")
    assert events[-1]["data"]["reason"] == "completed"


async def handed_over(many: Topology) -> None:
    """A worker that is told to end leaves a waiting run to the other, without a lease's delay."""
    async with many.web[0].socket(str(uuid.uuid4())) as socket:
        await receive_until(socket, "connected")
        request = await ask_for_file(socket)
        for worker in many.workers:  # whichever has it
            await worker.signal(signal.SIGTERM)
            worker.start()
            await many.is_ready()
        assert (await many.web[1].get(f"/runs/{request['run_id']}"))["status"] == "waiting"
        assert (await decide(many.web[1], request, "approve"))[0] == 200
        events = await receive_until(socket, "done")
    assert events[-1]["data"]["reason"] == "completed"
    assert "hitl_request" not in {e["event_type"] for e in events}


async def not_ready_without_workers(many: Topology) -> None:
    """Without workers the web processes live and are not ready; what waits is answered later."""
    session_id = str(uuid.uuid4())
    for worker in many.workers:
        await worker.signal(signal.SIGTERM)
    async with many.web[0].socket(session_id) as socket:
        await receive_until(socket, "connected")
        await send(socket, "chat", message="later")
        accepted = (await receive_until(socket, "accepted"))[-1]["data"]
        assert await many.checks() == {
            "bus": "ok",
            "database": "ok",
            "disk": "ok",
            "migrations": "ok",
            "workers": "none is running",
        }
        status, run = await many.web[1].post(f"/runs/{accepted['run_id']}/cancel")
        assert (status, run["status"]) == (200, "cancelled")
        await receive_until(socket, "done")
        await send(socket, "chat", message="still later")
        await receive_until(socket, "accepted")
        many.workers[0].start()
        assert (await events_from(socket, 1))[-1]["data"]["reason"] == "completed"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@requirement("G17")
async def test_redis_or_the_database_away_for_three_seconds_costs_no_answer(
    kind: str, tmp_path: Path
) -> None:
    async with topology(kind, tmp_path) as many:
        await survive(many.web[0], many.redis)
        await many.is_ready()
        await survive(many.web[1], many.database)
        await many.is_ready()
