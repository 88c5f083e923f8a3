"""Many clients that drop and come back at random moments, each with the whole story at the end."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements import requirement

if TYPE_CHECKING:
    from conftest import LiveServer

CHUNKS = 40
MESSAGE = f"!slow {CHUNKS} 5"
ANSWER = "".join(f"chunk{number} " for number in range(CHUNKS))


def check(events: list[dict[str, Any]]) -> None:
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    text = "".join(each["data"]["content"] for each in events if each["event_type"] == "text")
    assert text == ANSWER
    assert [each["event_type"] for each in events].count("done") == 1


async def over_sockets(live: LiveServer, dice: random.Random) -> list[dict[str, Any]]:
    """The run's events, collected over as many sockets as it takes."""
    session_id = str(uuid.uuid4())
    seen: list[dict[str, Any]] = []
    async with live.socket(session_id) as socket:
        await socket.chat(MESSAGE)
        socket.raw.transport.abort()
    while not seen or seen[-1]["event_type"] != "done":
        patience = dice.randrange(1, 8)
        after = seen[-1]["seq"] if seen else 0
        async with live.socket(session_id, after=after) as socket:
            for _ in range(patience):
                seen.append(await socket.receive())
                if seen[-1]["event_type"] == "done":
                    break
            if dice.random() < 0.5:
                socket.raw.transport.abort()
    return seen


async def over_streams(live: LiveServer, dice: random.Random) -> list[dict[str, Any]]:
    """The same over as many event streams as it takes."""
    session_id = str(uuid.uuid4())
    seen: list[dict[str, Any]] = []
    async with live.socket(session_id) as socket:
        await socket.chat(MESSAGE)
    url = f"/api/v1/sessions/{session_id}/events"
    while not seen or seen[-1]["event_type"] != "done":
        patience = dice.randrange(1, 8)
        cursor = {"Last-Event-ID": str(seen[-1]["seq"])} if seen else {}
        async with live.http() as client, client.stream("GET", url, headers=cursor) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    seen.append(json.loads(line[6:]))
                    patience -= 1
                    if not patience or seen[-1]["event_type"] == "done":
                        break
    return seen


@pytest.mark.slow
@requirement("G4", "G2")
async def test_sockets_that_drop_at_random_moments_lose_nothing_and_get_nothing_twice(
    live: LiveServer,
) -> None:
    clients = [over_sockets(live, random.Random(seed)) for seed in range(40)]
    for events in await asyncio.gather(*clients):
        check(events)
    await live.until(lambda: live.connections.count == 0)


@requirement("G4", "G2")
async def test_streams_that_drop_at_random_moments_lose_nothing_and_get_nothing_twice(
    live: LiveServer,
) -> None:
    clients = [over_streams(live, random.Random(seed)) for seed in range(20)]
    for events in await asyncio.gather(*clients):
        check(events)
    await live.until(lambda: live.container.capacity.used == 0)
