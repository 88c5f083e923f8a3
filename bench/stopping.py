"""Clients that stop what they started, and measure how long it took. Used by `load.py`."""

from __future__ import annotations

import asyncio
import random
import time
from statistics import median, quantiles

import orjson
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from bench.clients import HEADERS, TurnFailed, client_options
from bench.processes import Json

_AT_ONCE = 8
_UP_SECONDS = 0.05  # a tool's process is up by then


class Stopper:
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
        stop = _send(socket, "cancel", {}) if transport == "ws" else self._post_cancel()
        asking = asyncio.create_task(stop)
        ended = await _until(socket, "done")
        took = (time.perf_counter() - started) * 1000
        await asking
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
        made = [await _session(http, url) for _ in range(_AT_ONCE)]
        found = await asyncio.gather(
            *(
                Stopper(http, url, one).stop_some(transport, message, count // _AT_ONCE, within)
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
