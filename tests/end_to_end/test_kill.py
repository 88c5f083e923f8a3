"""kill -9 at any moment: nothing acknowledged is lost, everything ends once."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from websockets.exceptions import WebSocketException

from tests.end_to_end.conftest import StartServer
from tests.end_to_end.server import Server, send
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

TALKERS = 4
MESSAGES = [
    "!slow 20 5",
    "short",
    '!tool ls {"path": "/files"}\n!slow 10 5',
    "!think hm\n!slow 5 10",
]


async def talk(server: Server, session_id: str, acknowledged: dict[str, str], seed: int) -> None:
    """Send message after message until the server is gone; note what it acknowledged."""
    chance = random.Random(seed)
    with suppress(WebSocketException, OSError, TimeoutError):
        async with server.socket(session_id, after=0) as socket:
            while True:
                await send(socket, "chat", message=chance.choice(MESSAGES))
                async for raw in socket:
                    message: dict[str, Any] = json.loads(raw)
                    if message["event_type"] == "accepted":
                        acknowledged[message["data"]["run_id"]] = session_id
                    if message["event_type"] in ("done", "error") and "seq" not in message:
                        await asyncio.sleep(0.005)  # busy: ask again
                        break
                    if message["event_type"] == "done":
                        break


async def next_acknowledged(acknowledged: dict[str, str]) -> None:
    """Wait until one more message is acknowledged."""
    earlier = len(acknowledged)
    await until(lambda: len(acknowledged) > earlier)


async def history(server: Server, session_id: str) -> list[dict[str, Any]]:
    """All messages of a session."""
    items: list[dict[str, Any]] = []
    while True:
        page = await server.get(f"/sessions/{session_id}/messages?limit=100&offset={len(items)}")
        items += page["items"]
        if len(items) >= page["total"]:
            return items


async def ended(server: Server, run_id: str) -> dict[str, Any]:
    """The run, once it has ended."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            run = await server.get(f"/runs/{run_id}")
            if run["status"] in ("done", "cancelled", "failed"):
                return run
            await asyncio.sleep(0.02)


async def check_session(server: Server, session_id: str, run_ids: set[str]) -> None:
    """Every acknowledged message is there, with one answer that has ended once."""
    for run_id in run_ids:
        await ended(server, run_id)
    messages = await history(server, session_id)
    asked = Counter(m["run_id"] for m in messages if m["role"] == "user")
    answers = Counter(m["run_id"] for m in messages if m["role"] == "assistant")
    assert run_ids <= asked.keys()
    assert asked == answers
    assert set(asked.values()) == {1}
    assert {m["status"] for m in messages} <= {"complete", "cancelled", "failed"}
    events = await ledger(server, session_id)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    ends = Counter(e["run_id"] for e in events if e["event_type"] == "done")
    assert ends == asked


async def ledger(server: Server, session_id: str) -> list[dict[str, Any]]:
    """Everything the session's ledger holds."""
    events: list[dict[str, Any]] = []
    async with server.socket(session_id, after=0) as socket:
        connected = json.loads(await socket.recv())
        last_seq = connected["data"]["last_seq"]
        while not events or events[-1]["seq"] < last_seq:
            events.append(json.loads(await socket.recv()))
    return events


@requirement("G1", "G2", "G3", "G8", "R25.1")
@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow)])
async def test_kills_lose_nothing_and_answer_nothing_twice(
    kills: int, start_server: StartServer
) -> None:
    server = await start_server()
    sessions = [str(uuid.uuid4()) for _ in range(TALKERS)]
    acknowledged: dict[str, str] = {}
    for kill in range(kills):
        talkers = [
            asyncio.create_task(talk(server, session_id, acknowledged, seed=kill * TALKERS + i))
            for i, session_id in enumerate(sessions)
        ]
        await next_acknowledged(acknowledged)
        await asyncio.sleep(random.Random(kill).uniform(0.0, 0.4))
        await server.signal()
        await asyncio.gather(*talkers)
        await server.start()
    for session_id in sessions:
        runs = {run_id for run_id, sid in acknowledged.items() if sid == session_id}
        await check_session(server, session_id, runs)
        status, answer = await server.post("/chat", {"message": "after", "session_id": session_id})
        assert (status, answer["status"]) == (200, "done")
