"""Calls in worker processes: their values, their errors, their limits, and how they end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from dataagent_core.errors import QueryRefused, UserLimit
from dataagent_core.processes import CallTimedOut, ProcessPool, WorkerEnded
from tests.waiting import until

LOOP = "while True: pass"
REFUSE = """
from dataagent_core.errors import QueryRefused
raise QueryRefused("No.", details={"reason": "empty"})
"""
PARENT = """
import asyncio
from dataagent_core.processes import ProcessPool

async def main():
    pool = ProcessPool()
    print(await pool.run("dora", __import__("os").getpid), flush=True)
    await pool.run("dora", exec, {call!r})

asyncio.run(main())
"""


@pytest.fixture
def pool() -> Generator[ProcessPool]:
    made = ProcessPool(cpu_seconds=1.0)
    yield made
    made.close()


async def test_a_call_returns_what_the_function_returns_from_one_process(pool: ProcessPool) -> None:
    first, second = [await pool.run("dora", os.getpid) for _ in range(2)]
    assert first == second != os.getpid()
    assert await pool.run("dora", int, "12") == 12


async def test_errors_come_back(pool: ProcessPool) -> None:
    with pytest.raises(QueryRefused) as refused:
        await pool.run("dora", exec, REFUSE)
    assert (refused.value.message, refused.value.details) == ("No.", {"reason": "empty"})
    with pytest.raises(RuntimeError, match="invalid literal for int"):
        await pool.run("dora", int, "twelve")
    assert await pool.run("dora", abs, -1) == 1


@pytest.mark.parametrize(
    ("statement", "error"),
    [(LOOP, CallTimedOut), ("bytes(4 * 1024**3)", WorkerEnded), ("exit(3)", WorkerEnded)],
)
async def test_a_call_beyond_a_limit_ends_with_its_process_and_the_next_works(
    pool: ProcessPool, statement: str, error: type[Exception]
) -> None:
    process_id = await pool.run("dora", os.getpid)
    with pytest.raises(error):
        await pool.run("dora", exec, statement)
    assert not psutil.pid_exists(process_id)
    assert await pool.run("dora", abs, -1) == 1


async def test_a_cancelled_call_is_killed(pool: ProcessPool, tmp_path: Path) -> None:
    process_id = await pool.run("dora", os.getpid)
    mark = tmp_path / "begun"
    statement = f"import time; open({str(mark)!r}, 'w').close(); time.sleep(3600)"
    call = asyncio.create_task(pool.run("dora", exec, statement))
    await until(mark.exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not psutil.pid_exists(process_id)


async def test_a_user_leaves_a_process_to_the_others_and_cannot_wait_without_end(
    pool: ProcessPool,
) -> None:
    hogs = [
        asyncio.create_task(pool.run("hog", exec, "import time; time.sleep(3600)"))
        for _ in range(51)
    ]
    await asyncio.sleep(0)
    with pytest.raises(UserLimit) as refused:
        await pool.run("hog", abs, -1)
    assert refused.value.details == {"what": "checks", "limit": 51, "used": 51}
    assert await pool.run("dora", abs, -1) == 1
    for hog in hogs:
        hog.cancel()
    await asyncio.gather(*hogs, return_exceptions=True)
    assert await pool.run("hog", abs, -1) == 1


@pytest.mark.parametrize("call", [LOOP, "import time; time.sleep(0)"])
async def test_a_process_does_not_outlive_its_parent(call: str) -> None:
    command = [sys.executable, "-c", PARENT.format(call=call)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process_id = int(parent.stdout.readline())
        parent.kill()
    await until(lambda: not is_running(process_id))


def is_running(process_id: int) -> bool:
    try:
        return psutil.Process(process_id).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
