"""A turn as blocks that a page draws one after another, without Streamlit.

An artefact's event has the first rows of a table; the server has the rest. Each column has one kind
of value, as a page needs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from dataagent_client import ArtifactEvent, DoneEvent, ErrorEvent, FileOperationEvent, Rows
from dataagent_server_demo.conversation import (
    ApprovalPart,
    Part,
    PlanPart,
    TextPart,
    ThinkingPart,
    ToolPart,
    Turn,
)
from dataagent_server_demo.page_text import escape_markdown, sanitize_markdown

MOST_ROWS = 1_000
Columns = dict[str, list[Any]]  # Any: cells are JSON values


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table: the first rows of its event, its statement and its source."""

    artifact_id: str
    title: str
    first: Rows
    row_count: int | None
    sql: str | None
    source: str | None
    truncated: str | None = None  # why the source has more rows than were read
    other_columns: int = 0  # that the first rows lack

    def caption(self, shown: int) -> str:
        """How many rows are shown, the source, and whether it has more."""
        count = self.row_count
        is_cut = count is not None and count > shown
        rows = f"前 {shown:,} 行，共 {count:,} 行" if is_cut else f"{shown:,} 行"
        return " · ".join(part for part in (rows, self.source, self.truncated) if part)

    @property
    def only_first(self) -> str:
        """What is missing where only the first rows are shown."""
        return f" · 另有 {self.other_columns:,} 列" if self.other_columns else ""


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A file that the run made."""

    file_id: str
    title: str
    size: int | None

    @property
    def text(self) -> str:
        """The file in a line."""
        return self.title if self.size is None else f"{self.title} · {_bytes(self.size)}"


def artifact_block(event: ArtifactEvent) -> TableBlock | FileBlock:
    """A table or a file as an answer shows it."""
    preview = _object(event.preview)
    if event.kind == "file":
        size = preview.get("size")
        return FileBlock(event.artifact_id, event.title, size if isinstance(size, int) else None)
    receipt = _object(preview.get("receipt"))
    count = preview.get("row_count")
    others = _object(preview.get("other_columns")).get("count")
    return TableBlock(
        event.artifact_id,
        event.title,
        _first_rows(preview),
        count if isinstance(count, int) else None,
        _text(receipt.get("sql_executed") or receipt.get("sql")),
        _text(receipt.get("source")),
        _text(preview.get("truncated")),
        others if isinstance(others, int) else 0,
    )


def columns_of(rows: Rows) -> Columns:
    """The rows by column. Where kinds of values are mixed, all are text."""
    cells = list(zip(*rows.rows, strict=True)) or [()] * len(rows.columns)
    return {name: _of_one_kind(column) for name, column in zip(rows.columns, cells, strict=False)}


def _of_one_kind(cells: Sequence[Any]) -> list[Any]:
    kinds: set[type] = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} or kinds in ({str}, {bool}):
        return list(cells)
    return [None if cell is None else _cell_text(cell) for cell in cells]


def _cell_text(cell: Any) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)


def _first_rows(preview: dict[str, Any]) -> Rows:
    """The rows of the event that are whole."""
    described: list[Any] = preview.get("columns") or []
    names = tuple(str(_object(each).get("name")) for each in described)
    rows: list[list[Any]] = preview.get("rows") or []
    return Rows(names, [row for row in rows if len(row) == len(names)])


def _object(value: Any) -> dict[str, Any]:
    # JSON
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _bytes(size: int) -> str:
    for unit, least in (("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} 字节"


_LONGEST = 4_000
_TOOL_ICONS = {
    "running": ":material/hourglass_top:",
    "success": ":material/check_circle:",
    "error": ":material/error:",
    "timeout": ":material/timer_off:",
    "denied": ":material/block:",
}
_STATES = {
    "running": "运行中",
    "success": "完成",
    "error": "失败",
    "timeout": "超时",
    "denied": "不允许",
}
_OPERATIONS = {"read": "读取", "write": "写入", "edit": "修改", "delete": "删除"}
_METRICS = {
    "lines_added": "新增行",
    "lines_removed": "删除行",
    "lines_read": "读取行",
    "lines_written": "写入行",
    "bytes_written": "写入字节",
    "lines_before": "原有行",
    "lines_after": "现有行",
}
_PLAN_ICONS = {"completed": ":material/check_box:", "in_progress": ":material/play_arrow:"}
_NOT_BEGUN = ":material/check_box_outline_blank:"
_ENDS = {
    "user_cancelled": "已停止。",
    "rejected": "已停止：调用被拒绝。",
    "timeout": "已停止：用时过长。",
    "shutdown": "已停止：服务器已关闭。",
    "budget": "已停止：预算已用完。",
    "failed": "回答失败。",
}


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """Sanitized Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Text as it is, in a box."""

    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class ExpanderBlock:
    """A box to open, with a label."""

    label: str
    inside: tuple[MarkdownBlock | CodeBlock, ...]


@dataclass(frozen=True, slots=True)
class CaptionBlock:
    """A small line."""

    text: str


@dataclass(frozen=True, slots=True)
class AlertBlock:
    """A warning or an error."""

    text: str
    level: Literal["warning", "error"] = "error"


@dataclass(frozen=True, slots=True)
class ChartBlock:
    """A chart; its content is fetched from the server."""

    artifact_id: str
    title: str


@dataclass(frozen=True, slots=True)
class ApprovalBlock:
    """A call that waits for a decision."""

    request: ApprovalPart


Block = (
    MarkdownBlock
    | ExpanderBlock
    | CaptionBlock
    | AlertBlock
    | TableBlock
    | ChartBlock
    | FileBlock
    | ApprovalBlock
)


def blocks_of(turn: Turn) -> list[Block]:
    """The blocks of a turn's answer, in order."""
    shown = [_block(part, is_live=turn.is_running) for part in turn.parts]
    if turn.end is not None:
        shown += _end(turn.end)
    elif not turn.is_running and not turn.parts:
        shown.append(CaptionBlock("没有保存的回答。"))
    return shown


