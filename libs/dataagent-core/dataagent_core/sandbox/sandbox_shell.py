"""The shell of a conversation in its sandbox.

Directory, variables and functions persist from command to command as in `local.py`; files are those
that `execute_python` sees.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from dataagent_core.sandbox.local import persistent_command
from dataagent_core.sandbox.pool import Sandboxes
from dataagent_core.sandbox.types import CommandResult

_STATE: Final = "/tmp/.shell-state"  # noqa: S108 inside the sandbox
_COMMAND: Final = "/tmp/.shell-command"  # noqa: S108 inside the sandbox
_RUN: Final = (
    f"exec 2>&1; if command -v bash >/dev/null; then exec bash {_COMMAND}; fi; "
    f"exec sh {_COMMAND}.sh"
)
_NOT_RUNS: Final = {
    "memory": "[ended: it used more memory than it may]",
    "killed": "[ended: its process was ended]",
}


class SandboxShells:
    """Shells behind a wall. Their state is lost with the conversation's sandbox."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

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
        """See `Shells.run`; one at a time, in the sandbox's own workspace.

        Raises:
            SandboxUnavailable: there is no wall; the command has not run.
        """
        async with self._turns.setdefault((user_id, session_id), asyncio.Lock()):
            return await self._run(user_id, session_id, command, timeout_seconds, sandbox_id)

    async def _run(
        self,
        user_id: str,
        session_id: str,
        command: str,
        timeout_seconds: float,
        sandbox_id: str | None,
    ) -> CommandResult:
        session = await self._sandboxes.session(user_id, session_id, sandbox_id=sandbox_id)
        scripts = {_COMMAND: persistent_command(command, _STATE), f"{_COMMAND}.sh": command}
        await session.aupload_files(
            [(path, text.encode(errors="replace")) for path, text in scripts.items()]
        )
        result = await session.run_command(_RUN, timeout_seconds=timeout_seconds)
        note = _NOT_RUNS.get(result.status)
        return CommandResult(
            output=result.stdout + result.stderr + (f"\n{note}" if note else ""),
            exit_code=None if result.status == "timeout" else result.exit_code,
            is_cut=result.is_cut,
            timed_out=result.status == "timeout",
            uncommitted=tuple(session.uncommitted),
        )
