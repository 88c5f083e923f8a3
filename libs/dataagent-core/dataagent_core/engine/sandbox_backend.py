"""The workspace of the run's user, with commands that run in the conversation's sandbox.

File tools act on the workspace itself, with its quota and its approvals; `execute` runs where
`execute_python` does, and sees the same files below `/workspace`. Above: `factory.py`. Below:
`workspace/`, `sandbox/`.
"""

from __future__ import annotations

from dataclasses import replace

from deepagents.backends.protocol import ExecuteResponse, SandboxBackendProtocol

from dataagent_core.errors import Misconfigured
from dataagent_core.sandbox import Sandboxes
from dataagent_core.tools.python_report import unkept_note
from dataagent_core.workspace import UserWorkspaceManager, WorkspaceBackend, run_context


class SandboxedWorkspace(WorkspaceBackend, SandboxBackendProtocol):
    """A backend that can execute."""

    def __init__(self, manager: UserWorkspaceManager, sandboxes: Sandboxes) -> None:
        super().__init__(manager)
        self._sandboxes = sandboxes

    @property
    def id(self) -> str:
        """One backend object stands for everybody's sandbox."""
        return "sandbox"

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """As `SandboxBackendProtocol.aexecute`, in the sandbox of the run's conversation."""
        context = run_context()
        session = await self._sandboxes.session(
            context.user_id, context.session_id, sandbox_id=context.sandbox_id
        )
        response = await session.aexecute(command, timeout=timeout)
        uncommitted = unkept_note(session.uncommitted)
        return (
            replace(response, output=f"{response.output}\n{uncommitted}")
            if uncommitted
            else response
        )

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """There is no blocking way: the sandbox lives on the event loop."""
        raise Misconfigured("Commands run asynchronously; call the agent with ainvoke.")
