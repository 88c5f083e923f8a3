"""Readers that come and go at random moments miss nothing and see nothing twice."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from contextlib import suppress
from typing import Any

import aiohttp
import pytest

from tests.end_to_end.server import Server, receive, receive_until, send
from tests.requirements import requirement

CLIENTS = 100
MESSAGE = '!slow 60 10\n!tool ls {"path": "/files"}\n!slow 30 10'


async def start(server: Server, session_id: str) -> None:
    """Send the message and leave at once."""
    async with server.socket(session_id) as socket:
        await receive_until(socket, "connected")
        await send(socket, "chat", message=MESSAGE)
        await receive_until(socket, "accepted")


def is_over(events: list[dict[str, Any]]) -> bool:
    """Whether the run's end was seen."""
    return bool(events) and events[-1]["event_type"] == "done"


async def by_socket(server: Server, session_id: str, chance: random.Random) -> list[dict[str, Any]]:
    """Read with drops: each connection lasts a random while, the next resumes by `after`."""
    events: list[dict[str, Any]] = []
    while not is_over(events):
        after = events[-1]["seq"] if events else 0
        with suppress(TimeoutError):
            async with asyncio.timeout(chance.uniform(0.05, 0.6)):
                async with server.socket(session_id, after=after) as socket:
                    async for raw in socket:
                        message = json.loads(raw)
                        if "seq" in message:
                            events.append(message)
                        if is_over(events):
                            break
    return events


async def by_sse(server: Server, session_id: str, chance: random.Random) -> list[dict[str, Any]]:
    """The same over SSE with `Last-Event-ID`."""
    events: list[dict[str, Any]] = []
    async with server.http() as http:
        while not is_over(events):
            headers = {"Last-Event-ID": str(events[-1]["seq"])} if events else {}
            with suppress(TimeoutError):
                async with asyncio.timeout(chance.uniform(0.05, 0.6)):
                    await read_sse(http, session_id, headers, events)
    return events


async def read_sse(
    http: aiohttp.ClientSession,
    session_id: str,
    headers: dict[str, str],
    events: list[dict[str, Any]],
) -> None:
    """Append what one SSE connection brings."""
    url = f"/api/v1/sessions/{session_id}/events?after=0"
    async with http.get(url, headers=headers) as answer:
        assert answer.status == 200
        async for line in answer.content:
            if line.startswith(b"data: "):
                events.append(json.loads(line[6:]))
            if is_over(events):
                return


async def undisturbed(server: Server, session_id: str) -> list[dict[str, Any]]:
    """The whole stream in one go."""
    events: list[dict[str, Any]] = []
    async with server.socket(session_id, after=0) as socket:
        while not is_over(events):
            message = await receive(socket)
            if "seq" in message:
                events.append(message)
    return events


@pytest.mark.timeout(300)
@pytest.mark.parametrize("read", [by_socket, by_sse])
@requirement("G4", "G5", "R17.5", "P36")
async def test_a_hundred_readers_that_drop_and_return_join_to_the_whole_stream(
    server: Server, read: Any
) -> None:
    sessions = [str(uuid.uuid4()) for _ in range(CLIENTS)]

    async def one(number: int) -> list[dict[str, Any]]:
        await start(server, sessions[number])
        return await read(server, sessions[number], random.Random(number))

    joined = await asyncio.gather(*(one(number) for number in range(CLIENTS)))
    for session_id, events in zip(sessions, joined, strict=True):
        assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
        assert events == await undisturbed(server, session_id)
        text = "".join(e["data"]["content"] for e in events if e["event_type"] == "text")
        assert text.split() == [f"chunk{i}" for i in range(60)] + [f"chunk{i}" for i in range(30)]


@requirement("R17.6", "P28", "G5")
async def test_a_reader_that_leaves_does_not_stop_the_run(server: Server) -> None:
    session_id = str(uuid.uuid4())
    await start(server, session_id)
    events = await undisturbed(server, session_id)
    assert events[-1]["data"]["reason"] == "completed"
