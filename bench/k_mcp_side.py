"""A process that calls one MCP server twice over: with the SDK alone, and through our hub.

`python -m bench.k_mcp_side stdio|http CORE`; the server is on that core. Commands: `start`,
`latency` (calls one by one, in turns), `crowd` (many at once on one connection, in turns).
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import median

import uvloop
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from bench.processes import (
    ROOT,
    Json,
    answer_lines,
    clean_environment,
    free_port,
    stop,
    wait_until_served,
)
from tests.mcp.kit.hub import AGENT, Owner, open_hub, owner_of

_AT_ONCE = 50
_WARM = 500
_TURNS = 10
_ARGUMENTS: Json = {"text": "how many orders were there last week?", "times": 3}
Call = Callable[[], Awaitable[None]]


class Side:
    """Both ways to call, and the measurements."""

    def __init__(self, transport: str, server_core: str, stack: AsyncExitStack) -> None:
        self._transport = transport
        self._server = [sys.executable, "-m", "bench.k_mcp_server", server_core]
        self._stack = stack
        self._ways: dict[str, Call] = {}

    async def handle(self, command: Json) -> Json:
        """Execute a command."""
        match command["do"]:
            case "start":
                return await self._start()
            case "latency":
                return await self._latency(command["times"])
            case "crowd":
                return await self._crowd(command["times"])
            case unknown:
                raise ValueError(f"There is no command {unknown!r}.")

    async def _start(self) -> Json:
        hub = await self._stack.enter_async_context(open_hub())
        if self._transport == "stdio":
            command, *args = [*self._server, "stdio"]
            given = StdioServerParameters(
                command=command, args=args, cwd=ROOT, env=clean_environment()
            )
            client = await self._hold(Client(stdio_client(given)))
            way: Json = {"command": command, "args": tuple(args), "cwd": str(ROOT)}
        else:
            url = await self._serve()
            client = await self._hold(Client(url))
            way = {"transport": "streamable_http", "url": url}
        owner = await owner_of(hub, "bench", **way)
        self._ways = {"raw": _sdk_call(client), "hub": await _hub_call(owner)}
        for call in self._ways.values():
            await _at_once(call, _WARM)
        return {"transport": self._transport}

    async def _hold(self, client: Client) -> Client:
        """Open the client in a task of its own, because the same task has to close it."""
        opened, leaving = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            async with client:
                opened.set()
                await leaving.wait()

        holding = asyncio.create_task(hold())

        async def close() -> None:
            leaving.set()
            await holding

        waiting = asyncio.create_task(opened.wait())
        await asyncio.wait({holding, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if holding.done():  # it cannot be opened: the task raises why
            waiting.cancel()
            await holding
        self._stack.push_async_callback(close)
        return client

    async def _serve(self) -> str:
        port = free_port()
        command = [*self._server, str(port)]
        process = subprocess.Popen(
            command, cwd=ROOT, env=clean_environment(), stdout=subprocess.DEVNULL
        )
        self._stack.callback(stop, process)
        url = f"http://127.0.0.1:{port}"
        await asyncio.to_thread(wait_until_served, process, url)
        return f"{url}/mcp"

    async def _latency(self, times: int) -> Json:
        """The median of calls one by one, each way in turn."""
        seconds: dict[str, list[float]] = {"raw": [], "hub": []}
        for _ in range(times):
            for way, call in self._ways.items():
                started = time.perf_counter()
                await call()
                seconds[way].append(time.perf_counter() - started)
        return {f"{way}_ms": median(found) * 1000 for way, found in seconds.items()}

    async def _crowd(self, times: int) -> Json:
        """Calls a second with fifty under way and what they cost, hub against SDK.

        Turns are short and compared two by two, each way first every other time: what else the
        machine does changes within seconds.
        """
        turns: dict[str, list[_Turn]] = {"raw": [], "hub": []}
        for number in range(_TURNS):
            order = list(self._ways.items())
            for way, call in order if number % 2 else reversed(order):
                turns[way].append(await _turn(call, times))
        pairs = list(zip(turns["hub"], turns["raw"], strict=True))
        return {
            "hub_per_second": median(turn.per_second for turn in turns["hub"]),
            "raw_per_second": median(turn.per_second for turn in turns["raw"]),
            "rate": median(hub.per_second / raw.per_second for hub, raw in pairs),
            "cpu": median(hub.cpu_ms / raw.cpu_ms for hub, raw in pairs),
        }


@dataclass(frozen=True, slots=True)
class _Turn:
    """The cost of a number of calls."""

    per_second: float
    cpu_ms: float


async def _turn(call: Call, times: int) -> _Turn:
    gc.collect()  # neither side pays for the other's garbage
    started, busy = time.perf_counter(), time.process_time()
    await _at_once(call, times)
    took, used = time.perf_counter() - started, time.process_time() - busy
    return _Turn(times / took, used * 1000 / times)


def _sdk_call(client: Client) -> Call:
    async def call() -> None:
        result = await client.call_tool("echo", _ARGUMENTS)
        if result.is_error:
            raise RuntimeError("a call of the SDK's failed")

    return call


async def _hub_call(owner: Owner) -> Call:
    tool = (await owner.visible(60))["echo"]
    caller = (await owner.tools()).caller(AGENT)
    gateway = owner.hub.gateway

    async def call() -> None:
        outcome = await gateway.call(tool.tool_id, _ARGUMENTS, caller)
        if outcome.failure is not None:
            raise RuntimeError(outcome.failure.message)

    return call


async def _at_once(call: Call, times: int) -> None:
    """So many calls, fifty at a time."""
    left = iter(range(times))

    async def caller() -> None:
        for _ in left:
            await call()

    await asyncio.gather(*(caller() for _ in range(_AT_ONCE)))


if __name__ == "__main__":
    stack = AsyncExitStack()
    answer_lines(Side(sys.argv[1], sys.argv[2], stack).handle, uvloop.new_event_loop, stack)
