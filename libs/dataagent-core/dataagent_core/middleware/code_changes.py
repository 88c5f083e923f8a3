"""Notes and tells which files of a project commands and code have changed.

Wraps the calls of tools that run something in the project: looks at its files before and after, so
that the turn can be taken back, and reports each changed file as `FileOperationMiddleware` reports
a file tool's. Other tools pass through. List it after the approvals. Above: `engine/`. Below:
`workspace/undo.py` notes, `tools/file_ops.py` computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest

from dataagent_core.events import FileOperation
from dataagent_core.identity import RunContext
from dataagent_core.middleware.calls import ToolHandler, ToolOutcome, runtime_of
from dataagent_core.middleware.file_ops import STREAM_KEY
from dataagent_core.tools.file_ops import FileOpRecord, diff_texts
from dataagent_core.workspace import UserWorkspaceManager
from dataagent_core.workspace.undo import CodeChange, Undo

CODE_TOOLS: Final[Mapping[str, str]] = {
    "execute": "Run a command in the project; it may change files there.",
    "execute_python": "Run Python in the project; it may change files there.",
    "execute_python_with_file": "Run Python in the project; it may change files there.",
    "shell": "Run a shell command.",
}
"""Tools that run something in the project, and what a person reads about them."""

_MAX_REPORTED: Final = 20
_MAX_DIFFED: Final = 200_000
_OPERATIONS: Final[Mapping[str, FileOperation]] = {
    "created": "write",
    "changed": "edit",
    "deleted": "delete",
}


class CodeChangesMiddleware(AgentMiddleware[Any, Any, Any]):
    """Emits a `file_operation` for each file that code changed, up to a number."""

    def __init__(self, undo: Undo, workspaces: UserWorkspaceManager) -> None:
        super().__init__()
        self._undo = undo
        self._workspaces = workspaces

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Run the call and report what it changed."""
        name, context = request.tool_call["name"], runtime_of(request).context
        if name not in CODE_TOOLS or not isinstance(context, RunContext):
            return await handler(request)
        async with self._undo.record_changes(context.session_id, context.run_id) as changes:
            outcome = await handler(request)
        for change in changes[:_MAX_REPORTED]:
            record = await self._record(name, str(request.tool_call["id"]), change, context)
            runtime_of(request).stream_writer({STREAM_KEY: record.event_data()})
        return outcome

    async def _record(
        self, tool: str, tool_call_id: str, change: CodeChange, context: RunContext
    ) -> FileOpRecord:
        files = await self._workspaces.open_workspace(context.user_id)
        size = await files.size(change.path)
        [now] = await files.adownload_files([change.path]) if size <= _MAX_DIFFED else [None]
        after = b"" if change.kind == "deleted" else now and now.content
        work = partial(_diff, f"/{change.path}", change.before, after)
        metrics, diff = await self._workspaces.workers.run(work)
        operation = _OPERATIONS[change.kind]
        return FileOpRecord(
            tool, tool_call_id, operation, f"/{change.path}", "success", metrics, diff
        )


def _diff(
    path: str, before: bytes | None, after: bytes | None
) -> tuple[dict[str, int], str | None]:
    """What changed in a text; of anything else nothing is told."""
    if before is None or after is None or max(len(before), len(after)) > _MAX_DIFFED:
        return {}, "[diff left out: the file is too large]"
    if b"\0" in before or b"\0" in after:
        return {}, None
    return diff_texts(path, before.decode(errors="replace"), after.decode(errors="replace"))
