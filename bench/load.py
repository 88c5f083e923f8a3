"""A process that is the clients of a server: `python -m bench.load`. Runs on the other core.

It sends messages through a door (`doors.py`) and measures the server's process meanwhile.
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

from bench.crowds import crowd
from bench.doors import DOORS, SocketVisitor, TurnFailed, Visitor, client_options, groups
from bench.latency import Lateness
from bench.meter import Meter, MeterOfBoth, memory_of, percentile, to_json
from bench.processes import Json, answer_lines
from bench.stopping import cancels


class Load:
    """The clients; some may stay between two commands."""

    def __init__(self) -> None:
        self._held: list[SocketVisitor] = []
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
        self._held = [SocketVisitor(self._http, url) for _ in range(sessions)]
        for some in groups(self._held):
            await _one_turn(some, message)
        return {}

    async def _release(self) -> Json:
        await asyncio.gather(*(visitor.leave() for visitor in self._held))
        if self._http is not None:
            await self._http.close()
        self._held = []
        return {}


@asynccontextmanager
async def visitors(
    door: str, url: str, session_ids: Sequence[str | None]
) -> AsyncGenerator[list[Visitor]]:
    """Clients that have entered."""
    async with ClientSession(**client_options()) as http:
        inside = [DOORS[door](http, url, session_id) for session_id in session_ids]
        await asyncio.gather(*(visitor.enter() for visitor in inside))
        try:
            yield inside
        finally:
            await asyncio.gather(*(visitor.leave() for visitor in inside))


async def turns(
    *,
    door: str,
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
    async with visitors(door, url, ids) as inside:
        await asyncio.gather(*(_checked(visitor, message, warm, expected) for visitor in inside))
        meter = Meter(pid)
        meter.start()
        await asyncio.gather(*(_repeat(visitor, message, turns) for visitor in inside))
        return to_json(meter.stop(sessions * turns))


async def _repeat(visitor: Visitor, message: str, count: int) -> None:
    for _ in range(count):
        await visitor.turn(message)


async def _checked(visitor: Visitor, message: str, count: int, expected: str | None) -> None:
    for _ in range(count):
        heard: list[str] = []
        await visitor.turn(message, heard.append)
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
    async with visitors("ws", url, [str(uuid.uuid4()) for _ in range(sessions)]) as inside:
        begin = monotonic() + settle
        end = begin + seconds
        late = Lateness(pace, begin, end)
        meter = MeterOfBoth(pid)

        async def session(number: int, visitor: Visitor) -> None:
            await asyncio.sleep(length * number / sessions)
            while (started := monotonic()) < end:
                await visitor.turn(message, late.hears(started))

        work = asyncio.gather(*(session(number, each) for number, each in enumerate(inside)))
        await asyncio.sleep(begin - monotonic())
        meter.start()
        await asyncio.sleep(max(0.0, end - monotonic()))
        sample = meter.stop(1)
        await work
    gc.enable()
    return {**to_json(sample), "p95": percentile(late.values, 0.95), "chunks": len(late.values)}


async def visits(*, url: str, message: str, sessions: int, door: str = "ws") -> Json:
    """Clients that come, have one turn in a new session, and leave."""
    async with ClientSession(**client_options()) as http:
        for some in groups([DOORS[door](http, url) for _ in range(sessions)]):
            await _one_turn(some, message)
            await asyncio.gather(*(visitor.leave() for visitor in some))
    return {}


async def running(*, url: str, pid: int, message: str, sessions: int, seconds: float) -> Json:
    """The server's memory before and while so many sessions stream."""
    before = memory_of(pid)
    highest = before
    async with visitors("ws", url, [str(uuid.uuid4()) for _ in range(sessions)]) as inside:
        work = asyncio.gather(*(visitor.turn(message) for visitor in inside))
        until = monotonic() + seconds
        while monotonic() < until and not work.done():
            await asyncio.sleep(0.2)
            highest = max(highest, memory_of(pid))
        await work
    return {"bytes": (highest - before) / sessions}


async def _one_turn(some: Sequence[Visitor], message: str) -> None:
    await asyncio.gather(*(visitor.enter() for visitor in some))
    await asyncio.gather(*(visitor.turn(message) for visitor in some))


_MEASURES: dict[str, Callable[..., Awaitable[Json]]] = {
    "turns": turns,
    "paced": paced,
    "visits": visits,
    "running": running,
    "cancels": cancels,
    "crowd": crowd,
}


def main() -> None:
    """Answer commands until stdin ends."""
    factory: Any = uvloop.new_event_loop
    answer_lines(Load().handle, factory, AsyncExitStack())


if __name__ == "__main__":
    main()
