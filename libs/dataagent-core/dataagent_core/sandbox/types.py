"""Protocols and plain data of running commands and code.

A `CommandRunner` runs a command of the person at the keyboard. A `Wall` starts a runner for
untrusted code; bubblewrap and Docker are walls, and `session.py` talks to the runners they start.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from dataagent_core.sandbox.runner.frames import Frame

_MIB = 1024 * 1024

IN_PLACE = "/workspace"
"""The place of a workspace that is the user's own folder: what code changes there is changed."""

CodeStatus = Literal["ok", "error", "timeout", "memory", "killed"]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. `exit_code` is None if it timed out."""

    output: str
    exit_code: int | None
    is_cut: bool = False
    timed_out: bool = False
    uncommitted: tuple[FileChange, ...] = ()  # in a sandbox: what differs from the user's files


class CommandRunner(Protocol):
    """Runs commands; calls may overlap."""

    async def run(self, command: str, *, directory: Path, timeout_seconds: float) -> CommandResult:
        """Run a shell command in a directory and wait for its end.

        When the caller is cancelled, the command and everything it started has ended before the
        cancellation goes on.

        Raises:
            ToolFailed: the command could not be started.
        """
        ...


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """A sandbox's limits. A run that requests more time gets at most `max_wall_seconds`."""

    memory_bytes: int = 512 * _MIB
    cpus: float = 1.0
    processes: int = 64
    wall_seconds: float = 30.0
    max_wall_seconds: float = 300.0
    file_bytes: int = 64 * _MIB
    disk_bytes: int = 256 * _MIB
    inodes: int = 4096
    output_bytes: int = _MIB
    harvest_files: int = 50
    harvest_bytes: int = 50 * _MIB

    def seconds(self, asked: float | None) -> float:
        """Return how long a run that requested so much time may take."""
        return min(asked or self.wall_seconds, self.max_wall_seconds)


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that code created or changed; `path` is relative to the workspace."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class CodeResult:
    """How a run ended.

    `memory` and `timeout` say which limit ended it; `killed` is a run that was cancelled or whose
    process was ended by a signal. `files` are those the run made or changed, `files_left_out` how
    many more there were. `names` are the variables that live on; `state_lost` says that earlier
    ones do not, `files_lost` that an earlier sandbox is gone with all that was not carried over.
    """

    status: CodeStatus
    stdout: str
    stderr: str
    is_cut: bool = False
    exit_code: int | None = None
    files: tuple[OutputFile, ...] = ()
    files_left_out: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    max_rss_bytes: int = 0
    names: tuple[str, ...] = ()
    state_lost: bool = False
    files_lost: bool = False


@dataclass(frozen=True, slots=True)
class FileChange:
    """A difference between the sandbox's files and the workspace's."""

    path: str
    kind: Literal["written", "deleted"]
    size: int = 0


@dataclass(frozen=True, slots=True)
class SandboxHome:
    """Whose sandbox a wall starts. `sandbox_id` is ours; the workspace may be bound later."""

    sandbox_id: str
    workspace: Path | None = None


class WallProcess(Protocol):
    """A runner inside a wall: frames in and frames out, in order."""

    async def send(self, frame: Frame) -> None:
        """Send a frame.

        Raises:
            SandboxGone: the runner has ended.
        """
        ...

    async def receive(self) -> Frame:
        """Wait for the next frame; as `send` if there will be none."""
        ...

    async def kill(self) -> None:
        """Kill everything inside, and return when it is gone. Idempotent."""
        ...

    @property
    def is_alive(self) -> bool:
        """Whether the runner is alive, as far as we know."""
        ...

    @property
    def memory_kills(self) -> int:
        """Return how many processes the system killed for lack of memory; 0 if unknown."""
        ...


class Wall(Protocol):
    """Starts runners inside a wall. bubblewrap and Docker implement it."""

    @property
    def name(self) -> str:
        """`bwrap` or `docker`."""
        ...

    async def start(self, home: SandboxHome, limits: SandboxLimits) -> WallProcess:
        """Build the wall and start a runner in it, which waits for frames.

        Raises:
            SandboxUnavailable: the wall cannot be built. No code has run.
        """
        ...

    def place_of(self, workspace: Path) -> str | None:
        """Return where the runner finds a workspace to mount below an overlay, or `IN_PLACE`.

        None: it cannot, so the session copies the files in.
        """
        ...

    async def aclose(self) -> None:
        """End everything this wall started."""
        ...
