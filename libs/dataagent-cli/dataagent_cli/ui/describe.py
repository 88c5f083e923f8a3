"""Events in a few words: what both renderers say about a call, a result, a plan. Pure functions.

No colour and no layout here; `renderer.py` and `plain.py` put these words on a screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from rich.cells import cell_len, set_cell_size

from dataagent_cli.ui.clean import one_line, printable
from dataagent_core.events import ArtifactEvent, DoneEvent, FileOperationEvent

_VALUE_CELLS = 48
_ICONS = (  # the first whose word is part of the tool's name
    ("sql", "▤"),
    ("todo", "☰"),
    ("read", "▷"),
    ("write", "✎"),
    ("edit", "✎"),
    ("delete", "✗"),
    ("grep", "⌕"),
    ("glob", "⌕"),
    ("search", "⌕"),
    ("ls", "⌕"),
    ("fetch", "⇅"),
    ("http", "⇅"),
    ("shell", "❯"),
    ("execute", "❯"),
    ("python", "❯"),
    ("task", "⧉"),
    ("think", "✻"),
    ("chart", "▥"),
)
_TODO_MARKS = {"completed": "[x]", "in_progress": "[~]"}
_ARTIFACT_ICONS = {"table": "▤", "chart": "▥", "file": "▪"}


def shorten(text: str, cells: int) -> str:
    """One line of at most `cells` columns; wide characters count as two."""
    line = one_line(text)
    return line if cell_len(line) <= cells else set_cell_size(line, max(cells - 1, 0)) + "…"


def as_text(value: object) -> str:
    """A tool's value as text: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # an integer beyond 64 bits, a lone surrogate
        return str(value)


def short_args(args: Mapping[str, Any], cells: int = 72) -> str:
    """A call's arguments as `name=value, …`, shortened to fit a line."""
    parts = (f"{name}={shorten(as_text(value), _VALUE_CELLS)}" for name, value in args.items())
    return shorten(", ".join(parts), cells)


def full_args(args: Mapping[str, Any]) -> list[str]:
    """A call's arguments, one or more lines each, nothing left out: what a person approves."""
    lines: list[str] = []
    for name, value in args.items():
        first, *rest = printable(as_text(value)).split("\n")
        lines.append(f"{one_line(str(name))}: {first}")
        lines.extend(f"    {line}" for line in rest)
    return lines


def tool_icon(tool_name: str) -> str:
    """A one-column sign for a tool."""
    name = tool_name.lower()
    return next((icon for word, icon in _ICONS if word in name), "●")


def result_summary(result: object, cells: int = 72) -> str:
    """The first line of a result, and how many more there are."""
    lines = printable(as_text(result)).strip().split("\n")
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return shorten(lines[0], max(cells - len(more), 8)) + more


def todo_lines(todos: list[dict[str, Any]]) -> list[str]:
    """A plan, a line for each step."""
    marks = [_TODO_MARKS.get(str(todo.get("status")), "[ ]") for todo in todos]
    steps = [one_line(str(todo.get("content", ""))) for todo in todos]
    return [f"{mark} {step}" for mark, step in zip(marks, steps, strict=True)]


def file_operation_title(event: FileOperationEvent) -> str:
    """`edit notes.md (+3 −1)`; for a read, how many lines."""
    title = f"{event.operation} {one_line(event.file_path)}"
    if event.operation == "read":
        lines = event.metrics.get("lines_read", event.metrics.get("lines"))
        return title if lines is None else f"{title} ({lines} lines)"
    changed = changed_lines(event)
    return title if changed is None else f"{title} (+{changed[0]} −{changed[1]})"


def changed_lines(event: FileOperationEvent) -> tuple[int, int] | None:
    """Lines added and removed: as counted by the tool, else by the diff, else unknown."""
    counted = (event.metrics.get("lines_added"), event.metrics.get("lines_removed"))
    if counted[0] is not None and counted[1] is not None:
        return counted[0], counted[1]
    if "@@" not in (event.diff or ""):
        return None
    lines = [line for line in (event.diff or "").split("\n") if line[:3] not in ("+++", "---")]
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def artifact_title(event: ArtifactEvent) -> str:
    """`▤ table Sales by region /api/v1/artifacts/…`."""
    icon = _ARTIFACT_ICONS[event.kind]
    return f"{icon} {event.kind} {one_line(event.title)}  {one_line(event.url)}"


def done_line(event: DoneEvent, seconds: float | None = None) -> str:
    """How the run ended, its tokens and, when known, how long it took. May be empty."""
    parts: list[str] = []
    if event.reason != "completed":
        parts.append(_ENDINGS[event.reason])
    usage = event.token_usage or {}
    total = usage.get(
        "total_tokens", sum(usage.get(k, 0) for k in ("input_tokens", "output_tokens"))
    )
    if total:
        split = f"{usage.get('input_tokens', 0):,} in, {usage.get('output_tokens', 0):,} out"
        parts.append(f"{total:,} tokens ({split})")
    if seconds is not None:
        parts.append(f"{seconds:.1f} s")
    return " · ".join(parts)


_ENDINGS = {
    "user_cancelled": "cancelled",
    "rejected": "cancelled: a call was not approved",
    "timeout": "stopped: it took too long",
    "failed": "failed",
    "shutdown": "stopped: the program was shut down",
    "budget": "stopped: the budget is used up",
}
