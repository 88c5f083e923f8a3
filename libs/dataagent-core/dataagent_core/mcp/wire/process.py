"""A server's process: started with an environment of its own, ended with all its descendants.

The SDK's stdio transport cannot confine a process, limit its output or capture its stderr. On Linux
`launcher.py` runs between us and the command and ends the command's descendants when it ends, and
when we do. Elsewhere the command leads a process group that is killed as one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from dataagent_core.mcp.types import ServerSpec
from dataagent_core.mcp.wire.confinement import ConfinedCommand, ProcessLimits
from dataagent_core.mcp.wire.interface import OpenFailed

_MOST_BYTES = 16 * 1024


class Stderr:
    """A ring buffer of a process's stderr, for the reason it ended. It is never logged."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._parts: deque[bytes] = deque()
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append, dropping the oldest bytes."""
        data = data[-self._most :]
        self._parts.append(data)
        self._size += len(data)
        while self._size > self._most:
            oldest = self._parts.popleft()
            surplus = self._size - self._most
            self._size -= len(oldest)
            if len(oldest) > surplus:
                self._parts.appendleft(oldest[surplus:])
                self._size += len(oldest) - surplus

    def text(self) -> str:
        """Return all that is stored."""
        return b"".join(self._parts).decode("utf-8", "replace")

    def last_line(self) -> str:
        """Return the last line that is not empty."""
        lines = [line.strip() for line in self.text().splitlines()]
        return next((line for line in reversed(lines) if line), "")


OWNER_VARIABLE = "DATAAGENT_MCP_OWNER"
"""In each server's environment: whose it is, so that what a crash left behind can be found."""

_INHERITED = ("PATH", "HOME", "LANG")
_LAUNCHER = Path(__file__).with_name("launcher.py")
_CHUNK = 64 * 1024
_GRACE_SECONDS = 1.5
_KILL_SECONDS = 3.0
_STEP_SECONDS = 0.01
_LOOK_SECONDS = 0.5
_MOST_DIGITS = 18


class ServerProcess:
    """A running command."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        stderr: Stderr,
        limits: ProcessLimits | None = None,
    ) -> None:
        self._process = process
        self._limits = limits
        self._watch = None if limits is None else asyncio.create_task(self._watched(limits))
        self._stdin = _piped(process.stdin)
        self._stdout = _piped(process.stdout)
        self._words = asyncio.create_task(_copy_stderr(_piped(process.stderr), stderr))

    @classmethod
    async def start(
        cls, spec: ServerSpec, stderr: Stderr, confined: ConfinedCommand | None = None
    ) -> ServerProcess:
        """Start the command, confined if it should be.

        Raises:
            OpenFailed: it cannot be started.
        """
        home = {} if confined is None else {"HOME": confined.home}
        limits = None if confined is None else confined.limits
        try:
            process = await asyncio.create_subprocess_exec(
                *_command(spec, confined),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=spec.cwd if confined is None else None,
                env={**environment(spec), **home},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            if limits is not None:
                await asyncio.to_thread(limits.release)
            raise OpenFailed(f"The command cannot be started: {_plain(error)}.") from error
        return cls(process, stderr, limits)

    @property
    def pid(self) -> int:
        """The process we started, which leads its session."""
        return self._process.pid

    def exit_reason(self) -> str:
        """Return how it ended, in a sentence."""
        exceeded_limit = None if self._limits is None else self._limits.exceeded_limit()
        return (
            "The server's process ended."
            if exceeded_limit is None
            else f"{exceeded_limit} It was stopped."
        )

    async def read(self) -> bytes:
        """Read from its output; empty once it is closed."""
        return await self._stdout.read(_CHUNK)

    def write(self, data: bytes) -> None:
        """Write a whole message without waiting until it is read."""
        self._stdin.write(data)

    async def drain(self) -> None:
        """Wait while too much is unread.

        Raises:
            OSError: it does not read any more.
        """
        await self._stdin.drain()

    async def stop(self) -> None:
        """End it and its descendants, politely first. Takes a few seconds at most."""
        self._stdin.close()
        drain = asyncio.create_task(self._drain())
        if not await self._ended(_GRACE_SECONDS):
            self._signal(signal.SIGTERM)
            if not await self._ended(_KILL_SECONDS):
                self._signal(signal.SIGKILL)
                await self._ended(_KILL_SECONDS)
        self._signal(signal.SIGKILL)  # what is left of its group
        tasks = [drain, self._words, *([] if self._watch is None else [self._watch])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        transport = getattr(self._process, "_transport", None)  # else open while a pipe is held
        if transport is not None:
            transport.close()
        if self._limits is not None:
            await asyncio.to_thread(self._limits.release)

    async def _watched(self, limits: ProcessLimits) -> None:
        """Kill it once it hits the process limit: the system itself only refuses more."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if limits.hit_process_limit:
                self._signal(signal.SIGKILL)
                return

    async def _ended(self, seconds: float) -> bool:
        """Whether it ends in time; `wait()` would also wait for pipes that a survivor holds."""
        until = time.monotonic() + seconds
        while self._process.returncode is None:
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(_STEP_SECONDS)
        return True

    async def _drain(self) -> None:
        """Read on: a process that is blocked in writing cannot end."""
        while await self.read():
            pass

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return


