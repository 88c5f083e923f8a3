"""A shell that goes on from command to command, although each command is a process of its own.

Directory, variables, functions, aliases and options (but `set -e`) are written down when a command
ends and taken up by the next one of the same conversation. So a command that is stopped for its
time, or that ends the shell, costs nothing of what was before it, and between two commands nothing
runs. What is not kept: processes in the background, open files, traps. Above:
`middleware/shell.py`. Below: a `CommandRunner`, which starts the process and ends it
with all it started.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import weakref
from pathlib import Path
from typing import Final, Protocol

from dataagent_core.sandbox.local import DEFAULT_PATH
from dataagent_core.sandbox.process_folder import process_folder
from dataagent_core.sandbox.types import CommandResult, CommandRunner

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
        """Run a command where the last one of this conversation left off, the first in `directory`.

        Raises:
            ToolFailed: as `CommandRunner.run`.
        """
        ...


class LocalShells:
    """Shells over a runner on this machine. What they keep goes with this object.

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
        """As `Shells.run`; commands of one conversation run one after another."""
        key = hashlib.sha256(f"{user_id}\0{session_id}".encode()).hexdigest()
        async with self._turns.setdefault(key, asyncio.Lock()):
            state = self._place() / key[:32]
            return await self._runner.run(
                persistent_command(command, str(state)),
                directory=directory,
                timeout_seconds=timeout_seconds,
            )

    def close(self) -> None:
        """Forget all shells."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _place(self) -> Path:
        """A folder that is ours alone: what shells keep may hold secrets."""
        if self._folder is None:
            self._folder = process_folder("dataagent-shells-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder


def persistent_command(command: str, state: str) -> str:
    """A command for bash that takes up the state in a file, runs, and leaves its own there.

    All of it is one line, so that bash counts the command's own lines in what it reports.
    """
    take_up = _quote(_TAKE_UP.replace("MAX_BYTES", str(MAX_STATE_BYTES)))
    return (
        f"__da_state={_quote(state)}; eval {take_up}; eval {_quote(command)}\n"
        '__da_keep\nexit "$__da_status"'
    )


def _quote(text: str) -> str:
    """The text as one word of bash on one line."""
    return "$'" + "".join(_QUOTED.get(letter, letter) for letter in text) + "'"
