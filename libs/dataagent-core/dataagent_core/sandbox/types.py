"""What runs a command, and what comes back. Plain data and one protocol."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. `exit_code` is None when it was stopped for its time."""

    output: str
    exit_code: int | None
    is_cut: bool = False
    timed_out: bool = False


class Runner(Protocol):
    """Runs one command at a time for a caller; calls may overlap."""

    async def run(self, command: str, *, directory: Path, timeout_seconds: float) -> CommandResult:
        """Run a shell command in a directory and wait for its end.

        When the caller is cancelled, the command and everything it started has ended before the
        cancellation goes on.

        Raises:
            ToolFailed: the command could not be started.
        """
        ...
