"""The `shell` tool: a command in the shell of the conversation, in the user's workspace.

`sandbox/` limits what a command may do. Files that a command wrote are measured afterwards, so that
the quota counts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field

from dataagent_core.config import Settings
from dataagent_core.errors import ToolFailed
from dataagent_core.identity import RunContext
from dataagent_core.sandbox import CommandResult, LocalRunner
from dataagent_core.sandbox.local import LocalShells, Shells
from dataagent_core.tools.python import unkept_note
from dataagent_core.workspace import UserWorkspaceManager, run_context
from dataagent_core.workspace.current_run import run_or_default
from dataagent_core.workspace.workers import run_blocking

_MAX_SECONDS = 600.0


class ShellArguments(BaseModel):
    """Arguments of `shell`."""

    command: str = Field(description="The command line, for bash.", min_length=1)
    timeout_seconds: float = Field(
        default=120.0, gt=0, le=_MAX_SECONDS, description="Stop the command after so many seconds."
    )


class ShellTool(BaseTool):
    """Runs one command and returns its output and exit code."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str = "shell"
    description: str = (
        "Run a shell command. The first of a conversation starts in your workspace (the folder the "
        "file tools call '/', so use relative paths such as files/data.csv); the next ones go on "
        "where the last one ended, with its directory, variables and functions. Nothing left in "
        "the background survives. Returns stdout and stderr together, and the exit code if it is "
        "not 0."
    )
    args_schema: Any = ShellArguments  # BaseTool's own annotation is as wide
    shells: Any = Field(exclude=True)  # Shells; pydantic cannot check a protocol
    manager: UserWorkspaceManager = Field(exclude=True)
    run_of: Callable[[], RunContext] = Field(default=run_context, exclude=True)

    async def _arun(self, command: str, timeout_seconds: float = 120.0) -> str:
        context = self.run_of()
        user_id = context.user_id
        directory = await self.manager.prepare(user_id)
        shells: Shells = self.shells
        try:
            result = await shells.run(
                user_id,
                context.session_id,
                command,
                directory=directory,
                timeout_seconds=min(timeout_seconds, _MAX_SECONDS),
                sandbox_id=context.sandbox_id,
            )
        except asyncio.CancelledError:  # who stops a command does not wait for the books
            self.manager.reconcile_soon(user_id)
            raise
        await self.manager.reconcile(user_id)
        return _report(result, timeout_seconds)

    def _run(self, command: str, timeout_seconds: float = 120.0) -> str:
        return run_blocking(self._arun(command, timeout_seconds))


class ShellMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives the agent the `shell` tool."""

    def __init__(
        self,
        shells: Shells | None = None,
        manager: UserWorkspaceManager | None = None,
        *,
        workspace_root: Path | None = None,
    ) -> None:
        """Run commands in the shells, in the workspaces of the manager.

        In an agent that is not built by an `AgentFactory`: `ShellMiddleware(workspace_root=…)`, or
        without it where the settings say. Commands then run on this machine, and start in the
        folder of the run's user below it (`default` for a run without a user).
        """
        super().__init__()
        is_alone = manager is None
        if manager is None:
            settings = Settings()
            manager = UserWorkspaceManager(
                Path(workspace_root or settings.workspaces_dir).expanduser().absolute(),
                settings.workspace_quota,
            )
        self.tools = [
            ShellTool(
                shells=shells or LocalShells(LocalRunner()),
                manager=manager,
                run_of=run_or_default if is_alone else run_context,
            )
        ]


def _report(result: CommandResult, timeout_seconds: float) -> str:
    """The result as the model reads it.

    Raises:
        ToolFailed: the command took too long.
    """
    uncommitted = unkept_note(result.uncommitted)
    output = "\n".join(part for part in (result.output.rstrip("\n"), uncommitted) if part)
    if result.timed_out:
        raise ToolFailed(
            f"The command was stopped after {timeout_seconds:g} seconds, with all it started; the "
            "shell is as it was before. "
            f"Its output so far:\n{output}"
        )
    if result.exit_code:
        return f"{output}\n[exit code {result.exit_code}]".lstrip("\n")
    return output or "[no output]"