def _command(spec: ServerSpec, confined: ConfinedCommand | None) -> list[str]:
    """Return the command to start: the launcher, with the server's confined command."""
    command = [spec.command or "", *spec.args] if confined is None else confined.command
    if sys.platform != "linux":
        return command
    user = str(confined.user) if confined is not None and confined.user else "-"
    cgroup_files = ":".join(confined.limits.cgroup_files) if confined is not None else ""
    own = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), user, cgroup_files or "-"]
    return [*own, *command]


_Pipe = TypeVar("_Pipe", asyncio.StreamReader, asyncio.StreamWriter)


def _piped(pipe: _Pipe | None) -> _Pipe:
    if pipe is None:
        raise OpenFailed("The command has no pipes.")
    return pipe


async def _copy_stderr(pipe: asyncio.StreamReader, stderr: Stderr) -> None:
    while data := await pipe.read(_CHUNK):
        stderr.write(data)


def environment(spec: ServerSpec) -> dict[str, str]:
    """Return the command's environment: a few plain variables and its own, nothing else."""
    kept: Mapping[str, str] = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    own = {name: value.get_secret_value() for name, value in spec.env.items()}
    return {**kept, OWNER_VARIABLE: owner_mark(), **own}


def owner_mark() -> str:
    """Return a mark of our process that no later process and no container has."""
    return f"{os.getpid()}.{_start_time(os.getpid())}.{_pid_namespace()}"


def _pid_namespace() -> str:
    """By which numbers we know processes: a container has its own, and we may see into it."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    return stat.rpartition(b")")[2].split()[19].decode()


def _plain(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such program or folder"
    if isinstance(error, PermissionError):
        return "it may not be run"
    return "its name or arguments cannot be used"


def kill_orphans() -> int:
    """Kill servers whose owner has ended, which only a crash of the launcher leaves.

    Returns how many.
    """
    if sys.platform != "linux":
        return 0
    prefix = f"{OWNER_VARIABLE}=".encode()
    count = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            if variable.startswith(prefix) and _is_gone(variable.removeprefix(prefix)):
                count += _kill(int(folder.name))
    return count


def _is_gone(owner: bytes) -> bool:
    """Whether a process has ended. The environment it is read from is not trusted."""
    pid, _, rest = owner.partition(b".")
    started, _, numbering = rest.partition(b".")
    if not pid.isdigit() or len(pid) > _MOST_DIGITS or numbering != _pid_namespace().encode():
        return False
    return bool(started) and _start_time(int(pid)).encode() != started


def _kill(pid: int) -> int:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return 0
    return 1
