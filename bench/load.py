"""A process that is the clients of a server: `python -m bench.load`. Runs on the other core.

It sends messages over a transport (`clients.py`) and measures the server's process meanwhile.
Commands: `turns`, `paced`, `visits`, `hold` and `release`, `running`, `cancels`, `crowd`.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from statistics import median, quantiles
from time import monotonic
from typing import Any

import orjson
import uvloop
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from bench.clients import (
    CLIENTS,
    HEADERS,
    BenchClient,
    SocketClient,
    TurnFailed,
    client_options,
    groups,
)
from bench.meter import Lateness, Meter, MeterOfBoth, memory_of, percentile, to_json
from bench.processes import Json, answer_lines

_LOOK_SECONDS = 0.1
_STOPPING_AT_ONCE = 8
_UP_SECONDS = 0.05  # a tool's process is up by then


class Load:
    """The clients; some may stay connected between two commands."""

    def __init__(self) -> None:
        self._held: list[SocketClient] = []
        self._http: ClientSession | None = None

    async def handle(self, command: Json) -> Json:
        """Execute a command."""
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
        await asyncio.gather(*(client.close() for client in self._held))
        if self._http is not None:
            await self._http.close()
        self._held = []
        return {}


@asynccontextmanager
async def open_clients(
    transport: str, url: str, session_ids: Sequence[str | None]
) -> AsyncGenerator[list[BenchClient]]:
    """Connected clients."""
    async with ClientSession(**client_options()) as http:
        clients = [CLIENTS[transport](http, url, session_id) for session_id in session_ids]
        await asyncio.gather(*(client.connect() for client in clients))
        try:
            yield clients
        finally:
            await asyncio.gather(*(client.close() for client in clients))


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
    async with open_clients(transport, url, ids) as clients:
        await asyncio.gather(*(_checked(client, message, warm, expected) for client in clients))
        meter = Meter(pid)
        meter.start()
        await asyncio.gather(*(_repeat(client, message, turns) for client in clients))
        return to_json(meter.stop(sessions * turns))


async def _repeat(client: BenchClient, message: str, count: int) -> None:
    for _ in range(count):
        await client.turn(message)


async def _checked(client: BenchClient, message: str, count: int, expected: str | None) -> None:
    for _ in range(count):
        texts: list[str] = []
        await client.turn(message, texts.append)
        if expected is not None and expected not in "".join(texts):
            raise TurnFailed(f"{expected!r} was not in the answer: {''.join(texts)[:500]}")


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
    async with open_clients("ws", url, [str(uuid.uuid4()) for _ in range(sessions)]) as clients:
        begin = monotonic() + settle
        end = begin + seconds
        late = Lateness(pace, begin, end)
        meter = MeterOfBoth(pid)

        async def session(number: int, client: BenchClient) -> None:
            await asyncio.sleep(length * number / sessions)
            while (started := monotonic()) < end:
                await client.turn(message, late.listener(started))

        work = asyncio.gather(*(session(number, each) for number, each in enumerate(clients)))
        await asyncio.sleep(begin - monotonic())
        meter.start()
        await asyncio.sleep(max(0.0, end - monotonic()))
        sample = meter.stop(1)
        await work
    gc.enable()
    return {**to_json(sample), "p95": percentile(late.values, 0.95), "chunks": len(late.values)}


async def visits(*, url: str, message: str, sessions: int, transport: str = "ws") -> Json:
    """Clients that connect, have one turn in a new session, and disconnect."""
    async with ClientSession(**client_options()) as http:
        for some in groups([CLIENTS[transport](http, url) for _ in range(sessions)]):
            await _one_turn(some, message)
            await asyncio.gather(*(client.close() for client in some))
    return {}


async def running(*, url: str, pid: int, message: str, sessions: int, seconds: float) -> Json:
    """The server's memory before and while so many sessions stream."""
    before = memory_of(pid)
    highest = before
    async with open_clients("ws", url, [str(uuid.uuid4()) for _ in range(sessions)]) as clients:
        work = asyncio.gather(*(client.turn(message) for client in clients))
        until = monotonic() + seconds
        while monotonic() < until and not work.done():
            await asyncio.sleep(0.2)
            highest = max(highest, memory_of(pid))
        await work
    return {"bytes": (highest - before) / sessions}


async def _one_turn(some: Sequence[BenchClient], message: str) -> None:
    await asyncio.gather(*(client.connect() for client in some))
    await asyncio.gather(*(client.turn(message) for client in some))


