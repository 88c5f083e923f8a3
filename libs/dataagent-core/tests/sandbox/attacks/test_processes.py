"""Nothing outlives its run, nothing reaches beyond it, and nothing can speak for the runner."""

from __future__ import annotations

import asyncio

import pytest

from tests.requirements import requirement

from .ground import (
    MARKED,
    Ground,
    armed,
    attack,
    command_lines,
    mark,
    marked,
    still_works,
    told,
    until_marked,
    until_none,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

DAEMON = (
    MARKED
    + """
import signal, time
if os.fork() == 0:
    marked()
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        os.closerange(0, 1000)
        while True:
            time.sleep(600)
    os._exit(0)
time.sleep(0.05)
tell(left=True)
"""
)


@requirement("G6", "S10.3")
async def test_a_daemon_does_not_outlive_its_run(ground: Ground) -> None:
    session, name = await ground.session(), mark()
    assert await attack(session, DAEMON, mark=name) == {"left": True}
    assert marked(name) == []


KILL = """
import signal
tried = []
for target in (1, os.getppid(), -1, 0):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        if target == 0 and number != signal.SIGTERM:
            continue
        if target == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            os.kill(target, number)
        except OSError as error:
            tried.append(error.errno)
tell(alive=True)
"""


@requirement("S10.3")
async def test_killing_everybody_in_reach_hurts_only_the_run_itself(ground: Ground) -> None:
    session, other = await ground.session(), await ground.session("alice")
    await other.run_python("kept = 41")
    await session.run_python(armed(KILL), timeout_seconds=3)
    await still_works(await ground.session())
    result = await other.run_python("print(kept + 1)")
    assert result.stdout.strip() == "42"


ENDLESS = MARKED + "marked()\nimport time\nwhile True:\n    time.sleep(1)\n"


@requirement("G6", "S10.3")
async def test_a_run_whose_client_is_gone_ends_at_once(ground: Ground) -> None:
    session, name = await ground.session(), mark()
    await session.run_python("kept = 41")
    running = asyncio.create_task(session.run_python(armed(ENDLESS, mark=name), timeout_seconds=60))
    await until_marked(name)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert marked(name) == []
    result = await (await ground.session()).run_python("print(kept + 1)")
    assert result.stdout.strip() == "42"


@pytest.mark.slow
@requirement("S10.3")
async def test_long_code_runs_and_stands_in_no_process_list(ground: Ground) -> None:
    session, name = await ground.session(), mark()
    secret = f"secret-{mark()}"
    code = armed(
        f"{MARKED}\nmarked()\nimport time\n# {secret} {'x' * 200_000}\ntime.sleep(600)", mark=name
    )
    running = asyncio.create_task(session.run_python(code, timeout_seconds=1.5))
    await until_marked(name)
    assert secret not in command_lines()
    assert (await running).status == "timeout"
    long = f"# {'x' * 200_000}\nprint('ran')"
    assert (await session.run_python(long)).stdout.strip() == "ran"


FORGE = """
import struct
header = json.dumps({"op": "result", "status": "ok", "exit_code": 0, "stdout": 6, "stderr": 0,
                     "is_cut": False, "files": [], "left_out": 0, "wall": 0, "cpu": 0, "rss": 0,
                     "names": ["forged"], "state_lost": False}).encode()
frame = struct.pack(">II", len(header), 6) + header + b"forged"
for fd in range(0, 64):
    try:
        os.write(fd, frame)
    except OSError:
        pass
for pid in ("1", str(os.getppid())):
    for fd in ("1", "3", "4", "5", "6"):
        try:
            with open(f"/proc/{pid}/fd/{fd}", "wb") as f:
                f.write(frame)
        except OSError:
            pass
os._exit(7)
"""


@requirement("S10.3")
async def test_code_cannot_forge_its_own_result(ground: Ground) -> None:
    session = await ground.session()
    result = await session.run_python(armed(FORGE), timeout_seconds=5)
    assert result.status != "ok", result
    assert result.names == () or "forged" not in result.names
    await still_works(await ground.session())


SPY = (
    MARKED
    + """
import time
if os.fork() == 0:
    marked()
    os.setsid()
    seen = set()
    while True:
        for pid in os.listdir("/proc"):
            if pid.isdigit():
                for name in ("cmdline", "environ", "comm"):
                    try:
                        seen.add(open(f"/proc/{pid}/{name}").read())
                    except OSError:
                        pass
        with open("/tmp/spied", "w") as f:
            json.dump(sorted(seen), f)
        time.sleep(0.01)
tell(left=True)
"""
)
WHAT_WAS_SEEN = """
try:
    tell(seen=open("/tmp/spied").read())
except OSError:
    tell(seen="")
"""


@requirement("R32.1", "S10.3")
async def test_a_spy_left_behind_sees_nothing_of_the_next_user(ground: Ground) -> None:
    spy, name = await ground.session(), mark()
    assert await attack(spy, SPY, mark=name) == {"left": True}
    await until_none(name)
    secret = f"secret-{mark()}"
    victim = await ground.session("alice")
    await victim.run_python(f"open('/output/theirs.txt', 'w').write('{secret}')")
    assert secret not in (await attack(spy, WHAT_WAS_SEEN))["seen"]
    assert secret not in str(told(await spy.run_python(armed(LIST_ALL))))


LIST_ALL = """
found = {}
for place in ("/tmp", "/output", "/workspace", "/dev/shm", "/dev/mqueue"):
    try:
        paths = [os.path.join(place, name) for name in os.listdir(place)]
        found[place] = [open(path).read() for path in paths if os.path.isfile(path)]
    except OSError:
        pass
tell(**found)
"""
