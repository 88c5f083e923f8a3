"""Computes the diff and the metrics of a file tool's call, from texts alone.

`FileOpTracker` pairs the start of a call with its result. It does no I/O: its caller
(`middleware/file_ops.py`) passes the text before and after.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import ToolMessage

from dataagent_core.events import FileOperation, ToolStatus

FILE_TOOLS: Mapping[str, FileOperation] = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "delete": "delete",
}
MAX_DIFFED_LINES = 2_000
TOO_LARGE = "[diff left out: the file is too large]"
_MAX_DIFF_CHARS = 50_000
_READ_HEADER = re.compile(r"^@@ lines (\d+)-(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileOpRecord:
    """One finished file operation."""

    tool_name: str
    tool_call_id: str
    operation: FileOperation
    file_path: str
    status: ToolStatus
    metrics: dict[str, int] = field(default_factory=dict[str, int])
    diff: str | None = None

    def event_data(self) -> dict[str, Any]:
        """The fields of a `FileOperationEvent`."""
        return {
            "operation": self.operation,
            "file_path": self.file_path,
            "metrics": self.metrics,
            "diff": self.diff,
            "status": self.status,
        }


@dataclass(frozen=True, slots=True)
class _Started:
    tool_name: str
    file_path: str
    args: Mapping[str, Any]
    before: str
    is_too_large: bool


class FileOpTracker:
    """The file calls that are under way."""

    def __init__(self) -> None:
        self._started: dict[str, _Started] = {}

    def start_operation(
        self,
        tool_name: str,
        args: Mapping[str, Any],
        tool_call_id: str,
        *,
        before: str = "",
        is_too_large: bool = False,
    ) -> None:
        """Note a call; tools that are not file tools are ignored.

        `before` is the file's text, empty for a new file; a file that is too large to compare is
        marked as such instead, and its record has a note in place of a diff.
        """
        path = args.get("file_path") or args.get("path")
        if tool_name in FILE_TOOLS and isinstance(path, str):
            self._started[tool_call_id] = _Started(tool_name, path, args, before, is_too_large)

    def complete_with_message(
        self, message: ToolMessage, *, after: str | None = None
    ) -> FileOpRecord | None:
        """The record of the call this message answers, or None if it was not noted.

        Without `after`, a write's own content is taken, and an edit is applied to `before`.
        """
        started = self._started.pop(message.tool_call_id, None)
        if started is None:
            return None
        operation = FILE_TOOLS[started.tool_name]
        has_failed = message.status == "error"
        metrics, diff = ({}, None) if has_failed else _outcome(operation, started, message, after)
        return FileOpRecord(
            tool_name=started.tool_name,
            tool_call_id=message.tool_call_id,
            operation=operation,
            file_path=started.file_path,
            status="error" if has_failed else "success",
            metrics=metrics,
            diff=diff,
        )


def _outcome(
    operation: FileOperation, started: _Started, message: ToolMessage, after: str | None
) -> tuple[dict[str, int], str | None]:
    if operation == "read":
        return {"lines_read": _lines_read(message)}, None
    if started.is_too_large:
        return {}, TOO_LARGE
    if after is None:
        after = _text_after(operation, started.args, started.before)
    metrics, diff = diff_texts(started.file_path, started.before, after)
    if operation != "delete":
        metrics |= {"lines_written": len(after.splitlines()), "bytes_written": len(after.encode())}
    return metrics, diff


def planned_diff(tool_name: str, path: str, args: Mapping[str, Any], before: str) -> str | None:
    """The diff of a call on a file with this text; None for no change, or another tool."""
    operation = FILE_TOOLS.get(tool_name)
    if operation is None or operation == "read":
        return None
    return diff_texts(path, before, _text_after(operation, args, before))[1]


def _text_after(operation: FileOperation, args: Mapping[str, Any], before: str) -> str:
    if operation == "write":
        return str(args.get("content", ""))
    if operation == "edit":
        old, new = str(args.get("old_string", "")), str(args.get("new_string", ""))
        count = -1 if args.get("replace_all") else 1
        return before.replace(old, new, count) if old else before
    return ""


def _lines_read(message: ToolMessage) -> int:
    """Lines the model was given: as the tool's header says, else as counted."""
    if not isinstance(message.content, str):
        return 0
    header = _READ_HEADER.search(message.content)
    if header:
        return int(header[2]) - int(header[1]) + 1
    return len(message.content.splitlines())


def diff_texts(path: str, before: str, after: str) -> tuple[dict[str, int], str | None]:
    """Lines added and removed, and a unified diff; a note stands for a diff that is too long."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) > MAX_DIFFED_LINES or len(new) > MAX_DIFFED_LINES:
        note = f"[diff left out: {len(old)} lines before, {len(new)} after]"
        return {"lines_before": len(old), "lines_after": len(new)}, note
    lines = list(difflib.unified_diff(old, new, f"a{path}", f"b{path}", lineterm=""))
    body = lines[2:]
    metrics = {
        "lines_added": sum(line.startswith("+") for line in body),
        "lines_removed": sum(line.startswith("-") for line in body),
    }
    return metrics, _capped("\n".join(lines))


def _capped(diff: str) -> str | None:
    if len(diff) <= _MAX_DIFF_CHARS:
        return diff or None
    return f"{diff[:_MAX_DIFF_CHARS]}\n[diff cut: {len(diff) - _MAX_DIFF_CHARS} more characters]"