def _block(part: Part, *, is_live: bool) -> Block:
    match part:
        case TextPart(content, agent):
            if agent is None:
                return MarkdownBlock(sanitize_markdown(content))
            return _expander(f":material/forum: {escape_markdown(agent)} 的回答", content)
        case ThinkingPart(content):
            return _expander(":material/psychology: 思考", content)
        case PlanPart(todos):
            return ExpanderBlock(":material/checklist: 计划", (MarkdownBlock(_plan(todos)),))
        case ToolPart():
            return tool_block(part)
        case ApprovalPart():
            return _approval(part, is_live=is_live)
        case FileOperationEvent():
            return _file_operation(part)
        case ArtifactEvent():
            is_chart = part.kind == "chart"
            return ChartBlock(part.artifact_id, part.title) if is_chart else artifact_block(part)
        case ErrorEvent():
            hint = " 这可能是暂时的，请稍后重试。" if part.recoverable else ""
            return AlertBlock(f"{escape_markdown(part.error)}{hint}")
        case _:
            assert_never(part)


def _expander(label: str, content: str) -> ExpanderBlock:
    return ExpanderBlock(label, (MarkdownBlock(sanitize_markdown(content)),))


def tool_block(part: ToolPart) -> ExpanderBlock:
    """A call: its name and state as label, arguments and result inside."""
    inside = [CodeBlock(_json(part.args), "json")]
    if part.state != "running" and part.result is not None:
        is_text = isinstance(part.result, str)
        inside.append(
            CodeBlock(_cut(part.result)) if is_text else CodeBlock(_json(part.result), "json")
        )
    return ExpanderBlock(
        f"{_TOOL_ICONS[part.state]} {escape_markdown(part.name)} · {_STATES[part.state]}",
        tuple(inside),
    )


def _approval(part: ApprovalPart, *, is_live: bool) -> Block:
    if part.is_open and is_live:
        return ApprovalBlock(part)
    return CaptionBlock(f":material/lock: {escape_markdown(part.action.name)} 曾等待决定。")


def _plan(todos: Iterable[dict[str, Any]]) -> str:
    lines = (
        f"- {_PLAN_ICONS.get(str(todo.get('status')), _NOT_BEGUN)} "
        f"{sanitize_markdown(str(todo.get('content')))}"
        for todo in todos
    )
    return "\n".join(lines)


def _file_operation(event: FileOperationEvent) -> Block:
    metrics = "，".join(
        f"{_METRICS.get(name) or escape_markdown(name)} {number}"
        for name, number in event.metrics.items()
    )
    operation = _OPERATIONS[event.operation]
    label = f":material/description: {operation} {escape_markdown(event.file_path)}" + (
        f"（{metrics}）" if metrics else ""
    )
    if event.status != "success":
        label += f" · {_STATES[event.status]}"
    return (
        ExpanderBlock(label, (CodeBlock(_cut(event.diff), "diff"),))
        if event.diff
        else CaptionBlock(label)
    )


def _end(done: DoneEvent) -> list[Block]:
    ended: list[Block] = []
    if done.reason != "completed":
        ended.append(CaptionBlock(f":material/stop_circle: {_ENDS.get(done.reason, done.reason)}"))
    figures = (done.metadata or {}).get("figures")
    unbacked = _unbacked(figures)
    if unbacked:
        ended.append(AlertBlock(f"没有数据依据：{'，'.join(unbacked)}", "warning"))
    match figures:
        case {"is_complete": False}:
            ended.append(AlertBlock("部分数字未能核实。", "warning"))
        case _:
            pass
    return ended


def _unbacked(figures: Any) -> list[str]:  # JSON of the server
    """The figures of the answer that no result backs."""
    match figures:
        case {"unbacked": list()}:
            listed: list[Any] = figures["unbacked"]
            return [escape_markdown(str(each["text"])) for each in listed]
        case _:
            return []


def _json(value: Any) -> str:  # whatever a tool takes or gives
    return _cut(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= _LONGEST
        else f"{text[:_LONGEST]}\n… 还有 {len(text) - _LONGEST} 个字符"
    )
