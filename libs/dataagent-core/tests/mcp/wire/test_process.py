"""Servers as processes of ours: what they see, what they say, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.mcp.types import CallFailed, ServerSpec
from dataagent_core.mcp.wire.process import OWNER_VARIABLE, kill_orphans, owner_mark
from tests.waiting import WAIT_SECONDS, until

from ..conftest import Keep
from ..running import PROGRAM, STUBBORN, alive, call, end, stdio_spec, stubborn


def process_spec(**changes: Any) -> ServerSpec:
    """The own server as a child of ours, whose children are its own."""
    return stdio_spec(**{"command": sys.executable, **changes})


async def test_a_process_sees_its_own_variables_and_none_of_ours(
    keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAAGENT_SECRET_KEY", "canary")
    monkeypatch.setenv("OTHER", "canary")
    connection = await keep(process_spec(env={"MINE": "yes"})).ready()
    seen = json.loads(await call(connection, "environment"))
    assert "canary" not in seen.values()
    allowed = {"PATH", "HOME", "LANG", "MINE", "LC_CTYPE", OWNER_VARIABLE}  # Python adds LC_CTYPE
    assert set(seen) <= allowed
    assert seen["MINE"] == "yes"


async def test_stderr_is_stored_and_not_logged(
    keep: Keep, capfd: pytest.CaptureFixture[str]
) -> None:
    """F14: the newest of it, bounded."""
    connection = await keep(process_spec()).ready()
    await call(connection, "mutter", text="first words")
    await call(connection, "mutter", text="x" * 40_000)
    await call(connection, "mutter", text="last words")
    await until(lambda: connection.stderr.last_line() == "last words")
    assert len(connection.stderr.text()) <= 16 * 1024
    assert "first words" not in connection.stderr.text()
    assert "words" not in capfd.readouterr().err


async def test_a_process_that_cannot_live_says_why(keep: Keep) -> None:
    secret = "s3cr3t-value"
    code = "import os, sys; sys.exit('no database at ' + os.environ['DSN'])"
    kept = keep(process_spec(args=("-c", code), env={"DSN": secret}))
    kept.connection.start()
    await until(lambda: kept.connection.status.state == "backoff")
    assert "no database at" in kept.connection.status.reason
    assert secret not in kept.connection.status.reason
    missing = keep(process_spec(command="no-such-program-anywhere"))
    missing.connection.start()
    await until(lambda: missing.connection.status.state == "backoff")
    assert "cannot start" in missing.connection.status.reason


async def test_a_polite_server_goes_and_takes_its_children_along(keep: Keep) -> None:
    """F11: also those that left for a session of their own."""
    connection = await keep(process_spec()).ready()
    server = int(await call(connection, "pid"))
    child = int(await call(connection, "spawn", mark="left behind"))
    assert alive(server)
    assert alive(child)
    await connection.aclose()
    assert not alive(server)
    assert not alive(child)


@pytest.mark.slow
async def test_a_stubborn_server_is_killed_with_its_children(keep: Keep) -> None:
    """F11: one that ignores the end of its input and every request to go."""
    connection = await keep(process_spec(**stubborn())).ready()
    server, child = (int(part) for part in connection.tools[0].name.split("-"))
    await connection.aclose()
    assert not alive(server)
    assert not alive(child)


async def test_a_server_is_ended_even_if_its_ending_is_cancelled(
    keep: Keep, tmp_path: Path
) -> None:
    started, ending = tmp_path / "started", tmp_path / "ending"
    code = f"""
import os, pathlib, sys, time
pathlib.Path({str(started)!r}).write_text(f"{{os.getpid()}};")
sys.stdin.read()
pathlib.Path({str(ending)!r}).touch()
time.sleep(600)
"""
    connection = keep(process_spec(args=("-c", code))).connection
    connection.start()
    await until(lambda: started.exists() and started.read_text().endswith(";"))
    first = asyncio.create_task(connection.aclose())
    await until(ending.exists)
    await connection.aclose()
    await first
    assert not alive(int(started.read_text().removesuffix(";")))


async def test_children_of_a_crashed_server_are_killed(keep: Keep) -> None:
    connection = await keep(process_spec()).ready()
    server = int(await call(connection, "pid"))
    child = int(await call(connection, "spawn", mark="orphan"))
    end(server)
    await until(lambda: not alive(child))
    await until(lambda: connection.status.generation == 2)


def _ours(found: Path) -> str:
    """A program that holds two servers and writes down all processes there are then."""
    return f"""
