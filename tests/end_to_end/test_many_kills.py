"""kill -9 and rolling restarts of web processes and workers, under load: nothing is lost."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from tests.end_to_end.server import Server, send
from tests.end_to_end.test_kill import check_session, ended
from tests.end_to_end.topology import Topology, WorkerProcess, topology
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

pytestmark = pytest.mark.slow

KINDS = ["postgres", "mysql"]
KILLS = 25  # on each kind of database
TALKERS = 5
LEASE_SECONDS = 2.0
MESSAGES = [
    "!slow 20 5",
    "short",
    '!tool ls {"path": "/files"}\n!slow 10 5',
    "!think hm\n!slow 5 10",
]


class Talker:
    """Sends message after message through whichever process answers; knows what was accepted."""

    def __init__(self, many: Topology, seed: int) -> None:
        self.session_id = str(uuid.uuid4())
        self.accepted: set[str] = set()
        self._many = many
        self._chance = random.Random(seed)
        self._is_over = False
        self._task = asyncio.create_task(self._talk())

    async def finish(self) -> None:
        """Send no more, and wait for the last answer."""
        self._is_over = True
        async with asyncio.timeout(WAIT_SECONDS):
            await self._task

    async def _talk(self) -> None:
        while not self._is_over:
            server = self._chance.choice(self._many.web)
            with suppress(WebSocketException, OSError, TimeoutError):
                async with server.socket(self.session_id) as socket:
                    while not self._is_over:
                        await self._turn(socket)
            await asyncio.sleep(0.02)

    async def _turn(self, socket: ClientConnection) -> None:
        """One message, until its end or a refusal (busy: an earlier run has not ended)."""
        await send(socket, "chat", message=self._chance.choice(MESSAGES))
        mine = ""
        async with asyncio.timeout(WAIT_SECONDS):
            async for raw in socket:
                message: dict[str, Any] = json.loads(raw)
                kind, run_id = message["event_type"], message.get("run_id")
                if kind == "accepted":
                    mine = message["data"]["run_id"]
                    self.accepted.add(mine)
                elif kind == "error" and "seq" not in message:
                    await asyncio.sleep(0.05)
                    return
                elif kind == "done" and run_id == mine:
                    return


async def check(many: Topology, talkers: list[Talker]) -> None:
    """Whatever was accepted has one end, and every session goes on."""
    for server in many.web:
        await server.wait_ready()
    for talker in talkers:
        await check_session(many.web[0], talker.session_id, talker.accepted)
        body = {"message": "after", "session_id": talker.session_id}
        status, answer = await many.web[1].post("/chat", body)
        assert (status, answer["status"]) == (200, "done")


async def next_accepted(talkers: list[Talker]) -> None:
    """Wait until one more message is accepted."""
    earlier = sum(len(talker.accepted) for talker in talkers)
    await until(lambda: sum(len(talker.accepted) for talker in talkers) > earlier)


async def kill_and_start(process: Server | WorkerProcess, chance: random.Random) -> None:
    """End it without notice; a moment later there is a new one in its place."""
    await process.signal()
    await asyncio.sleep(chance.uniform(0.0, 0.3))
    if isinstance(process, WorkerProcess):
        process.start()
    else:
        await process.start()


@pytest.mark.parametrize("kind", KINDS)
@requirement("G1", "G2", "G3", "G8", "G10")
async def test_kills_of_workers_and_web_processes_lose_nothing_and_answer_nothing_twice(
    kind: str, tmp_path: Path
) -> None:
    chance = random.Random(7)
    async with topology(kind, tmp_path, lease_seconds=LEASE_SECONDS) as many:
        talkers = [Talker(many, seed) for seed in range(TALKERS)]
        for number in range(KILLS):
            await next_accepted(talkers)
            await asyncio.sleep(chance.uniform(0.0, 0.8))
            victims = many.web if number % 2 else many.workers
            await kill_and_start(chance.choice(victims), chance)
        for talker in talkers:
            await talker.finish()
        await check(many, talkers)


@pytest.mark.parametrize("kind", KINDS)
@requirement("G2", "G9", "G10")
async def test_a_rolling_restart_under_load_loses_no_run(kind: str, tmp_path: Path) -> None:
    async with topology(kind, tmp_path) as many:
        talkers = [Talker(many, seed) for seed in range(TALKERS)]
        for process in (*many.workers, *many.web):
            await asyncio.sleep(0.5)
            await process.signal(signal.SIGTERM)
            if isinstance(process, WorkerProcess):
                process.start()
                await many.has_both_workers()
            else:
                await process.start()
        for talker in talkers:
            await talker.finish()
        accepted = {run_id for talker in talkers for run_id in talker.accepted}
        runs = [await ended(many.web[0], run_id) for run_id in sorted(accepted)]
        assert [run for run in runs if run["status"] != "done"] == []
        assert {run["attempt"] for run in runs} == {1}
        await check(many, talkers)
