"""Commands as ordinary processes of this machine.

This is NOT isolation: the command runs as our own user and can read what we can read. It gets a
clean environment without our secrets, a directory to start in, a time and an output limit, and it
leaves nothing running. Use it where the person at the keyboard owns the machine (the terminal), or
where every command is approved. Isolation comes from other runners with the same `Runner` protocol.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path

from dataagent_core.errors import ToolFailed
from dataagent_core.sandbox.output import TruncatedOutput
from dataagent_core.sandbox.types import CommandResult

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_GONE_CHECKS, _GONE_SECONDS = 50, 0.005
_DRAIN_SECONDS = 2.0
_PROCESSES = Path("/proc")
_DEAD = frozenset("ZXx")
_CHUNK = 65536


class LocalRunner:
    """Runs commands in process groups of their own."""

    def __init__(
        self,
        *,
        output_limit: int = 100_000,
        path: str = DEFAULT_PATH,
        home: Path | None = None,
    ) -> None:
        """`home` is what commands have as theirs; unless given, the directory they start in."""
        self._home = home
        self._output_limit = output_limit
        self._path = path
        self._shell = shutil.which("bash", path=path) or "/bin/sh"

    async def run(self, command: str, *, directory: Path, timeout_seconds: float) -> CommandResult:
        """As `Runner.run`. What the command left in the background is ended with it."""
        output = TruncatedOutput(self._output_limit)
        process, reading = await self._start(command, directory, output)
        timed_out = False
        try:
            async with asyncio.timeout(timeout_seconds):
                await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _until_done(asyncio.ensure_future(_end(process, reading)))
        return CommandResult(
            output=output.text(),
            exit_code=None if timed_out else process.returncode,
            is_cut=output.is_cut,
            timed_out=timed_out,
        )

    async def _start(
        self, command: str, directory: Path, output: TruncatedOutput
    ) -> tuple[Process, asyncio.Task[None]]:
        """Start the command; its output goes through a pipe of ours.

        A pipe of asyncio's own keeps `wait()` from returning while a background child holds it.
        """
        readable, writable = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                self._shell,
                "-c",
                command,
                stdin=DEVNULL,
                stdout=writable,
                stderr=writable,
                cwd=directory,
                env={"PATH": self._path, "HOME": str(self._home or directory), "LANG": "C.UTF-8"},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.close(readable)
            raise ToolFailed("The command could not be started.") from error
        finally:
            os.close(writable)
        return process, asyncio.ensure_future(_read(readable, output))


async def _read(readable: int, output: TruncatedOutput) -> None:
    """Collect what comes through the pipe until all who hold it have ended.

    Not with a pipe transport: uvloop's closes the descriptor twice, and the second time it may be
    another thread's file.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def take() -> None:
        try:
            chunk = os.read(readable, _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            output.add(chunk)
        elif not ended.done():
            loop.remove_reader(readable)
            ended.set_result(None)

    os.set_blocking(readable, False)
    loop.add_reader(readable, take)
    try:
        await ended
    finally:
        loop.remove_reader(readable)
        os.close(readable)


async def _end(process: Process, reading: asyncio.Task[None]) -> None:
    """Kill the group, reap the leader, and take the last of the output."""
    with suppress(ProcessLookupError):  # everybody has gone by himself
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    await _group_is_gone(process.pid)
    await asyncio.wait([reading], timeout=_DRAIN_SECONDS)
    if not reading.done():  # a process left the group and holds the pipe
        reading.cancel()
        await asyncio.wait([reading])


async def _group_is_gone(group: int) -> None:
    """Wait a moment until the others of a killed group have died too."""
    for _ in range(_GONE_CHECKS):
        if not _has_living(group):
            return
        await asyncio.sleep(_GONE_SECONDS)


def _has_living(group: int) -> bool:
    """Whether anybody of the group still runs. Who is dead and not buried does not count.

    The others are not our children: whose they are now buries them late or, in many a container,
    never.
    """
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    if not _PROCESSES.is_dir():
        return True
    return any(_runs_in(stat, group) for stat in _PROCESSES.glob("[0-9]*/stat"))


def _runs_in(stat: Path, group: int) -> bool:
    """Whether a process is of the group and alive, by the line the system keeps about it."""
    try:
        state, _parent, its_group = stat.read_text().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):  # it is gone
        return False
    return int(its_group) == group and state not in _DEAD


async def _until_done(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task however often we are cancelled; then be cancelled."""
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            was_cancelled = True
    if was_cancelled:
        raise asyncio.CancelledError
    task.result()
