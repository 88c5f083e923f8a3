"""No run takes more than its share: memory, processes, time, processor, disk, files, output."""

from __future__ import annotations

import asyncio
import os

import pytest

from dataagent_core.errors import SandboxGone
from dataagent_core.sandbox.bwrap import BwrapWall
from dataagent_core.sandbox.cgroups import OWN_BYTES, Cgroups
from dataagent_core.sandbox.pool import PoolSettings, Sandboxes
from dataagent_core.sandbox.session import SandboxSession
from dataagent_core.sandbox.types import CodeResult, SandboxLimits
from tests.requirements import requirement

from .ground import (
    MARKED,
    Bait,
    Ground,
    armed,
    attack,
    mark,
    marked,
    memory_of,
    still_works,
    told,
    until_none,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")
MIB = 1024 * 1024

SWALLOW = """
held = []
while True:
    held.append(bytearray(8 << 20))
    tell(mib=8 * len(held))
"""


@requirement("S10.3")
async def test_one_process_gets_no_more_memory_than_the_limit(ground: Ground) -> None:
    session = await ground.session()
    result = await session.run_python(armed(SWALLOW), timeout_seconds=20)
    assert result.status in ("memory", "error"), result
    assert told(result)["mib"] <= ground.sandboxes.limits.memory_bytes // MIB
    await still_works(session)


SWALLOW_TOGETHER = (
    MARKED
    + """
import time
for _ in range(8):
    if os.fork() == 0:
        marked()
        held = []
        while True:
            try:
                held.append(bytearray(4 << 20))
            except MemoryError:
                time.sleep(0.05)
time.sleep(600)
"""
)


async def swallowed_together(session: SandboxSession, seconds: float) -> tuple[CodeResult, int]:
    """How eight processes end that take what they get, and the most they had at a time.

    They are looked at one after the other, and what one gave back meanwhile another may have: of
    five looks in a row the least counts.
    """
    name, peak = mark(), 0
    code = armed(SWALLOW_TOGETHER, mark=name)
    running = asyncio.create_task(session.run_python(code, timeout_seconds=seconds))
    while not running.done():
        peak = max(peak, min(memory_of(name) for _ in range(5)))
        await asyncio.sleep(0.02)
    await until_none(name)
    return running.result(), peak


@requirement("S10.3")
async def test_eight_processes_together_get_no_more_memory_than_the_limit(ground: Ground) -> None:
    """Without a container the limit has room for the session's own process, and no byte more."""
    session, limits = await ground.session(), ground.sandboxes.limits
    own = OWN_BYTES if ground.wall == "bwrap" else 0
    result, peak = await swallowed_together(session, 3)
    assert result.status in ("memory", "timeout", "killed", "error")
    may_be_watched = ground.wall == "bwrap" and os.geteuid() != 0
    assert 0 < peak <= (limits.memory_bytes * 1.25 if may_be_watched else limits.memory_bytes + own)
    await still_works(session)


@pytest.mark.slow
@requirement("S10.3")
async def test_without_a_limit_of_the_system_the_watch_ends_eight_processes_in_time(
    bait: Bait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an ordinary user has it, who may not make cgroups, with the limits that people have."""

    def none(_groups: Cgroups, _name: str, _pid: int, _limits: SandboxLimits) -> None:
        return None

    monkeypatch.setattr(Cgroups, "make", none)
    sandboxes = Sandboxes(BwrapWall(), settings=PoolSettings(ready=0))
    try:
        session = await Ground(sandboxes, bait).session()
        result, peak = await swallowed_together(session, 20)
        assert result.status == "memory", result
        assert 0 < peak <= sandboxes.limits.memory_bytes * 1.25
        await still_works(session)
    finally:
        await sandboxes.aclose()


MULTIPLY = (
    MARKED
    + """
import threading, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            marked()
            time.sleep(600)
        made += 1
except OSError:
    pass
tell(processes=made)
"""
)
THREADS = """
import threading
made, stop = 0, threading.Event()
try:
    while made < 500:
        threading.Thread(target=stop.wait, daemon=True).start()
        made += 1
except (RuntimeError, MemoryError):
    pass
stop.set()
tell(threads=made)
"""


@pytest.mark.slow
@requirement("S10.3")
async def test_there_are_no_more_processes_and_threads_than_the_limit(ground: Ground) -> None:
    session, name = await ground.session(), mark()
    most = ground.sandboxes.limits.processes
    assert 1 < (await attack(session, MULTIPLY, mark=name))["processes"] <= most
    assert marked(name) == []
    assert 1 < (await attack(session, THREADS))["threads"] <= most
    await still_works(session)


BOMB = (
    MARKED
    + "marked()\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
)


@pytest.mark.slow
@requirement("S10.3")
async def test_a_fork_bomb_ends_at_its_deadline_and_leaves_no_process(ground: Ground) -> None:
    """A machine under load may have to end the sandbox with it; nothing of it lives either way."""
    session, name = await ground.session(), mark()
    try:
        result = await session.run_python(armed(BOMB, mark=name), timeout_seconds=1)
        assert result.status == "timeout", result
    except SandboxGone:
        assert not session.is_alive
    await until_none(name)
    await still_works(await ground.session())


STUBBORN = (
    MARKED
    + """
import signal, time
marked()
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    if FACTS["sleeps"]:
        time.sleep(600)
"""
)


@requirement("S10.3")
@pytest.mark.parametrize("sleeps", [True, False], ids=["sleeps", "spins"])
async def test_code_that_ignores_signals_ends_with_its_time(ground: Ground, sleeps: bool) -> None:
    session, name = await ground.session(), mark()
    result = await session.run_python(
        armed(STUBBORN, mark=name, sleeps=sleeps), timeout_seconds=0.5
    )
    assert (result.status, marked(name)) == ("timeout", [])
    await still_works(session)


BURN = """
import time
end = time.monotonic() + FACTS["seconds"]
children = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() < end:
            pass
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
t = os.times()
tell(cpu=t.children_user + t.children_system)
"""


@pytest.mark.slow
@requirement("S10.3")
async def test_four_burners_get_no_more_than_the_processors_allowed(ground: Ground) -> None:
    if ground.wall == "bwrap" and os.geteuid() != 0:
        pytest.skip("processor time is limited by a cgroup, which only root may make here")
    seen = await attack(await ground.session(), BURN, seconds=1.5)
    assert 0 < seen["cpu"] <= 1.5 * ground.sandboxes.limits.cpus * 1.3


FILL = """
grown = {}
for place in ("/workspace", "/output", "/tmp", "/dev/shm", "/"):
    total, number = 0, 0
    try:
        while total < FACTS["most"]:
            with open(os.path.join(place, f"fill{number}"), "wb") as f:
                f.write(bytes(8 << 20))
            total, number = total + 8, number + 1
    except OSError:
        pass
    for each in range(number + 1):
        try:
            os.unlink(os.path.join(place, f"fill{each}"))
        except OSError:
            pass
    grown[place] = total
tell(**grown)
"""


@requirement("S10.3")
async def test_no_place_takes_more_bytes_than_the_disk_limit(ground: Ground) -> None:
    session = await ground.session()
    disk = ground.sandboxes.limits.disk_bytes // MIB
    result = await session.run_python(armed(FILL, most=4 * disk), timeout_seconds=20)
    if result.status == "memory":  # what lies in memory counts as memory: that was the end of it
        return
    seen = told(result)
    assert seen.pop("/") == 0
    assert max(seen.values()) <= disk, seen
    await still_works(session)


SWARM = """
made = 0
try:
    for made in range(300_000):
        open(f"/output/{made}", "w").close()
except OSError:
    pass
tell(made=made)
for each in range(made):
    os.unlink(f"/output/{each}")
"""


@requirement("S10.3")
async def test_there_are_no_more_files_than_the_limit(ground: Ground) -> None:
    seen = await attack(await ground.session(), SWARM)
    assert 10 < seen["made"] <= ground.sandboxes.limits.inodes


LARGE = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
seen = {}
try:
    with open("/tmp/large", "wb", buffering=0) as f:
        for _ in range(1500):
            f.write(bytes(1 << 20))
except OSError:
    pass
seen["written"] = os.path.getsize("/tmp/large") >> 20
os.unlink("/tmp/large")
try:
    with open("/tmp/sparse", "wb") as f:
        os.truncate(f.fileno(), 1 << 40)
except OSError:
    pass
seen["sparse"] = os.path.getsize("/tmp/sparse") >> 20
tell(**seen)
"""


@requirement("S10.3")
async def test_no_file_grows_beyond_the_limit(ground: Ground) -> None:
    seen = await attack(await ground.session(), LARGE)
    most = ground.sandboxes.limits.file_bytes // MIB
    assert 0 < seen["written"] <= most
    assert seen["sparse"] <= most


SHOUT = """
for fd in (1, 2):
    for _ in range(FACTS["mib"]):
        os.write(fd, b"x" * (1 << 20))
"""


@requirement("S10.3")
async def test_a_flood_of_output_is_drained_and_cut(ground: Ground) -> None:
    session = await ground.session()
    result = await session.run_python(armed(SHOUT, mib=1024), timeout_seconds=120)  # 2 GB in all
    assert (result.status, result.is_cut) == ("ok", True)
    kept = len(result.stdout) + len(result.stderr)
    assert 0 < kept <= 2 * ground.sandboxes.limits.output_bytes + 4096
    await still_works(session)
