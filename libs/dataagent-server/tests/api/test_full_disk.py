"""A disk without space: who asks is told at once, and work goes on when there is room again."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.homes import prepared_home
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

if TYPE_CHECKING:
    from conftest import LiveServer

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="mounting takes root")
READY = "/api/v1/health/ready"
_PIECE = b"x" * 65536


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=32m", "tmpfs"]
    subprocess.run(["mount", *options, str(place)], check=True)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def server(disk: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    started = start_server(home=prepared_home(disk / "home"), sandbox="off", lease_seconds=1)
    yield started
    (disk / "ballast").unlink(missing_ok=True)  # it ends in order only with room


def fill(disk: Path) -> None:
    """Leave no byte."""
    with (disk / "ballast").open("ab", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(_PIECE)
    assert shutil.disk_usage(disk).free == 0


async def answered(
    ask: Callable[[], Awaitable[httpx.Response]], is_so: Callable[[httpx.Response], bool]
) -> httpx.Response:
    """Ask again until the answer is as expected."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not is_so(answer := await ask()):
            await asyncio.sleep(0.05)
    return answer


@requirement("G14")
async def test_a_full_disk_makes_the_server_not_ready_until_there_is_room(
    server: LiveServer, disk: Path
) -> None:
    async with server.http("alice") as client:
        assert (await client.get(READY)).status_code == 200
        fill(disk)
        refused = await answered(
            lambda: client.post("/api/v1/sessions", json={}), lambda a: a.status_code != 201
        )
        assert (refused.status_code, refused.json()["error_code"]) == (503, "storage_full")
        unready = await answered(lambda: client.get(READY), lambda a: a.status_code != 200)
        assert unready.status_code == 503
        assert unready.json()["details"]["disk"] == "full"
        assert (await client.get("/api/v1/sessions")).status_code == 200  # what is there is shown
        (disk / "ballast").unlink()
        await answered(lambda: client.get(READY), lambda a: a.status_code == 200)
        made = await client.post("/api/v1/sessions", json={})
        assert made.status_code == 201


@requirement("G14")
async def test_a_caller_whose_answer_finds_no_space_is_told_and_the_run_ends_later(
    server: LiveServer, disk: Path
) -> None:
    async with server.http("alice") as client:
        session = (await client.post("/api/v1/sessions", json={})).json()["session_id"]
        body = {"message": "!slow 100000 10", "session_id": session}
        waiting = asyncio.create_task(client.post("/api/v1/chat", json=body))
        history = f"/api/v1/sessions/{session}/messages"
        await answered(lambda: client.get(history), lambda a: a.json()["total"] == 2)
        fill(disk)
        async with asyncio.timeout(WAIT_SECONDS):
            told = await waiting
        assert (told.status_code, told.json()["error_code"]) == (503, "storage_full")
        assert "full" in told.json()["message"]
        (disk / "ballast").unlink()
        ended = await answered(
            lambda: client.get(history), lambda a: a.json()["items"][-1]["status"] != "running"
        )
        assert ended.json()["items"][-1]["status"] == "failed"
        again = await client.post("/api/v1/chat", json=body | {"message": "!echo hi"})
        assert again.json()["status"] == "done"
