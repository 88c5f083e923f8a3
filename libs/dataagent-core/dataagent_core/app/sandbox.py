"""Opens the sandboxes with the core, watches them, and ends a conversation's with it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from dataagent_core.config import Settings
from dataagent_core.sandbox import Sandboxes
from dataagent_core.sandbox.factory import create_sandboxes, require_wall
from dataagent_core.telemetry import Metrics
from dataagent_core.workspace import UserWorkspaceManager


async def open_sandboxes(
    settings: Settings, workspaces: UserWorkspaceManager, metrics: Metrics, stack: AsyncExitStack
) -> Sandboxes | None:
    """The sandboxes the settings ask for; the stack ends them.

    Raises:
        Misconfigured: a wall that is asked for by name cannot be built here.
    """

    def workspace_of(user_id: str) -> Path:
        return workspaces.ensure_user_workspace(user_id)

    sandboxes = create_sandboxes(settings, workspace_of, metrics)
    if sandboxes is None:
        return None
    stack.push_async_callback(sandboxes.aclose)
    await require_wall(settings)
    metrics.watch("sandboxes_ready", "Sandboxes that wait for an owner.", lambda: sandboxes.ready)
    metrics.watch("sandboxes_bound", "Sandboxes in use.", lambda: sandboxes.bound)
    return sandboxes


class SandboxCleanup:
    """What a session that is deleted, put away or not used any more leaves running: nothing."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def delete_session(self, session_id: str, *, owner: str) -> int:
        """As `session.manager.Belongings`."""
        await self._sandboxes.release(owner, session_id)
        return 0

    def release_idle(self, session_id: str) -> None:
        """The session was not used for long: its sandbox ends soon."""
        self._sandboxes.release_soon(session_id)
