"""`serve --workers 2`: one port, several processes, kept alive and ended together."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.end_to_end.server import Server, receive_until, send
from tests.requirements import requirement
from tests.services import fresh_database, fresh_redis_prefix, redis_url
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow

PROCESSES = 2


def web_processes(server: Server) -> list[psutil.Process]:
    """The living web processes of a supervisor (beside them multiprocessing keeps a tracker)."""
    with suppress(psutil.NoSuchProcess):
        return [
            child
            for child in server.process.children()
            if child.status() != psutil.STATUS_ZOMBIE and "spawn_main" in " ".join(child.cmdline())
        ]
    return []


async def until_listening(server: Server, count: int) -> list[psutil.Process]:
    """The web processes, once there are so many and each listens on the port."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = [p for p in web_processes(server) if listens(p, server.port)]
            if len(found) == count:
                return found
            await asyncio.sleep(0.1)


def listens(process: psutil.Process, port: int) -> bool:
    with suppress(psutil.Error):
        return any(
            c.status == psutil.CONN_LISTEN and c.laddr.port == port
            for c in process.net_connections("tcp")
        )
    return False


async def until_gone(processes: list[psutil.Process]) -> None:
    """Wait until none of the processes runs."""
    async with asyncio.timeout(WAIT_SECONDS):
        while any(is_there(process) for process in processes):
            await asyncio.sleep(0.05)


def is_there(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@asynccontextmanager
async def supervised(folder: Path) -> AsyncGenerator[Server]:
    with fresh_database("postgres", folder) as url, fresh_redis_prefix() as prefix:
        server = Server(
            folder,
            DATAAGENT_WORKERS=str(PROCESSES),
            DATAAGENT_DATABASE_URL=url,
            DATAAGENT_REDIS_URL=redis_url(),
            DATAAGENT_REDIS_PREFIX=prefix,
            DATAAGENT_LEASE_SECONDS="3",
        )
        try:
            await server.start()
            yield server
        finally:
            left = web_processes(server)
            await server.signal()
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
                    process.wait(WAIT_SECONDS)


async def has_both(server: Server) -> bool:
    """Whether connections reach both processes: they differ in how long they are up."""
    seen: set[float] = set()
    for _ in range(40):
        async with aiohttp.ClientSession() as http, http.get(f"{server.url}/api/v1/health") as got:
            seen.add(round((await got.json())["uptime"] - asyncio.get_running_loop().time(), 1))
    return len(seen) > 1


@requirement("G9", "G10", "R23.3")
async def test_several_processes_share_a_port_and_one_that_dies_is_replaced(tmp_path: Path) -> None:
    async with supervised(tmp_path) as server:
        first = await until_listening(server, PROCESSES)
        assert await has_both(server)
        session_id = str(uuid.uuid4())
        async with server.socket(session_id) as socket:
            await receive_until(socket, "connected")
            await send(socket, "chat", message="!slow 100 20")
            run_id = (await receive_until(socket, "text"))[-1]["run_id"]
            for _ in range(6):  # through whichever process takes it
                assert (await server.get(f"/runs/{run_id}"))["status"] == "running"
            status, run = await server.post(f"/runs/{run_id}/cancel")
            assert (status, run["status"]) == (200, "cancelled")

        os.kill(first[0].pid, signal.SIGKILL)
        await until_gone(first[:1])
        second = await until_listening(server, PROCESSES)
        assert {p.pid for p in first} != {p.pid for p in second}
        assert len({p.pid for p in first} & {p.pid for p in second}) == 1
        status, answer = await server.post("/chat", {"message": "hi", "session_id": session_id})
        assert (status, answer["status"]) == (200, "done")

        await server.signal(signal.SIGTERM)
        assert not any(p.is_running() for p in second)
    greeting = server.log.read_text()
    assert greeting.count("DataAgent is at") == 1
    assert all(json.loads(line) for line in greeting.splitlines() if line.startswith("{"))


@requirement("G9")
async def test_processes_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    async with supervised(tmp_path) as server:
        processes = await until_listening(server, PROCESSES)
        await server.signal()
        await until_gone(processes)
