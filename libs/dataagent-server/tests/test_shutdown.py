"""A process whose end never comes is ended, and its log says what it waited for."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.programs import quick
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

WORKER = """
import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

from dataagent_server import serve, shutdown
from dataagent_server.config import load_settings

async def never():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

@asynccontextmanager
async def stuck_core(settings, **_):
    yield SimpleNamespace(worker=SimpleNamespace(name="one"))
    await asyncio.create_task(never(), name="deaf")

serve.open_core = stuck_core  # a part that does not let go: none of ours is known to
shutdown.FORCED_EXIT_SECONDS = 1.2
serve.work(load_settings())
"""

WEB = """
import threading

from dataagent_server import serve, shutdown
from dataagent_server.config import load_settings
from dataagent_server.deps.container import Container

async def drain(self):
    threading.Event().wait()  # the loop itself stands still

Container.drain = drain
shutdown.FORCED_EXIT_SECONDS = 1.2
serve.serve(load_settings())
"""


async def _ended(program: str, **settings: str) -> tuple[int, str]:
    """Start a program, tell it to end once it says that it is there; its code and its log."""
    process = await asyncio.create_subprocess_exec(
        quick("python"),
        "-c",
        program,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "DATAAGENT_MODEL": "scripted", **settings},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            assert await process.stdout.readline(), await process.stderr.read()
            process.send_signal(signal.SIGTERM)
            log = await process.stderr.read()
            return await process.wait(), log.decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.mark.slow
@requirement("G9")
async def test_worker_that_cannot_let_go_is_gone_and_says_what_it_waited_for(
    tmp_path: Path,
) -> None:
    code, log = await _ended(
        WORKER,
        DATAAGENT_HOME=str(tmp_path),
        DATAAGENT_DATABASE_URL="postgresql://127.0.0.1:1/none",
        DATAAGENT_REDIS_URL="redis://127.0.0.1:1/0",
    )
    assert code == 1
    assert "shutdown waits for deaf at never:" in log
    assert "Timeout (" in log  # then where each thread stands


@pytest.mark.slow
@requirement("G9")
async def test_web_process_whose_loop_stands_still_is_gone_and_says_where(tmp_path: Path) -> None:
    code, log = await _ended(WEB, DATAAGENT_HOME=str(tmp_path), DATAAGENT_PORT="0")
    assert code == 1
    assert "in drain" in log