# -- crowd --


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
    """Let connected users send messages at a steady rate, the longest idle first."""
    gc.collect()
    gc.disable()
    async with ClientSession(**client_options()) as http:
        clients = _ConnectedClients(http, url, message)
        await clients.connect(users)
        polling = asyncio.create_task(clients.poll_health())
        meter = MeterOfBoth(pid)
        meter.start()
        late = Lateness(pace, monotonic(), monotonic() + seconds * 2)
        turns = await clients.send_turns(late, seconds, turns_per_second)
        sample = meter.stop(turns)
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        await clients.close()
    gc.enable()
    health = percentile(clients.health, 0.95)
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

    async def connect(self, users: int) -> None:
        """Connect them, a few at a time."""
        self._all = [SocketClient(self._http, self._url, str(uuid.uuid4())) for _ in range(users)]
        for some in groups(self._all):
            await asyncio.gather(*(one.connect() for one in some))
        self._idle.extend(self._all)

    async def send_turns(self, late: Lateness, seconds: float, turns_per_second: float) -> int:
        """Start turns at the rate; returns their number, all of which ended well."""
        begin = monotonic()
        turns: list[asyncio.Task[None]] = []
        for number in range(int(seconds * turns_per_second)):
            await asyncio.sleep(max(0.0, begin + number / turns_per_second - monotonic()))
            if not self._idle:
                raise TurnFailed("Every user waits for an answer: the server is far behind.")
            turns.append(asyncio.create_task(self._turn(self._idle.popleft(), late)))
        outcomes = await asyncio.gather(*turns, return_exceptions=True)
        failed = [outcome for outcome in outcomes if outcome is not None]
        if failed:
            raise TurnFailed(f"{len(failed)} of {len(turns)} turns failed; one with {failed[0]!r}")
        return len(turns)

    async def _turn(self, client: SocketClient, late: Lateness) -> None:
        await client.turn(self._message, late.listener(monotonic()))
        self._idle.append(client)

    async def poll_health(self) -> None:
        """Request the server's health all the while."""
        while True:
            started = monotonic()
            async with self._http.get(f"{self._url}/api/v1/health") as response:
                response.raise_for_status()
                await response.read()
            self.health.append(monotonic() - started)
            await asyncio.sleep(_LOOK_SECONDS)

    async def close(self) -> None:
        """Disconnect all."""
        await asyncio.gather(*(one.close() for one in self._all))


# -- cancels --


class _Stopper:
    """One socket that starts runs and stops them."""

    def __init__(self, http: ClientSession, url: str, session_id: str) -> None:
        self._http = http
        self._url = url
        self._session_id = session_id

    async def stop_some(
        self, transport: str, message: str, count: int, within: float
    ) -> tuple[list[float], float]:
        """Milliseconds of each cancel, and of a ping. Each comes at a random moment `within`."""
        url = f"{self._url}/ws/chat/{self._session_id}"
        async with self._http.ws_connect(url, headers=HEADERS) as socket:
            times = [
                await self._stop_one(socket, transport, message, random.uniform(0, within))
                for _ in range(count)
            ]
            started = time.perf_counter()
            await _send(socket, "ping", {})
            await _until(socket, "pong")
            return times, (time.perf_counter() - started) * 1000

    async def _stop_one(
        self, socket: ClientWebSocketResponse, transport: str, message: str, wait: float
    ) -> float:
        await _send(socket, "chat", {"message": message})
        await _until(socket, "tool_call" if message.startswith("!tool") else "text")
        await asyncio.sleep(_UP_SECONDS + wait)
        started = time.perf_counter()
        command = _send(socket, "cancel", {}) if transport == "ws" else self._post_cancel()
        stopping = asyncio.create_task(command)
        ended = await _until(socket, "done")
        took = (time.perf_counter() - started) * 1000
        await stopping
        if not was_cancelled(ended):
            raise TurnFailed(f"a run ended by itself before it was cancelled: {ended}")
        return took

    async def _post_cancel(self) -> None:
        url = f"{self._url}/api/v1/chat/{self._session_id}/cancel"
        async with self._http.post(url, headers=HEADERS) as response:
            if response.status != 200:
                raise TurnFailed(await response.text())


async def cancels(*, url: str, transport: str, message: str, count: int, within: float) -> Json:
    """Start and stop runs in a few sessions at once; the 95th percentile in milliseconds."""
    random.seed(count)
    async with ClientSession(**client_options()) as http:
        made = [await _session(http, url) for _ in range(_STOPPING_AT_ONCE)]
        found = await asyncio.gather(
            *(
                _Stopper(http, url, one).stop_some(
                    transport, message, count // _STOPPING_AT_ONCE, within
                )
                for one in made
            )
        )
    times = [took for some, _ in found for took in some]
    ping = median(one for _, one in found)
    return {"p95": quantiles(times, n=20)[-1], "median": median(times), "ping": ping}


async def _session(http: ClientSession, url: str) -> str:
    async with http.post(f"{url}/api/v1/sessions", data=b"{}", headers=HEADERS) as response:
        return orjson.loads(await response.read())["session_id"]


async def _send(socket: ClientWebSocketResponse, kind: str, payload: Json) -> None:
    await socket.send_str(orjson.dumps({"type": kind, "payload": payload}).decode())


async def _until(socket: ClientWebSocketResponse, event_type: str) -> str:
    """Read up to a message of a type, and return it."""
    start = f'{{"event_type":"{event_type}"'
    while True:
        message = await socket.receive(timeout=30)
        if message.type is not WSMsgType.TEXT:
            raise TurnFailed("the server closed the socket")
        data: str = message.data
        if data.startswith(start):
            return data


def was_cancelled(done: str) -> bool:
    """Whether a run's last message says that it was stopped."""
    return orjson.loads(done)["data"]["cancelled"]


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
