"""The ground, once for each wall: sandboxes, and bait that a leak would bring in."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from dataagent_core.sandbox import bwrap
from dataagent_core.sandbox.bwrap import BwrapWall
from dataagent_core.sandbox.docker import DockerWall
from dataagent_core.sandbox.pool import PoolSettings, Sandboxes
from dataagent_core.sandbox.types import SandboxLimits, Wall
from scripts.docker_engine import Engine
from tests.docker import docker_engine
from tests.tiers import WALLS
from tests.waiting import WAIT_SECONDS

from .ground import Bait, Ground

MIB = 1024 * 1024
LIMITS = SandboxLimits(
    memory_bytes=192 * MIB, disk_bytes=64 * MIB, file_bytes=16 * MIB, inodes=2048
)
WITH_RUNNER = replace(LIMITS, memory_bytes=320 * MIB)  # which counts in a container
POOL = PoolSettings(ready=0, max_uses=100_000)


@pytest.fixture(scope="session")
def engine() -> Generator[Engine]:
    with docker_engine() as found:
        yield found


@pytest.fixture(scope="session")
def bait() -> Generator[Bait]:
    """World-readable and listening to everyone, so that only a wall can keep code from it."""
    folder = Path(tempfile.mkdtemp(prefix="bait-"))
    folder.chmod(0o755)
    word, heard = f"secret-{uuid4().hex}", list[str]()
    path = folder / f"{uuid4().hex}.txt"
    path.write_text(word)
    path.chmod(0o644)
    variable = f"BAIT_{uuid4().hex.upper()}_API_KEY"
    os.environ[variable] = word
    with ExitStack() as stack:
        tcp = socket.create_server(("127.0.0.1", 0))
        abstract, unix = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        name, place = f"bait-{uuid4().hex}", folder / "s"
        abstract.bind(f"\0{name}")
        unix.bind(str(place))
        place.chmod(0o777)
        for listening, kind in ((tcp, "tcp"), (abstract, "abstract"), (unix, "path")):
            listening.listen()
            stack.callback(_listening(listening, kind, heard))
        yield Bait(word, path, variable, tcp.getsockname()[1], name, place, heard)
    del os.environ[variable]
    shutil.rmtree(folder)


def _listening(server: socket.socket, kind: str, heard: list[str]) -> Callable[[], None]:
    """Note who connects, until the function that is returned is called."""

    def listen() -> None:
        with suppress(OSError):
            while True:
                server.accept()[0].close()
                heard.append(kind)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()

    def end() -> None:
        server.shutdown(socket.SHUT_RDWR)
        thread.join(WAIT_SECONDS)
        server.close()

    return end


def _wall(kind: str, request: pytest.FixtureRequest, runner: Path | None = None) -> Wall:
    if kind == "bwrap":
        if shutil.which("bwrap") is None:
            pytest.fail("bubblewrap is not installed: apt-get install bubblewrap")
        return BwrapWall()
    found: Engine = request.getfixturevalue("engine")
    binds = {**found.binds}
    if runner is not None:
        binds = {place: inside for place, inside in binds.items() if inside != "/opt/runner"}
        binds[str(runner)] = "/opt/runner"
    return DockerWall(found.image, url=found.url, binds=binds)


@pytest_asyncio.fixture(loop_scope="session", scope="session", params=WALLS)
async def ground(request: pytest.FixtureRequest, bait: Bait) -> AsyncGenerator[Ground]:
    """A wall with sandboxes behind it; sessions are shared by attacks that leave no trace."""
    sandboxes = Sandboxes(
        _wall(request.param, request),
        limits=WITH_RUNNER if request.param == "docker" else LIMITS,
        settings=POOL,
    )
    try:
        yield Ground(sandboxes, bait)
    finally:
        await sandboxes.aclose()


@pytest_asyncio.fixture(loop_scope="session", params=WALLS)
async def broken(
    request: pytest.FixtureRequest,
    bait: Bait,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncGenerator[Ground]:
    """A wall whose runner does not set its filter of system calls."""
    runner = tmp_path / "runner"
    shutil.copytree(Path(bwrap.__file__).parent / "runner", runner)
    calls = runner / "system.py"
    text = calls.read_text()
    assert "def set_filter(program: bytes) -> None:" in text
    calls.write_text(f"{text}\n\ndef set_filter(program: bytes) -> None:\n    return\n")
    monkeypatch.setattr(bwrap, "_RUNNER", runner)
    sandboxes = Sandboxes(
        _wall(request.param, request, runner),
        limits=WITH_RUNNER if request.param == "docker" else LIMITS,
        settings=POOL,
    )
    try:
        yield Ground(sandboxes, bait)
    finally:
        await sandboxes.aclose()
