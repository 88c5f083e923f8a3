"""One bubblewrap wall for all tests of a process, and pools on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import pytest_asyncio

from dataagent_core.sandbox import BwrapWall, PoolSettings, Sandboxes, SandboxSession

from .keeping import MakeSandboxes, SharedWall


@pytest.fixture(scope="session")
def workspaces() -> Generator[Path]:
    """Where users' files are; only we may look into it."""
    root = Path(tempfile.mkdtemp(prefix="workspaces-"))
    yield root
    shutil.rmtree(root)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def wall(workspaces: Path) -> AsyncGenerator[BwrapWall]:
    """A wall that stays when a pool on it is closed."""
    if shutil.which("bwrap") is None:
        pytest.fail("bubblewrap is not installed: apt-get install bubblewrap")
    wall = SharedWall(workspaces=workspaces)
    yield wall
    await wall.close_for_good()


@pytest_asyncio.fixture(loop_scope="session")
async def make_sandboxes(wall: BwrapWall, workspaces: Path) -> AsyncGenerator[MakeSandboxes]:
    """Makes pools, and closes them after the test."""
    made: list[Sandboxes] = []

    def make(settings: PoolSettings | None = None) -> Sandboxes:
        def workspace_of(user_id: str) -> Path:
            (workspaces / user_id).mkdir(exist_ok=True, mode=0o700)
            return workspaces / user_id

        settings = settings or PoolSettings(ready=0)
        made.append(Sandboxes(wall, settings=settings, workspace_of=workspace_of))
        return made[-1]

    yield make
    for sandboxes in made:
        await sandboxes.aclose()


@pytest_asyncio.fixture(loop_scope="session")
async def session(make_sandboxes: MakeSandboxes) -> SandboxSession:
    """A sandbox of one user."""
    return await make_sandboxes().session("ann", "t1")