import asyncio, json, sys
from dataagent_core.mcp.connections.pool import ConnectionPool, PoolLimits
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.network import HostPolicy

def spec(name, *args):
    named = dict(server_id=name, scope="global", name=name, alias=name)
    return ServerSpec(**named, command=sys.executable, args=args)

async def tools(spec, tools): ...

async def main():
    told = dict(on_tools=tools, on_status=lambda *a: None)
    pool = ConnectionPool(HostPolicy(), **told, limits=PoolLimits())
    polite = pool.hold(spec("polite", {str(PROGRAM)!r}, "stdio", "modern"))
    stubborn = pool.hold(spec("stubborn", "-c", {STUBBORN!r}))
    assert await polite.wait_ready(60) and await stubborn.wait_ready(30)
    pids = [int(pid) for pid in stubborn.tools[0].name.split("-")]
    for name, arguments in (("pid", {{}}), ("spawn", {{"mark": "left"}})):
        result = await polite.call(name, arguments, timeout_seconds=300)
        pids.append(int(result.content[0]["text"]))
    with open({str(found)!r}, "w") as file:
        json.dump(pids, file)
    await asyncio.sleep(300)

asyncio.run(main())
"""


async def test_the_kill_of_our_process_leaves_no_descendant_alive(tmp_path: Path) -> None:
    """F11: polite servers, stubborn ones and their children, all of them."""
    found = tmp_path / "pids"
    program = tmp_path / "ours.py"
    program.write_text(_ours(found))
    ours = subprocess.Popen([sys.executable, str(program)])
    try:
        await until(lambda: found.exists() and found.read_text().endswith("]"))
        pids = json.loads(found.read_text())
        assert len(pids) == 4
        assert all(alive(pid) for pid in pids)
    finally:
        ours.send_signal(signal.SIGKILL)
        ours.wait()
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_orphans_of_a_crashed_launcher_are_killed_at_the_next_start() -> None:
    kill_orphans()  # what others left on this machine
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here = owner_mark().split(".")[2]
    left = [
        subprocess.Popen(["sleep", "300"], env={OWNER_VARIABLE: mark})
        for mark in (
            f"{gone.pid}.12345.{here}",
            f"{os.getpid()}.0.{here}",
            owner_mark(),
            f"{gone.pid}.12345.pid:[1]",  # of a container on this machine, alive as its owner is
            "nonsense",
        )
    ]
    try:
        assert (
            kill_orphans() == 2
        )  # of a process that is gone, and of one that had our number before us
        assert left[0].wait(WAIT_SECONDS) == left[1].wait(WAIT_SECONDS) == -signal.SIGKILL
        assert [process.poll() for process in left[2:]] == [None] * 3
        assert kill_orphans() == 0
    finally:
        for process in left:
            process.kill()
            process.wait()


@pytest.mark.parametrize("mark", [b"\xff", b"1.\xff", "²".encode(), b"9" * 5000])
def test_whatever_a_process_says_of_its_owner_the_sweep_goes_on(mark: bytes) -> None:
    here = owner_mark().split(".")[2].encode()
    odd = subprocess.Popen(
        ["sleep", "300"], env={os.fsencode(OWNER_VARIABLE): mark + b".1." + here}
    )
    try:
        assert kill_orphans() == 0
        assert odd.poll() is None
    finally:
        odd.kill()
        odd.wait()


@pytest.mark.slow
async def test_a_process_that_writes_nonsense_does_no_harm(keep: Keep) -> None:
    """Lines that are no message are passed over; the session goes on."""
    code = "import runpy, sys; print('starting up...'); print('{\"a\": 1}', flush=True)\n"
    code += "sys.argv = ['x', 'stdio', 'modern']\n"
    code += f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
    connection = await keep(process_spec(args=("-c", code))).ready()
    assert await call(connection, "echo", text="fine") == "fine"


@pytest.mark.slow
async def test_a_process_that_does_not_read_holds_up_no_caller(keep: Keep) -> None:
    connection = await keep(process_spec(max_concurrency=200)).ready()
    server = int(await call(connection, "pid"))
    os.kill(server, signal.SIGSTOP)
    try:
        calls = [
            connection.call("echo", {"text": "x" * 10_000}, timeout_seconds=0.5) for _ in range(150)
        ]
        ends = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), WAIT_SECONDS)
        codes = {one.failure.code for one in ends if isinstance(one, CallFailed)}
        assert (len(ends), codes) == (150, {"MCP_TIMEOUT"})
    finally:
        os.kill(server, signal.SIGCONT)
