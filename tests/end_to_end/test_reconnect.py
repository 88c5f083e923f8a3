"""Readers that come and go at random moments miss nothing and see nothing twice."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from typing import Any

import pytest

from tests.end_to_end.server import Server, receive, receive_until, send
from tests.requirements import requirement

CLIENTS = 100
MOST_PER_CONNECTION = 15
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
    """Read with drops: each connection vanishes after a few events, the next resumes by `after`."""
    events: list[dict[str, Any]] = []
    while not is_over(events):
        enough = len(events) + chance.randint(1, MOST_PER_CONNECTION)
        async with server.socket(session_id, after=events[-1]["seq"] if events else 0) as socket:
            while len(events) < enough and not is_over(events):
                message = await receive(socket)
                if "seq" in message:
                    events.append(message)
            socket.transport.abort()
    return events


async def by_sse(server: Server, session_id: str, chance: random.Random) -> list[dict[str, Any]]:
    """The same over SSE with `Last-Event-ID`."""
    events: list[dict[str, Any]] = []
    async with server.http() as http:
        while not is_over(events):
            enough = len(events) + chance.randint(1, MOST_PER_CONNECTION)
            headers = {"Last-Event-ID": str(events[-1]["seq"])} if events else {}
            url = f"/api/v1/sessions/{session_id}/events?after=0"
            async with http.get(url, headers=headers) as answer:
                assert answer.status == 200
                while len(events) < enough and not is_over(events):
                    line = await answer.content.readline()
                    if line.startswith(b"data: "):
                        events.append(json.loads(line[6:]))
                answer.close()
    return events


async def undisturbed(server: Server, session_id: str) -> list[dict[str, Any]]:
    """The whole stream in one go."""
    events: list[dict[str, Any]] = []
    async with server.socket(session_id, after=0) as socket:
        while not is_over(events):
            message = await receive(socket)
            if "seq" in message:
                events.append(message)
    return events


@pytest.mark.slow
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
