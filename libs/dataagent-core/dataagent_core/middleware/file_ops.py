"""Reports the files that a call read or changed, as `file_operation` parts of the custom stream.

`FileOperations` does so for the file tools and `CodeChanges` for tools that run something in a
project, where it also stores what a turn's undo needs. Neither ever fails a call.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from deepagents.backends.protocol import BackendProtocol, ReadResult
from langchain_core.messages import ToolCall, ToolMessage

from dataagent_core.events import FileOperation
from dataagent_core.identity import RunContext
from dataagent_core.middleware.approvals import Preview
from dataagent_core.middleware.calls import ToolOutcome
from dataagent_core.middleware.observers import ObservedCall
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


class FileOperations:
    """Emits `{"file_operation": {fields of FileOperationEvent}}` for each call of a file tool."""

    def __init__(self, backend: BackendProtocol) -> None:
        """Read texts through the backend the file tools use."""
        self._backend = backend

    @asynccontextmanager
    async def observe(self, call: ObservedCall) -> AsyncGenerator[None]:
        """Compare the file before and after the call."""
        name, made = call.name, call.request.tool_call
        if name not in FILE_TOOLS:
            yield
            return
        before = None if name == "read_file" else await _aread(self._backend, made)
        yield
        after = await _aread(self._backend, made) if name == "edit_file" else None
        _report(call, before, after)

    def refused(self, call: ObservedCall) -> None:
        """A refused call changed nothing."""


def preview(backend: BackendProtocol) -> Preview:
    """Shows the change that a file call would make to the files as they are now."""

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


def _report(call: ObservedCall, before: ReadResult | None, after: ReadResult | None) -> None:
    made = call.request.tool_call
    message = _message(call.outcome, str(made["id"]))
    if message is None:
        return
    tracker = FileOpTracker()
    is_too_large = _is_too_large(before) or _is_too_large(after)
    tracker.start_operation(
        made["name"], made["args"], str(made["id"]), before=_text(before), is_too_large=is_too_large
    )
    record = tracker.complete_with_message(message, after=None if after is None else _text(after))
    if record is not None:
        call.emit({STREAM_KEY: record.event_data()})


def _is_too_large(result: ReadResult | None) -> bool:
    return result is not None and result.next_offset is not None


def _text(result: ReadResult | None) -> str:
    """The text that was read; empty for a missing file or one that is not text."""
    if result is None or result.file_data is None or result.file_data["encoding"] != "utf-8":
        return ""
    return result.file_data["content"]


def _message(outcome: ToolOutcome | None, tool_call_id: str) -> ToolMessage | None:
    """The tool's message, also when it travels inside a state update."""
    if outcome is None or isinstance(outcome, ToolMessage):
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
"""Tools that run something in the project, and the text a person reads about them."""

_MAX_REPORTED: Final = 20
_MAX_DIFFED: Final = 200_000
_OPERATIONS: Final[Mapping[str, FileOperation]] = {
    "created": "write",
    "changed": "edit",
    "deleted": "delete",
}


class CodeChanges:
    """Emits a `file_operation` for each file that code changed, up to a number."""

    def __init__(self, undo: Undo, workspaces: UserWorkspaceManager) -> None:
        self._undo = undo
        self._workspaces = workspaces

    @asynccontextmanager
    async def observe(self, call: ObservedCall) -> AsyncGenerator[None]:
        """Compare the project's files before and after the call."""
        run = call.run
        if call.name not in CODE_TOOLS or run is None:
            yield
            return
        async with self._undo.record_changes(run.session_id, run.run_id) as changes:
            yield
        for change in changes[:_MAX_REPORTED]:
            record = await self._record(call, change, run)
            call.emit({STREAM_KEY: record.event_data()})

    def refused(self, call: ObservedCall) -> None:
        """A refused call changed nothing."""

    async def _record(
        self, call: ObservedCall, change: CodeChange, run: RunContext
    ) -> FileOpRecord:
        files = await self._workspaces.open_workspace(run.user_id)
        size = await files.size(change.path)
        [now] = await files.adownload_files([change.path]) if size <= _MAX_DIFFED else [None]
        after = b"" if change.kind == "deleted" else now and now.content
        work = partial(_diff, f"/{change.path}", change.before, after)
        metrics, diff = await self._workspaces.workers.run(work)
        operation = _OPERATIONS[change.kind]
        call_id = str(call.request.tool_call["id"])
        return FileOpRecord(
            call.name, call_id, operation, f"/{change.path}", "success", metrics, diff
        )


def _diff(
    path: str, before: bytes | None, after: bytes | None
) -> tuple[dict[str, int], str | None]:
    """Metrics and diff of a text; empty for anything else."""
    if before is None or after is None or max(len(before), len(after)) > _MAX_DIFFED:
        return {}, "[diff left out: the file is too large]"
    if b"\0" in before or b"\0" in after:
        return {}, None
    return diff_texts(path, before.decode(errors="replace"), after.decode(errors="replace"))
