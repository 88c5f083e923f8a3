"""Programs of a server that serves others run behind a wall, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.mcp.connections.connection import ConnectionRules
from dataagent_core.mcp.types import CallFailed, ConnectionKey, ServerSpec
from dataagent_core.mcp.wire.confinement import USER, Confinement, ProcessLimiter
from dataagent_core.network import HostPolicy
from dataagent_core.sandbox import SandboxLimits
from dataagent_core.sandbox.cgroups import Cgroups
from tests.waiting import WAIT_SECONDS, until

from ..conftest import Keep
from ..running import QUICK, Kept, alive, call, stdio_spec

INSIDE = """
import json, os, sys
def answer(message):
    match message["method"]:
        case "initialize":
            info = {"name": "inside", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            try:
                text = json.dumps(eval(message["params"]["arguments"]["code"]))
            except Exception as error:
                text = json.dumps(type(error).__name__)
            return {"content": [{"type": "text", "text": text}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message)
        body = {"result": result} if result else {"error": {"code": -32601, "message": "what?"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""


def inside(**changes: Any) -> ServerSpec:
    """A program anybody may run: the system's own Python."""
    program: dict[str, Any] = {"command": "/usr/bin/python3", "args": ("-I", "-S", "-c", INSIDE)}
    return stdio_spec(**{**program, **changes})


@pytest.fixture
def data(tmp_path: Path) -> Generator[Path]:
    """Where our data is, as an installation has it: outside of what is emptied anyway."""
    folder = Path("/opt" if os.access("/opt", os.W_OK) else tmp_path) / f"data-{os.getpid()}"
    folder.mkdir(mode=0o755)
    (folder / "secret").write_text("canary")
    (folder / "secret").chmod(0o644)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def programs(tmp_path: Path) -> Generator[Path]:
    """Where anybody finds programs."""
    folder = Path("/opt" if os.access("/opt", os.W_OK) else tmp_path) / f"programs-{os.getpid()}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def walled(data: Path) -> ConnectionRules:
    return replace(QUICK, confinement=Confinement(data / "mcp", hidden=[data]))


async def test_a_program_sees_nothing_of_ours_and_writes_only_at_home(
    keep: Keep, walled: ConnectionRules, data: Path
) -> None:
    connection = await keep(inside(env={"MINE": "yes"}), walled).ready()

    async def look(code: str) -> Any:
        return json.loads(await call(connection, "look", code=code))

    assert await look(f"open({str(data / 'secret')!r}).read()") == "FileNotFoundError"
    assert await look("open('/etc/x', 'w').write('x')") == "OSError"
    assert await look("open('/usr/x', 'w').write('x')") == "OSError"
    assert await look("open(os.environ['HOME'] + '/x', 'w').write('x')") == 1
    assert await look("os.getcwd() == os.environ['HOME']") is True
    left = Path(f"/tmp/written-{os.getpid()}")
    assert await look(f"open({str(left)!r}, 'w').write('x')") == 1
    assert not left.exists()
    assert await look("os.environ['MINE']") == "yes"
    assert await look("len([p for p in os.listdir('/proc') if p.isdigit()])") <= 3
    assert await look("os.getuid()") != 0
    assert await look("os.setuid(0)") in ("PermissionError", "OSError")
    assert await look("[line for line in open('/proc/self/status') if 'CapEff' in line]") == [
        "CapEff:\t0000000000000000\n"
    ]


async def test_a_program_that_only_root_can_reach_has_none_of_roots_powers(
    keep: Keep, walled: ConnectionRules, data: Path
) -> None:
    """As for any user who runs us: our own interpreter, which may lie in a home."""
    connection = await keep(inside(command=sys.executable), walled).ready()

    async def look(code: str) -> Any:
        return json.loads(await call(connection, "look", code=code))

    assert await look(f"open({str(data / 'secret')!r}).read()") == "FileNotFoundError"
    assert await look("open('/etc/shadow').read()") in ("", "PermissionError")
    assert await look("open('/usr/x', 'w').write('x')") == "OSError"
    assert await look("os.getuid()") == 1000
    assert await look("[line for line in open('/proc/self/status') if 'CapEff' in line]") == [
        "CapEff:\t0000000000000000\n"
    ]
    assert await look("open(os.environ['HOME'] + '/x', 'w').write('x')") == 1


async def test_a_script_whose_interpreter_only_we_can_reach_runs_all_the_same(
    keep: Keep, walled: ConnectionRules, programs: Path
) -> None:
    """As programs of an environment are: anybody may read the script, not what runs it."""
    script = programs / "program"
    script.write_text(f"#!{sys.executable}\n{INSIDE}")
    script.chmod(0o755)
    connection = await keep(inside(command=str(script), args=()), walled).ready()
    assert await call(connection, "look", code="1 + 1") == "2"


async def test_nothing_of_a_walled_program_is_left(
    keep: Keep, walled: ConnectionRules, data: Path
) -> None:
    connection = await keep(inside(), walled).ready()
    mark = f"sleep 30{os.getpid()}"
    code = f"__import__('subprocess').Popen(['setsid', *{mark.split()!r}]).pid"
    await call(connection, "look", code=code)
    listed = subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True, check=False)
    pids = [int(pid) for pid in listed.stdout.split()]
    assert pids
    await connection.aclose()
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_without_bubblewrap_no_program_is_started(
    hosts: HostPolicy, data: Path, walled: ConnectionRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(data))
    kept = Kept(inside(), hosts, walled)
    kept.connection.start()
    await until(lambda: kept.connection.status.state == "backoff")
    assert "bubblewrap" in kept.connection.status.reason
    await kept.connection.aclose()


async def test_a_files_program_is_the_persons_own_and_has_no_wall(
    keep: Keep, walled: ConnectionRules, data: Path
) -> None:
    connection = await keep(inside(scope="file"), walled).ready()
    code = f"open({str(data / 'secret')!r}).read()"
    assert json.loads(await call(connection, "look", code=code)) == "canary"


# -- how much of the machine ----------------------------------------------------------------------

SMALL = SandboxLimits(memory_bytes=128 * 1024**2, cpus=0.2, processes=40)
HOG = "len(bytearray(300 * 1024**2))"
BOMB = "[os.fork() for _ in range(500)]"


@pytest.fixture
def small(data: Path) -> Generator[ConnectionRules]:
    """A wall behind which there is little; what it asks of the system is gone afterwards."""
    wall = Confinement(data / "mcp", hidden=[data], limiter=ProcessLimiter(SMALL))
    yield replace(QUICK, confinement=wall)
    wall.close()
    assert not list(Path("/sys/fs/cgroup").glob(f"**/dataagent-{os.getpid()}-mcp"))


@pytest.fixture
def grouped(tmp_path: Path) -> None:
    """Only where we may make control groups, as root may."""
    groups = Cgroups(kind="try")
    group = groups.make("try", None, SMALL)
    if group is None:
        pytest.skip("no control groups can be made here")
    group.remove()
    groups.close()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (HOG, "The program used more than 128 MiB of memory. It was stopped."),
        (BOMB, "The program started more than 40 processes. It was stopped."),
    ],
)
@pytest.mark.usefixtures("grouped")
async def test_a_program_that_takes_too_much_is_stopped_alone_and_comes_back(
    code: str, reason: str, small: ConnectionRules, hosts: HostPolicy, keep: Keep
) -> None:
    neighbour = await keep(inside(server_id="neighbour"), small).ready()
    kept = Kept(inside(), hosts, small)
    try:
        connection = await kept.ready()
        with suppress(CallFailed):  # a bomb may still say that it went off
            await connection.call("look", {"code": code}, timeout_seconds=WAIT_SECONDS)
        await until(lambda: connection.status.generation == 2)
        assert reason in [status.reason for status in kept.statuses]
        assert await call(connection, "look", code="1 + 1") == "2"
        assert await call(neighbour, "look", code="2 + 2") == "4"
        assert neighbour.status.generation == 1
    finally:
        await kept.connection.aclose()


@pytest.mark.usefixtures("grouped")
async def test_a_program_that_never_gets_up_says_why(
    hosts: HostPolicy, small: ConnectionRules
) -> None:
    kept = Kept(inside(args=("-I", "-S", "-c", HOG)), hosts, small)
    kept.connection.start()
    try:
        await until(lambda: kept.connection.status.state == "backoff")
        assert "more than 128 MiB of memory" in kept.connection.status.reason
    finally:
        await kept.connection.aclose()


@pytest.mark.usefixtures("grouped")
async def test_a_program_has_its_share_of_the_processors_and_no_more(
    small: ConnectionRules, keep: Keep
) -> None:
    """What the system is told; that it keeps to it is its own affair."""
    await keep(inside(), small).ready()
    groups = list(Path("/sys/fs/cgroup").glob(f"**/dataagent-{os.getpid()}-mcp/*"))
    [group] = [each for each in groups if list(each.glob("cpu.stat"))]
    names = [each for each in ("cpu.max", "cpu.cfs_quota_us") if (group / each).exists()]
    assert (group / names[0]).read_text().split()[0] == "20000"  # of 100,000 microseconds
    assert len((group / "cgroup.procs").read_text().split()) >= 3  # launcher, wall, program


async def test_without_control_groups_each_process_has_its_limits(
    small: ConnectionRules, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an ordinary user has it, who may make none; replaced, since the tests may be root's."""

    def none(_groups: Cgroups, _name: str, _pid: int | None, _limits: SandboxLimits) -> None:
        return None

    monkeypatch.setattr(Cgroups, "make", none)
    connection = await keep(inside(), small).ready()
    assert json.loads(await call(connection, "look", code=HOG)) == "MemoryError"
    many = "[__import__('subprocess').Popen(['sleep', '60']) for _ in range(100)]"
    assert json.loads(await call(connection, "look", code=many)) == "BlockingIOError"
    assert await call(connection, "look", code="os.nice(0)") == "10"


def test_a_home_is_one_principals_and_persists_unless_it_is_a_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = Confinement(tmp_path / "mcp", hidden=[tmp_path])
    spec = inside()

    def confine(principal: str) -> tuple[str, bool, int | None]:
        confined = wall.confine(spec, ConnectionKey("srv", principal))
        return confined.home, Path(confined.home).is_dir(), confined.user

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    homes = [confine("user:ann"), confine("user:ben"), confine("session:s1")]
    assert len({home for home, _, _ in homes}) == 3  # of which one is nowhere on the disk
    assert [(is_kept, user) for _, is_kept, user in homes] == [
        (True, None),
        (True, None),
        (False, None),
    ]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert confine("user:cam")[1:] == (False, USER)
