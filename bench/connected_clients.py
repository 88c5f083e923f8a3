"""Many connected clients of whom some ask something at any time. Used by `load.py`."""

from __future__ import annotations

import asyncio
import gc
import uuid
from collections import deque
from contextlib import suppress
from time import monotonic

from aiohttp import ClientSession

from bench.clients import SocketClient, TurnFailed, client_options, groups
from bench.latency import Lateness
from bench.meter import MeterOfBoth, percentile, to_json
from bench.processes import Json

_LOOK_SECONDS = 0.1


async def measure_connected(
    *,
    url: str,
    pid: int,
    message: str,
    users: int,
    seconds: float,
    turns_per_second: float,
    pace: float,
) -> Json:
    """Let connected users ask at a steady rate, whoever has waited longest first."""
    gc.collect()
    gc.disable()
    async with ClientSession(**client_options()) as http:
        guests = _ConnectedClients(http, url, message)
        await guests.enter(users)
        looking = asyncio.create_task(guests.look_at_health())
        meter = MeterOfBoth(pid)
        meter.start()
        late = Lateness(pace, monotonic(), monotonic() + seconds * 2)
        turns = await guests.ask(late, seconds, turns_per_second)
        sample = meter.stop(turns)
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        await guests.leave()
    gc.enable()
    health = percentile(guests.health, 0.95)
    return {**to_json(sample), "p95": percentile(late.values, 0.95), "health_p95": health}


class _ConnectedClients:
    """The connected users."""

    def __init__(self, http: ClientSession, url: str, message: str) -> None:
        self.health: list[float] = []
        self._http = http
        self._url = url
        self._message = message
        self._all: list[SocketClient] = []
        self._idle: deque[SocketClient] = deque()

    async def enter(self, users: int) -> None:
        """Connect them, a few at a time."""
        self._all = [SocketClient(self._http, self._url, str(uuid.uuid4())) for _ in range(users)]
        for some in groups(self._all):
            await asyncio.gather(*(one.enter() for one in some))
        self._idle.extend(self._all)

    async def ask(self, late: Lateness, seconds: float, turns_per_second: float) -> int:
        """Ask at the rate; how many turns there were, all of which ended well."""
        begin = monotonic()
        asked: list[asyncio.Task[None]] = []
        for number in range(int(seconds * turns_per_second)):
            await asyncio.sleep(max(0.0, begin + number / turns_per_second - monotonic()))
            if not self._idle:
                raise TurnFailed("Every user waits for an answer: the server is far behind.")
            asked.append(asyncio.create_task(self._turn(self._idle.popleft(), late)))
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        failed = [outcome for outcome in outcomes if outcome is not None]
        if failed:
            raise TurnFailed(f"{len(failed)} of {len(asked)} turns failed; one with {failed[0]!r}")
        return len(asked)

    async def _turn(self, client: SocketClient, late: Lateness) -> None:
        await client.turn(self._message, late.hears(monotonic()))
        self._idle.append(client)

    async def look_at_health(self) -> None:
        """Ask for the server's health all the while."""
        while True:
            started = monotonic()
            async with self._http.get(f"{self._url}/api/v1/health") as response:
                response.raise_for_status()
                await response.read()
            self.health.append(monotonic() - started)
            await asyncio.sleep(_LOOK_SECONDS)

    async def leave(self) -> None:
        """Disconnect all."""
        await asyncio.gather(*(one.leave() for one in self._all))
