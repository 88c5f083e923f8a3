"""What goes wrong during the day: one thing at a time, at random, and how often."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psutil

from tests.end_to_end.fault_proxy import FaultProxy
from tests.end_to_end.server import Server
from tests.end_to_end.topology import Topology, WorkerProcess
from tests.standins.mcp_server import HttpServer


class Chaos:
    """Kills the first web process and the first worker; the second ones are watched for leaks."""

    def __init__(self, many: Topology, site: HttpServer, seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._many = many
        self._site = site
        self._chance = random.Random(seed)

    async def run(self, is_over: asyncio.Event) -> None:
        """Break something every few seconds until it is over."""
        while not is_over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._chance.uniform(1.0, 6.0)):
                    await is_over.wait()
                return
            name, fault = self._chance.choice(self._faults())
            await fault()
            self.done[name] += 1

    def _faults(self) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
        many = self._many
        return [
            ("web killed", lambda: self._restarted(many.web[0], signal.SIGKILL)),
            ("web restarted", lambda: self._restarted(many.web[0], signal.SIGTERM)),
            ("worker killed", lambda: self._restarted(many.workers[0], signal.SIGKILL)),
            ("worker restarted", lambda: self._restarted(many.workers[0], signal.SIGTERM)),
            ("Redis away", lambda: self._away(many.redis)),
            ("database away", lambda: self._away(many.database)),
            ("MCP server killed", self._site_restarted),
            ("sandboxes killed", self._sandboxes_killed),
        ]

    async def _restarted(self, process: Server | WorkerProcess, number: int) -> None:
        await process.signal(number)
        await asyncio.sleep(self._chance.uniform(0.0, 0.5))
        if isinstance(process, WorkerProcess):
            process.start()
        else:
            await process.start()

    async def _away(self, proxy: FaultProxy) -> None:
        await proxy.cut()
        await asyncio.sleep(self._chance.uniform(0.1, 3.0))
        await proxy.mend()

    async def _site_restarted(self) -> None:
        self._site.stop()
        await asyncio.sleep(self._chance.uniform(0.1, 2.0))
        await asyncio.to_thread(self._site.start)

    async def _sandboxes_killed(self) -> None:
        for worker in self._many.workers:
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(worker.pid).children():
                    with suppress(psutil.NoSuchProcess, ProcessLookupError):
                        if child.name() == "bwrap":
                            os.kill(child.pid, signal.SIGKILL)
