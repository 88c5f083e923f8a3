"""What the sandbox's tests share: a wall that outlives pools, and looks from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil

from dataagent_core.sandbox import BwrapWall, CodeResult, PoolSettings, Sandboxes, SandboxSession
from dataagent_core.sandbox.bwrap import BwrapProcess

MakeSandboxes = Callable[..., Sandboxes]
FEW = PoolSettings(ready=0, max_sessions=2, wait_seconds=0.05)


class SharedWall(BwrapWall):
    """A wall that many pools use, one after another: starting one takes seconds."""

    async def aclose(self) -> None:
        """Stays; pools end their own sandboxes."""

    async def close_for_good(self) -> None:
        await super().aclose()


def process_of(session: SandboxSession) -> BwrapProcess:
    """The process behind a session."""
    process = session._process
    assert isinstance(process, BwrapProcess)
    return process


def living(pid: int) -> list[int]:
    """A process and its descendants, so far as they live."""
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
    return [process.pid for process in family if _is_alive(process)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def ran(session: SandboxSession, code: str) -> str:
    """What a cell prints that must succeed."""
    result = await session.run_python(code, timeout_seconds=20)
    assert result.status == "ok", result
    return result.stdout


def paths(result: CodeResult) -> list[str]:
    """The files that came back."""
    return [file.path for file in result.files]


class FolderKeeper:
    """Keeps files in a directory with a quota."""

    def __init__(self, root: Path, quota: int = 1_000_000) -> None:
        self._root = root
        self._quota = quota

    async def room(self) -> int | None:
        used = sum(path.stat().st_size for path in self._root.rglob("*") if path.is_file())
        return self._quota - used

    async def size(self, path: str) -> int:
        target = self._root / path
        return target.stat().st_size if target.is_file() else 0

    async def put(self, path: str, content: bytes) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    async def delete(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)
