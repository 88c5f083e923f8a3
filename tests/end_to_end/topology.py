"""Two web processes and two workers on one database and one Redis, through all their deaths."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from redis.asyncio import Redis
from sqlalchemy import make_url

from scripts.topology import Shared, web_settings, worker_settings
from tests.end_to_end.fault_proxy import FaultProxy
from tests.end_to_end.server import Server, end, run_server
from tests.programs import Program
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.waiting import WAIT_SECONDS

WEB = 2
WORKERS = 2
_COMMON = {
    "DATAAGENT_MODEL": "scripted",
    "DATAAGENT_SAMPLE_DATA": "false",
    "DATAAGENT_LOG_LEVEL": "WARNING",
    "DATAAGENT_DB_POOL_SIZE": "8",
    "DATAAGENT_MAX_RUNS_PER_USER": "500",
    "DATAAGENT_MAX_CONNECTIONS_PER_USER": "0",
    "DATAAGENT_ALLOW_PRIVATE_HOSTS": "127.0.0.1",
}


class WorkerProcess:
    """A worker that can be killed and started again."""

    def __init__(self, log: Path, settings: dict[str, str]) -> None:
        self.log = log
        self._program: Program | None = None
        self._settings = {**_COMMON, **settings}

    def start(self) -> None:
        """Start it. Whether it works is seen in a web process's readiness."""
        self._program = run_server("worker", self._settings, self.log)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._program is not None and self._program.is_alive

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._program is not None
        return self._program.pid

    async def signal(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait for the end."""
        if self._program is not None:
            await end(self._program, number)


class Topology:
    """The processes, and proxies before their database and their Redis."""

    def __init__(
        self,
        folder: Path,
        shared: Shared,
        *,
        database: FaultProxy,
        redis: FaultProxy,
        settings: dict[str, str],
    ) -> None:
        self.shared = shared
        self._settings = settings
        self.database = database
        self.redis = redis
        self.workers = [
            WorkerProcess(folder / f"worker{i}.log", worker_settings(shared) | settings)
            for i in range(WORKERS)
        ]
        self.web = [self._web(folder / f"web{i}") for i in range(WEB)]

    def _web(self, folder: Path) -> Server:
        folder.mkdir()
        server = Server(folder)
        server.set(**{**_COMMON, **web_settings(self.shared, port=server.port), **self._settings})
        return server

    async def start(self) -> None:
        """Start everything and wait until it is ready."""
        await self.database.mend()
        await self.redis.mend()
        for worker in self.workers:
            worker.start()
        await asyncio.gather(*(server.start() for server in self.web))

    async def is_ready(self) -> None:
        """Wait until every web process can take work."""
        for server in self.web:
            await server.wait_ready()

    async def has_both_workers(self) -> None:
        """Wait until as many workers as there should be have said so in Redis."""
        key = f"{self.shared.redis_prefix}workers"
        # untyped
        async with (
            cast(Any, Redis).from_url(self.shared.redis_url) as client,
            asyncio.timeout(WAIT_SECONDS),
        ):
            while await client.zcard(key) < WORKERS:
                await asyncio.sleep(0.05)

    async def checks(self) -> dict[str, str]:
        """What the first web process finds as long as it is not ready."""
        async with (
            self.web[0].http() as http,
            asyncio.timeout(WAIT_SECONDS),
        ):
            while True:
                async with http.get("/api/v1/health/ready") as answer:
                    if answer.status == 503:
                        return (await answer.json())["details"]
                await asyncio.sleep(0.05)

    async def end(self) -> None:
        """Kill everything."""
        for process in (*self.web, *self.workers):
            await process.signal()
        await self.database.cut()
        await self.redis.cut()

    def logs(self) -> str:
        """What the processes had to say."""
        files = [*(each.log for each in self.workers), *(each.log for each in self.web)]
        return "\n".join(f"== {file}\n{file.read_text()}" for file in files if file.exists())


@asynccontextmanager
async def topology(
    kind: str, folder: Path, *, lease_seconds: float = 10.0, **settings: str
) -> AsyncGenerator[Topology]:
    """A running topology on a fresh database of a kind and a fresh prefix in Redis."""
    with fresh_database(kind, folder) as url, fresh_redis_prefix() as prefix:
        database = FaultProxy(make_url(url).port or 0)
        redis = FaultProxy(make_url(redis_url()).port or 6379)
        shared = Shared(
            database_url=_through(url, database.port),
            redis_url=_through(redis_url(), redis.port),
            home=folder / "data",
            redis_prefix=prefix,
            lease_seconds=lease_seconds,
        )
        made = Topology(folder, shared, database=database, redis=redis, settings=settings)
        try:
            await made.start()
            yield made
        finally:
            await made.end()


def _through(url: str, port: int) -> str:
    changed = make_url(url).set(port=port, host="127.0.0.1")
    return changed.render_as_string(hide_password=False)
