"""A process that is the clients of a server: `python -m bench.load`. Runs on the other core.

It sends messages through a door (`clients.py`) and measures the server's process meanwhile.
Commands: `turns`, `paced`, `visits`, `hold` and `release`, `running`, `cancels`, `crowd`.
"""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Any

import uvloop
from aiohttp import ClientSession

from bench.clients import CLIENTS, BenchClient, SocketClient, TurnFailed, client_options, groups
from bench.connected_clients import measure_connected
from bench.latency import Lateness
from bench.meter import Meter, MeterOfBoth, memory_of, percentile, to_json
from bench.processes import Json, answer_lines
from bench.stopping import cancels


class Load:
    """The clients; some may stay between two commands."""

    def __init__(self) -> None:
        self._held: list[SocketClient] = []
        self._http: ClientSession | None = None

    async def handle(self, command: Json) -> Json:
        """Carry out a command."""
        do = command.pop("do")
        measure = _MEASURES.get(do)
        if measure is not None:
            return await measure(**command)
        if do == "hold":
            return await self._hold(**command)
        if do == "release":
            return await self._release()
        raise ValueError(f"There is no command {do!r}.")

    async def _hold(self, url: str, message: str, sessions: int) -> Json:
        """Sockets that stay open, each after one turn."""
        self._http = ClientSession(**client_options())
        self._held = [SocketClient(self._http, url) for _ in range(sessions)]
        for some in groups(self._held):
            await _one_turn(some, message)
        return {}

    async def _release(self) -> Json:
        await asyncio.gather(*(client.leave() for client in self._held))
        if self._http is not None:
            await self._http.close()
        self._held = []
        return {}


@asynccontextmanager
async def open_clients(
    transport: str, url: str, session_ids: Sequence[str | None]
) -> AsyncGenerator[list[BenchClient]]:
    """Clients that have entered."""
    async with ClientSession(**client_options()) as http:
        inside = [CLIENTS[transport](http, url, session_id) for session_id in session_ids]
        await asyncio.gather(*(client.enter() for client in inside))
        try:
            yield inside
        finally:
            await asyncio.gather(*(client.leave() for client in inside))


async def turns(
    *,
    transport: str,
    url: str,
    pid: int,
    message: str,
    sessions: int,
    turns: int,
    warm: int = 1,
    expected: str | None = None,
    session_ids: list[str] | None = None,
) -> Json:
    """Back-to-back turns in so many sessions; the first ones are checked and not counted."""
    ids = session_ids or [str(uuid.uuid4()) for _ in range(sessions)]
    async with open_clients(transport, url, ids) as inside:
        await asyncio.gather(*(_checked(client, message, warm, expected) for client in inside))
        meter = Meter(pid)
        meter.start()
        await asyncio.gather(*(_repeat(client, message, turns) for client in inside))
        return to_json(meter.stop(sessions * turns))


async def _repeat(client: BenchClient, message: str, count: int) -> None:
    for _ in range(count):
        await client.turn(message)


async def _checked(client: BenchClient, message: str, count: int, expected: str | None) -> None:
    for _ in range(count):
        heard: list[str] = []
        await client.turn(message, heard.append)
        if expected is not None and expected not in "".join(heard):
            raise TurnFailed(f"{expected!r} was not in the answer: {''.join(heard)[:500]}")


async def paced(
    *,
    url: str,
    pid: int,
    message: str,
    sessions: int,
    seconds: float,
    settle: float,
    pace: float,
    length: float,
) -> Json:
    """Sessions that stream back to back, started evenly over one turn's length."""
    gc.collect()
    gc.disable()
    async with open_clients("ws", url, [str(uuid.uuid4()) for _ in range(sessions)]) as inside:
        begin = monotonic() + settle
        end = begin + seconds
        late = Lateness(pace, begin, end)
        meter = MeterOfBoth(pid)

        async def session(number: int, client: BenchClient) -> None:
            await asyncio.sleep(length * number / sessions)
            while (started := monotonic()) < end:
                await client.turn(message, late.hears(started))

        work = asyncio.gather(*(session(number, each) for number, each in enumerate(inside)))
        await asyncio.sleep(begin - monotonic())
        meter.start()
        await asyncio.sleep(max(0.0, end - monotonic()))
        sample = meter.stop(1)
        await work
    gc.enable()
    return {**to_json(sample), "p95": percentile(late.values, 0.95), "chunks": len(late.values)}


async def visits(*, url: str, message: str, sessions: int, transport: str = "ws") -> Json:
    """Clients that come, have one turn in a new session, and leave."""
    async with ClientSession(**client_options()) as http:
        for some in groups([CLIENTS[transport](http, url) for _ in range(sessions)]):
            await _one_turn(some, message)
            await asyncio.gather(*(client.leave() for client in some))
    return {}


async def running(*, url: str, pid: int, message: str, sessions: int, seconds: float) -> Json:
    """The server's memory before and while so many sessions stream."""
    before = memory_of(pid)
    highest = before
    async with open_clients("ws", url, [str(uuid.uuid4()) for _ in range(sessions)]) as inside:
        work = asyncio.gather(*(client.turn(message) for client in inside))
        until = monotonic() + seconds
        while monotonic() < until and not work.done():
            await asyncio.sleep(0.2)
            highest = max(highest, memory_of(pid))
        await work
    return {"bytes": (highest - before) / sessions}


async def _one_turn(some: Sequence[BenchClient], message: str) -> None:
    await asyncio.gather(*(client.enter() for client in some))
    await asyncio.gather(*(client.turn(message) for client in some))


_MEASURES: dict[str, Callable[..., Awaitable[Json]]] = {
    "turns": turns,
    "paced": paced,
    "visits": visits,
    "running": running,
    "cancels": cancels,
    "crowd": measure_connected,
}


def main() -> None:
    """Answer commands until stdin ends."""
    factory: Any = uvloop.new_event_loop
    answer_lines(Load().handle, factory, AsyncExitStack())


if __name__ == "__main__":
    main()
