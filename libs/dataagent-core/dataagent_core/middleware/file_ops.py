"""Tells what file tools did, as `file_operation` parts of the run's custom stream.

Wraps the calls of `read_file`, `write_file`, `edit_file` and `delete`: reads the text before, lets
the call run, reads the text after an edit, and writes one record. Other tools pass through
untouched. It changes nothing and never fails a call. List it after the approvals, so that it sees
the arguments that were approved. Above: `engine/`. Below: `tools/file_ops.py` computes, the backend
reads.

Notes and tells which files of a project commands and code have changed.

Wraps the calls of tools that run something in the project: looks at its files before and after, so
that the turn can be taken back, and reports each changed file as `FileOperationMiddleware` reports
a file tool's. Other tools pass through. List it after the approvals. Above: `engine/`. Below:
`workspace/undo.py` notes, `tools/file_ops.py` computes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from deepagents.backends.protocol import BackendProtocol, ReadResult
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage

from dataagent_core.events import FileOperation
from dataagent_core.identity import RunContext
from dataagent_core.middleware.approvals import Preview
from dataagent_core.middleware.calls import ToolHandler, ToolOutcome, runtime_of
from dataagent_core.tools.file_ops import (
    FILE_TOOLS,
    MAX_DIFFED_LINES,
    TOO_LARGE,
    FileOpRecord,
    FileOpTracker,
    diff_texts,
    planned_diff,
)
from dataagent_core.workspace import UserWorkspaceManager
from dataagent_core.workspace.undo import CodeChange, Undo

logger = logging.getLogger(__name__)

STREAM_KEY = "file_operation"


class FileOperationMiddleware(AgentMiddleware[Any, Any, Any]):
    """Emits `{"file_operation": {fields of FileOperationEvent}}` for each file call."""

    def __init__(self, backend: BackendProtocol) -> None:
        """Read texts through the backend the file tools use."""
        super().__init__()
        self._backend = backend

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolOutcome:
        """Run the call and report it if it was a file call."""
        call = request.tool_call
        if call["name"] not in FILE_TOOLS:
            return await handler(request)
        before = None if call["name"] == "read_file" else await _aread(self._backend, call)
        outcome = await handler(request)
        after = await _aread(self._backend, call) if call["name"] == "edit_file" else None
        _report(request, outcome, before, after)
        return outcome


def preview(backend: BackendProtocol) -> Preview:
    """Tells what a file call would change, by the files as they are now."""

    async def look(call: ToolCall) -> str | None:
        if FILE_TOOLS.get(call["name"], "read") == "read":
            return None
        before = await _aread(backend, call)
        if _is_too_large(before):
            return TOO_LARGE
        return planned_diff(call["name"], _path(call), call["args"], _text(before))

    return look


async def _aread(backend: BackendProtocol, call: ToolCall) -> ReadResult | None:
    try:
        return await backend.aread(_path(call), 0, MAX_DIFFED_LINES)
    except Exception:  # the tool itself says what is wrong
        logger.exception("could not read a file for its diff")
        return None


def _path(call: ToolCall) -> str:
    return str(call["args"].get("file_path") or call["args"].get("path") or "")


def _report(
    request: ToolCallRequest,
    outcome: ToolOutcome,
    before: ReadResult | None,
    after: ReadResult | None,
) -> None:
    call = request.tool_call
    message = _message(outcome, str(call["id"]))
    if message is None:
        return
    tracker = FileOpTracker()
    is_too_large = _is_too_large(before) or _is_too_large(after)
    tracker.start_operation(
        call["name"], call["args"], str(call["id"]), before=_text(before), is_too_large=is_too_large
    )
    record = tracker.complete_with_message(message, after=None if after is None else _text(after))
    if record is not None:
        runtime_of(request).stream_writer({STREAM_KEY: record.event_data()})


def _is_too_large(result: ReadResult | None) -> bool:
    return result is not None and result.next_offset is not None


def _text(result: ReadResult | None) -> str:
    """The text that was read; empty for a missing file or one that is not text."""
    if result is None or result.file_data is None or result.file_data["encoding"] != "utf-8":
        return ""
    return result.file_data["content"]


def _message(outcome: ToolOutcome, tool_call_id: str) -> ToolMessage | None:
    """The tool's message, also when it travels inside a state update."""
    if isinstance(outcome, ToolMessage):
        return outcome
    match outcome.update:
        case {"messages": [*messages]}:
            found: list[Any] = messages  # a Command's update has any shape
        case _:
            return None
    for message in found:
        if isinstance(message, ToolMessage) and message.tool_call_id == tool_call_id:
            return message
    return None


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
