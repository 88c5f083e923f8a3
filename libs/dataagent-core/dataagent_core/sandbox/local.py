"""Runs commands as ordinary processes of this machine, in shells that keep their state.

This is NOT isolation: a command runs as our own user and can read what we can read. It gets a clean
environment without our secrets, a directory, a time limit and an output limit, and nothing it
started stays running. Use it where the person at the keyboard owns the machine, or where every
command is approved.

A shell's state (directory, variables, functions, aliases and options except `set -e`) is saved when
a command ends and restored by the next one of the same conversation. A command that times out or
exits the shell loses nothing of the state before it, and between two commands nothing runs.
Background processes, open files and traps are not restored.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import signal
import tempfile
import weakref
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from dataagent_core.errors import ToolFailed
from dataagent_core.sandbox.types import CommandResult, CommandRunner


class TruncatedOutput:
    """Stores the first three quarters and the last quarter of `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit * 3 // 4
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Add bytes."""
        self._total += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room] if room > 0 else b""
        self._tail += chunk[max(room, 0) :]
        if len(self._tail) > self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def is_cut(self) -> bool:
        """Whether something is missing."""
        return self._total > len(self._head) + len(self._tail)

    def text(self) -> str:
        """Return the stored text, with a note in place of the missing part."""
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        if not self.is_cut:
            return (bytes(self._head) + bytes(self._tail)).decode(errors="replace")
        missing = self._total - len(self._head) - len(self._tail)
        return f"{head}\n… [{missing} of {self._total} bytes cut] …\n{tail}"


def process_folder(prefix: str) -> Path:
    """Create a folder of this process, for its user only, and remove those of dead processes."""
    for old in Path(tempfile.gettempdir()).glob(f"{prefix}*-*"):
        pid = old.name.removeprefix(prefix).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))


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
        """`home` is the commands' home; by default the directory they start in."""
        self._home = home
        self._output_limit = output_limit
        self._path = path
        self._shell = shutil.which("bash", path=path) or "/bin/sh"

    async def run(self, command: str, *, directory: Path, timeout_seconds: float) -> CommandResult:
        """See `CommandRunner.run`. Background processes of the command are killed with it."""
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
        """Start the command with its output in a pipe of ours.

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
    """Read the pipe until every process that holds it has ended.

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
    """Kill the group, reap the leader, and read the last of the output."""
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
    """Whether any process of the group is running; zombies do not count.

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
    """Whether a process is alive and in the group, by its line in `/proc`."""
    try:
        state, _parent, its_group = stat.read_text().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):  # it is gone
        return False
    return int(its_group) == group and state not in _DEAD


async def _until_done(task: asyncio.Task[None]) -> None:
    """Wait for a task's end however often the caller is cancelled, then raise the cancellation."""
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            was_cancelled = True
    if was_cancelled:
        raise asyncio.CancelledError
    task.result()


MAX_STATE_BYTES: Final = 1_000_000

_TAKE_UP: Final = r"""shopt -s expand_aliases
__da_keep() {
  __da_status=$?
  __da_options=$(set +o; shopt -p)
  set +eux
  unset -f __da_keep
  {
    printf 'cd -- %q || echo "[the directory of the last command is gone]"\n' "$PWD"
    umask -p
    compgen -A variable | while IFS= read -r __da_name; do
      case $__da_name in
        BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTIND|PIPESTATUS) ;;
        PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID|_|__da_*) ;;
        *) declare -p "$__da_name" ;;
      esac
    done
    declare -f
    alias -p
    printf '%s\n' "$__da_options"
  } > "$__da_state.new"
  if [ "$(wc -c < "$__da_state.new")" -le MAX_BYTES ]; then
    mv -f "$__da_state.new" "$__da_state"
  else
    rm -f "$__da_state.new"
    echo "[variables and functions were too large to be kept for the next command]"
  fi
} 2>/dev/null
trap 'declare -F __da_keep >/dev/null && __da_keep' EXIT
if [ -r "$__da_state" ]; then . "$__da_state" 2>/dev/null; fi
"""
_QUOTED: Final = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}


class Shells(Protocol):
    """Runs commands in the shell of a conversation."""

    async def run(
        self,
        user_id: str,
        session_id: str,
        command: str,
        *,
        directory: Path,
        timeout_seconds: float,
        sandbox_id: str | None = None,
    ) -> CommandResult:
        """Run a command with the conversation's shell state, the first one in `directory`.

        Raises:
            ToolFailed: as `CommandRunner.run`.
        """
        ...


class LocalShells:
    """Shells over a runner on this machine. Their state is lost with this object.

    Without bash a command is run as it is, and nothing is kept.
    """

    def __init__(self, runner: CommandRunner) -> None:
        self._runner = runner
        self._has_bash = shutil.which("bash", path=DEFAULT_PATH) is not None
        self._folder: Path | None = None
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    async def run(
        self,
        user_id: str,
        session_id: str,
        command: str,
        *,
        directory: Path,
        timeout_seconds: float,
        sandbox_id: str | None = None,
    ) -> CommandResult:
        """See `Shells.run`; commands of one conversation run one after another."""
        key = hashlib.sha256(f"{user_id}\0{session_id}".encode()).hexdigest()
        async with self._turns.setdefault(key, asyncio.Lock()):
            state = self._place() / key[:32]
            return await self._runner.run(
                persistent_command(command, str(state)),
                directory=directory,
                timeout_seconds=timeout_seconds,
            )

    def close(self) -> None:
        """Delete the state of all shells."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _place(self) -> Path:
        """Return a private folder: the state may contain secrets."""
        if self._folder is None:
            self._folder = process_folder("dataagent-shells-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder


def persistent_command(command: str, state: str) -> str:
    """Return a bash command that restores the state from a file, runs, and saves it.

    All of it is one line, so that bash counts the command's own lines in what it reports.
    """
    take_up = _quote(_TAKE_UP.replace("MAX_BYTES", str(MAX_STATE_BYTES)))
    return (
        f"__da_state={_quote(state)}; eval {take_up}; eval {_quote(command)}\n"
        '__da_keep\nexit "$__da_status"'
    )


def _quote(text: str) -> str:
    """Quote the text as one word of bash on one line."""
    return "$'" + "".join(_QUOTED.get(letter, letter) for letter in text) + "'"
