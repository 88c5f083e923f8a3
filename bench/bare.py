"""A process that runs an agent's bare `astream` in many sessions: `python -m bench.bare NAME`.

No server, no store, nobody who reads but a counter: what the libraries cost by themselves. The
names are those of `agents.py`. Commands: `turns`, `paced`, `threads`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import uvloop

from bench.agents import Ask, open_agent
from bench.latency import Lateness
from bench.meter import Meter, memory_of, percentile, to_json
from bench.processes import Json, answer_lines
from dataagent_core.engine import tune_loop, tune_process


class Bare:
    """One agent and the ways to load it."""

    def __init__(self, name: str, home: Path) -> None:
        self._name = name
        self._home = home
        self.stack = AsyncExitStack()
        self._ask: Ask | None = None

    async def handle(self, command: Json) -> Json:
        """Carry out a command."""
        ask = await self._agent()
        match command.pop("do"):
            case "turns":
                return await turns(ask, **command)
            case "paced":
                return await paced(ask, **command)
            case "threads":
                return await threads(ask, **command)
            case unknown:
                raise ValueError(f"There is no command {unknown!r}.")

    async def _agent(self) -> Ask:
        if self._ask is None:
            self._ask = await open_agent(self._name, self._home, self.stack)
            if self._name.startswith("tuned"):  # ours is tuned by `open_core`
                tune_loop(asyncio.get_running_loop())
                tune_process()
        return self._ask


async def turns(ask: Ask, *, message: str, sessions: int, turns: int, warm: int = 1) -> Json:
    """Back-to-back turns in so many sessions; the first ones are not counted."""
    threads = [str(uuid.uuid4()) for _ in range(sessions)]

    async def session(thread_id: str, count: int) -> None:
        for _ in range(count):
            await _turn(ask, message, thread_id)

    await asyncio.gather(*(session(thread_id, warm) for thread_id in threads))
    meter = Meter(os.getpid())
    meter.start()
    await asyncio.gather(*(session(thread_id, turns) for thread_id in threads))
    return to_json(meter.stop(sessions * turns))


async def paced(
    ask: Ask,
    *,
    message: str,
    sessions: int,
    seconds: float,
    settle: float,
    pace: float,
    length: float,
) -> Json:
    """Sessions that stream back to back, started evenly over one turn's length."""
    begin = monotonic() + settle  # uvloop's own clock stands still within one round of its loop
    end = begin + seconds
    late = Lateness(pace, begin, end)
    meter = Meter(os.getpid())

    async def session(number: int) -> None:
        await asyncio.sleep(length * number / sessions)
        while (started := monotonic()) < end:
            async for part in ask(message, str(uuid.uuid4())):
                if part["type"] == "messages":
                    late.received(part["data"][0].text, started, monotonic())

    work = asyncio.gather(*(session(number) for number in range(sessions)))
    await asyncio.sleep(begin - monotonic())
    meter.start()
    await asyncio.sleep(max(0.0, end - monotonic()))
    sample = meter.stop(1)
    await work
    return {**to_json(sample), "p95": percentile(late.values, 0.95), "chunks": len(late.values)}


async def threads(ask: Ask, *, message: str, count: int, at_once: int) -> Json:
    """One turn in each of so many threads; how much memory they left behind."""
    gate = asyncio.Semaphore(at_once)

    async def visit() -> None:
        async with gate:
            await _turn(ask, message, str(uuid.uuid4()))

    await asyncio.gather(*(visit() for _ in range(at_once * 4)))
    before = memory_of(os.getpid())
    for _ in range(count // at_once):
        await asyncio.gather(*(visit() for _ in range(at_once)))
    return {"bytes": (memory_of(os.getpid()) - before) / count}


async def _turn(ask: Ask, message: str, thread_id: str) -> None:
    async for _ in ask(message, thread_id):
        pass


def main() -> None:
    """Answer commands until stdin ends."""
    name = sys.argv[1]
    factory: Any = asyncio.new_event_loop if name == "untuned" else uvloop.new_event_loop
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        bare = Bare(name, Path(home))
        answer_lines(bare.handle, factory, bare.stack)


if __name__ == "__main__":
    main()
