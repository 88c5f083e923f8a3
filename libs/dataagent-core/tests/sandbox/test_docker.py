"""The Docker wall on a real engine: what it starts, what it says when it cannot, what it leaves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.errors import SandboxGone, SandboxUnavailable
from dataagent_core.sandbox.docker import DockerProcess, DockerWall
from dataagent_core.sandbox.docker_container import LABEL
from dataagent_core.sandbox.pool import PoolSettings, Sandboxes
from dataagent_core.sandbox.runner.frames import Frame
from dataagent_core.sandbox.types import SandboxHome, SandboxLimits
from scripts.docker_engine import Engine
from tests.docker import docker_engine
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine() -> Generator[Engine]:
    with docker_engine() as found:
        yield found


def wall_on(engine: Engine, **given: Any) -> DockerWall:
    return DockerWall(
        given.pop("image", engine.image),
        url=given.pop("url", engine.url),
        binds=engine.binds,
        **given,
    )


def bind_frame(limits: SandboxLimits) -> Frame:
    known = asdict(limits)
    return Frame(
        "bind",
        {
            name: known.get(f"{name}_bytes", known.get(name))
            for name in (
                "memory", "processes", "file", "disk", "inodes", "output", "harvest_files",
                "harvest_bytes", "cpus",
            )
        },
    )  # fmt: skip


async def answer(process: DockerProcess, frame: Frame) -> Frame:
    await process.send(frame)
    async with asyncio.timeout(WAIT_SECONDS):
        return await process.receive()


async def containers(wall: DockerWall, label: str) -> list[str]:
    return await wall._client.labelled(f"{LABEL}={label}")


async def until_silent(process: DockerProcess) -> None:
    with suppress(SandboxGone):
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                await process.receive()


async def until_gone(wall: DockerWall, label: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await containers(wall, label):
            await asyncio.sleep(0.05)


@requirement("S10.3")
async def test_a_container_runs_code_and_leaves_nothing_when_it_is_killed(
    engine: Engine,
) -> None:
    wall = wall_on(engine)
    try:
        assert await wall.check()
        process = await wall.start(SandboxHome("one"), SandboxLimits())
        assert len(await containers(wall, "one")) == 1
        assert (await answer(process, bind_frame(SandboxLimits()))).op == "done"
        ran = await answer(process, Frame("python", {"seconds": 10}, b"print(6 * 7)"))
        assert (ran.op, ran.fields["status"], ran.body) == ("result", "ok", b"42\n")
        await asyncio.gather(process.kill(), process.kill())
        assert await containers(wall, "one") == []
        assert not process.is_alive
        with pytest.raises(SandboxGone):
            await process.send(Frame("changes"))
        with pytest.raises(SandboxGone):
            await process.receive()
    finally:
        await wall.aclose()


@requirement("G6", "S10.3")
async def test_a_container_ends_by_itself_when_its_server_is_gone(engine: Engine) -> None:
    wall, watcher = wall_on(engine), wall_on(engine)
    try:
        process = await wall.start(SandboxHome("orphan"), SandboxLimits())
        await process.send(bind_frame(SandboxLimits()))
        await process.send(Frame("python", {"seconds": 300}, b"while True: pass"))
        assert process._writer is not None
        process._writer.close()  # as the kernel does when a process dies
        await until_gone(watcher, "orphan")
        await until_silent(process)
    finally:
        await wall.aclose()
        await watcher.aclose()


@requirement("S10.3")
async def test_closing_the_wall_ends_all_its_containers(engine: Engine) -> None:
    wall, watcher = wall_on(engine), wall_on(engine)
    try:
        await wall.start(SandboxHome("left"), SandboxLimits())
        await wall.aclose()
        assert await containers(watcher, "left") == []
    finally:
        await watcher.aclose()


@requirement("S10.3")
async def test_a_missing_image_is_named_with_the_command_that_builds_it(
    engine: Engine,
) -> None:
    wall = wall_on(engine, image="no-such-image")
    try:
        with pytest.raises(SandboxUnavailable, match=r"docker build -t no-such-image"):
            await wall.check()
        with pytest.raises(SandboxUnavailable):
            await wall.start(SandboxHome("never"), SandboxLimits())
    finally:
        await wall.aclose()


@requirement("S10.3")
async def test_a_missing_engine_is_reported(engine: Engine) -> None:
    wall = wall_on(engine, url="unix:///nowhere/docker.sock")
    try:
        with pytest.raises(SandboxUnavailable, match="Docker engine"):
            await wall.check()
    finally:
        await wall.aclose()


@requirement("S10.3")
async def test_a_start_that_is_cancelled_leaves_no_container(engine: Engine) -> None:
    wall = wall_on(engine)
    try:
        starting = asyncio.create_task(wall.start(SandboxHome("cancelled"), SandboxLimits()))
        async with asyncio.timeout(WAIT_SECONDS):
            while not await containers(wall, "cancelled"):
                await asyncio.sleep(0.01)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await until_gone(wall, "cancelled")
    finally:
        await wall.aclose()


@requirement("R33.3", "S10.3")
async def test_a_container_sees_the_workspace_as_it_is_and_changes_none_of_it(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("first")
    os.symlink("/etc/passwd", tmp_path / "files" / "link")
    pool = Sandboxes(
        wall_on(engine), settings=PoolSettings(ready=0), workspace_of=lambda _user: tmp_path
    )
    look = "import os; print(open('files/a.txt').read(), sorted(os.listdir('files')))"
    try:
        session = await pool.session("anna", "one")
        assert (await session.run_python(look)).stdout == "first ['a.txt']\n"
        (tmp_path / "files" / "a.txt").write_text("second, longer")
        (tmp_path / "files" / "b.txt").write_text("new")
        result = await session.run_python(look)
        assert (result.stdout, result.files) == ("second, longer ['a.txt', 'b.txt']\n", ())
        changed = await session.run_python("_ = open('files/a.txt', 'w').write('theirs')")
        assert [(file.path, file.content) for file in changed.files] == [("files/a.txt", b"theirs")]
        assert (tmp_path / "files" / "a.txt").read_text() == "second, longer"
        shown = await session.aexecute("cat files/a.txt")
        assert shown.output == "theirs"
    finally:
        await pool.aclose()
