"""A process with sandboxes of one kind: `python -m bench.i_sandbox_side bwrap|docker`.

Commands: `start`, `compare` (a task by a plain interpreter and by us, in turns), `weigh` (what one
more session costs), `weigh_all` (all processes of so many sessions), `time`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from uuid import uuid4

import psutil

from bench.processes import Json, answer_lines
from dataagent_core.sandbox.bwrap import BwrapWall
from dataagent_core.sandbox.docker import DockerWall
from dataagent_core.sandbox.pool import PoolSettings, Sandboxes
from dataagent_core.sandbox.session import SandboxSession
from dataagent_core.sandbox.types import SandboxLimits, Wall
from scripts.docker_engine import engine

_GROUPBY = """
import numpy as np, pandas as pd
table = pd.DataFrame({"group": np.arange(100_000) % 97, "value": np.arange(100_000) * 0.5})
print(table.groupby("group")["value"].sum().head())
"""
_PICTURE = """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot(range(100))
figure.savefig("{place}/plot.png")
plt.close(figure)
"""
_DEADLINE = 0.5
_POOL = PoolSettings(ready=1, max_uses=100_000)


class Side:
    """Sandboxes of one kind, and the measurements."""

    def __init__(self, wall: str, home: Path) -> None:
        self.stack = AsyncExitStack()
        self._wall = wall
        self._home = home
        self._sandboxes: Sandboxes | None = None
        self._session: SandboxSession | None = None

    async def handle(self, command: Json) -> Json:
        """Execute a command."""
        match command["do"]:
            case "start":
                return await self._start()
            case "compare":
                return await self._compare(command["task"], command["times"])
            case "weigh":
                return await self._weigh()
            case "weigh_all":
                return await self._weigh_all(command["counts"])
            case "time":
                return await self._time(command["times"])
            case unknown:
                raise ValueError(f"There is no command {unknown!r}.")

    async def _start(self) -> Json:
        self._sandboxes = Sandboxes(self._make_wall(), limits=SandboxLimits(), settings=_POOL)
        self.stack.push_async_callback(self._sandboxes.aclose)
        began = time.perf_counter()
        self._session = await self._new_session()
        await self._session.run_python("1")
        return {"cold_ms": _milliseconds(began)}

    def _make_wall(self) -> Wall:
        if self._wall == "bwrap":
            return BwrapWall()
        found = self.stack.enter_context(engine())
        return DockerWall(found.image, url=found.url, binds=found.binds)

    async def _new_session(self) -> SandboxSession:
        assert self._sandboxes is not None
        return await self._sandboxes.session(f"user-{uuid4().hex[:8]}", "bench")

    async def _compare(self, task: str, times: int) -> Json:
        assert self._session is not None
        plain: list[float] = []
        ours: list[float] = []
        for _ in range(times):
            plain.append(_plain(_code(task, str(self._home))))
            began = time.perf_counter()
            result = await self._session.run_python(_code(task, "/output"))
            ours.append(_milliseconds(began))
            if result.status != "ok" or (task == "picture" and not result.files):
                raise RuntimeError(f"{task}: {result}")
        return {"plain_ms": median(plain), "ours_ms": median(ours), "all_ms": sorted(ours)}

    async def _weigh(self) -> Json:
        """The memory of one more session that has run something and is idle."""
        await self._pool_is_filled()
        before = self._pss()
        sessions = [await self._new_session() for _ in range(4)]
        for session in sessions:
            await session.run_python("x = 1")
        await self._pool_is_filled()
        return {"pss_kb": (self._pss() - before) / len(sessions)}

    async def _weigh_all(self, counts: list[int]) -> Json:
        """The memory of all processes, the fork server too, of so many idle sessions."""
        weights: list[float] = []
        settings = PoolSettings(ready=0, max_sessions=max(counts))
        sandboxes = Sandboxes(self._make_wall(), limits=SandboxLimits(), settings=settings)
        self.stack.push_async_callback(sandboxes.aclose)
        for number in range(1, max(counts) + 1):
            session = await sandboxes.session(f"user-{number}", "bench")
            await session.run_python("x = 1")
            if number in counts:
                weights.append(self._pss())
        return {"pss_kb": weights}

    def _pss(self) -> float:
        """Kilobytes of all processes of the sandboxes, shared pages in proportion."""
        if self._wall == "bwrap":
            found = [child.pid for child in psutil.Process().children(recursive=True)]
        else:
            found = _runners()
        return sum(_kilobytes(Path(f"/proc/{number}/smaps_rollup")) for number in found)

    async def _pool_is_filled(self) -> None:
        assert self._sandboxes is not None
        async with asyncio.timeout(60):
            while not self._sandboxes.ready:
                await asyncio.sleep(0.05)

    async def _time(self, times: int) -> Json:
        assert self._session is not None
        late: list[float] = []
        first: list[float] = []
        for _ in range(times):
            began = time.perf_counter()
            result = await self._session.run_python("while True: pass", timeout_seconds=_DEADLINE)
            late.append(_milliseconds(began) - _DEADLINE * 1000)
            if result.status != "timeout":
                raise RuntimeError(f"it did not reach its deadline: {result}")
        for _ in range(min(times, 5)):
            await self._pool_is_filled()
            began = time.perf_counter()
            result = await (await self._new_session()).run_python("print(1)")
            first.append(_milliseconds(began))
            if result.status != "ok":
                raise RuntimeError(f"a new session did not answer: {result}")
        return {"late_ms": max(late), "first_ms": median(first)}


def _code(task: str, place: str) -> str:
    return {"print": "print(1)", "groupby": _GROUPBY, "picture": _PICTURE.format(place=place)}[task]


def _plain(code: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return _milliseconds(began)


def _runners() -> list[int]:
    """All sandboxes' processes on this machine: those of containers are no children of ours."""
    numbers = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [number for number in numbers if _is_runner(number)]


def _is_runner(number: int) -> bool:
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False
    return b"runner" in command


def _kilobytes(rollup: Path) -> int:
    try:
        lines = rollup.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _milliseconds(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Answer commands until stdin ends."""
    with tempfile.TemporaryDirectory(prefix="dataagent-bench-") as home:
        side = Side(sys.argv[1], Path(home))
        answer_lines(side.handle, asyncio.new_event_loop, side.stack)


if __name__ == "__main__":
    main()
