"""Events in a few words, for every view: calls, results, plans, ends, usage and hints.

Nothing here draws. `ActivityTracker` and `Totals` follow the calls and the tokens of a
conversation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import orjson
from rich.cells import cell_len, set_cell_size

from dataagent_cli.ui.clean import escape_controls, one_line, printable
from dataagent_core.events import (
    ArtifactEvent,
    DoneEvent,
    FileOperationEvent,
    ToolCallEvent,
    ToolResultEvent,
)

if TYPE_CHECKING:
    from dataagent_core.config import Prices


_VALUE_CELLS = 48
_MOST_JSON = 64 * 1024
_NAMED_FIGURES = 5
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
    """A call's arguments as `name=value, …` on a line, without empty ones; a plan as its length."""
    match args:
        case {"todos": [*todos], **rest} if not rest:
            return count_text(len(todos), "step")
        case _:
            pass
    given = ((name, value) for name, value in args.items() if value not in (None, [], {}))
    parts = (f"{name}={shorten(as_text(value), _VALUE_CELLS)}" for name, value in given)
    return shorten(", ".join(parts), cells)


def full_args(args: Mapping[str, Any]) -> list[str]:
    """A call's arguments in full, one or more lines each, for an approval."""
    lines: list[str] = []
    for name, value in args.items():
        first, *rest = escape_controls(as_text(value)).split("\n")
        lines.append(f"{escape_controls(str(name))}: {first}")
        lines.extend(f"    {line}" for line in rest)
    return lines


def tool_icon(tool_name: str) -> str:
    """A one-column icon for a tool."""
    name = tool_name.lower()
    return next((icon for word, icon in _ICONS if word in name), "●")


def result_summary(result: object, cells: int = 72) -> str:
    """A tool's result in a few words; else its first line, and the number of further lines."""
    found = _data_result_summary(result) or _path_list_summary(result)
    if found is not None:
        return shorten(found, cells)
    lines = printable(as_text(result)).strip().split("\n")
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return shorten(lines[0], max(cells - len(more), 8)) + more


def _data_result_summary(result: object) -> str | None:
    """`12 rows · shop`: the JSON of our own data tools in words; None for anything else."""
    if not isinstance(result, str) or not result.startswith("{") or len(result) > _MOST_JSON:
        return None
    try:
        return _json_summary(orjson.loads(result))
    except orjson.JSONDecodeError:
        return None


def _path_list_summary(result: object) -> str | None:
    """`2 paths: /a.md, /data/`: the result of tools that list files; None for anything else."""
    if not isinstance(result, str) or not result.startswith("['") or len(result) > _MOST_JSON:
        return None
    try:
        found: object = ast.literal_eval(result)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    paths = [str(path) for path in cast("list[object]", found)]
    return f"{count_text(len(paths), 'path')}: {', '.join(paths)}"


def _json_summary(result: dict[str, Any]) -> str | None:  # Any: JSON
    source = f" · {result['source']}" if isinstance(result.get("source"), str) else ""
    match result:
        case {"error": {"message": str(message), "source": str(named)}}:
            return f"{named}: {message}"
        case {"error": {"message": str(message)}}:
            return message
        case {"row_count": int(count)}:
            return f"{count_text(count, 'row')}{source}"
        case {"kind": "chart", "mark": str(mark)}:
            return f"chart ({mark})"
        case {"source": str(), "tables": [*tables], **rest}:
            return f"{count_text(len(tables) + _omitted(rest), 'table')}{source}"
        case {"source": str(), "hits": [*hits], **rest}:
            return f"{count_text(len(hits) + _omitted(rest), 'hit')}{source}"
        case _:
            return None


def _omitted(result: dict[str, Any]) -> int:  # Any: JSON
    more: Any = result.get("omitted")
    return more if isinstance(more, int) else 0


def count_text(count: int, noun: str) -> str:
    """`1 row`, `1,234 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def has_own_event(tool_name: str) -> bool:
    """Whether a tool's work is shown by an event of its own, so that its result need not be."""
    return tool_name == "write_todos"


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
    count_text = (event.metrics.get("lines_added"), event.metrics.get("lines_removed"))
    if count_text[0] is not None and count_text[1] is not None:
        return count_text[0], count_text[1]
    return count_diff_lines(event.diff or "")


def hunks(diff: str) -> list[str]:
    """A diff without its file names; below them, `--- x` is a removed line `-- x`."""
    lines = diff.split("\n")
    return lines[next((at for at, line in enumerate(lines) if line.startswith("@@")), 0) :]


def is_complete_diff(diff: str) -> bool:
    """Whether the diff is whole: core puts a note in brackets for what it leaves out."""
    return not any(line.startswith("[") for line in diff.split("\n"))


def count_diff_lines(diff: str) -> tuple[int, int] | None:
    """Lines that a diff adds and removes; None if it is not whole."""
    lines = hunks(diff)
    if not is_complete_diff(diff) or not lines[0].startswith("@@"):
        return None
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def artifact_title(event: ArtifactEvent) -> str:
    """`▤ Sales by region`."""
    return f"{_ARTIFACT_ICONS[event.kind]} {one_line(event.title)}"


def end_text(event: DoneEvent) -> str:
    """How a run ended; empty if it completed."""
    return "" if event.reason == "completed" else _ENDINGS[event.reason]


def figures_verified(event: DoneEvent) -> str:
    """How many figures of the answer its run's results back; empty if none."""
    verified = _figures(event, "verified")
    return f"{count_text(len(verified), 'figure')} verified" if verified else ""


def figures_unbacked(event: DoneEvent) -> str:
    """The figures of the answer that no result backs; empty if there are none."""
    unbacked = [one_line(str(each.get("text", ""))) for each in _figures(event, "unbacked")]
    if not unbacked:
        return ""
    more = len(unbacked) - _NAMED_FIGURES
    named = ", ".join(unbacked[:_NAMED_FIGURES]) + (f" and {more} more" if more > 0 else "")
    return f"! {count_text(len(unbacked), 'figure')} not found in the data: {named}"


def figures_unchecked(event: DoneEvent) -> str:
    """That not all figures of the answer could be checked; empty if they were."""
    match event.metadata:
        case {"figures": {**figures}}:
            return unchecked_text(figures)
        case _:
            return ""


def unchecked_text(figures: Mapping[str, Any]) -> str:  # Any: JSON
    """A note on figures that could not be checked; empty if all were."""
    match figures:
        case {"unchecked": int(count)} if count > 0:
            return f"! {count_text(count, 'figure')} could not be checked"
        case {"is_complete": False}:
            return "! not all figures could be checked"
        case _:
            return ""


def _figures(event: DoneEvent, kind: str) -> list[dict[str, Any]]:  # Any: JSON
    match event.metadata:
        case {"figures": {**figures}}:
            found: Any = figures.get(kind)
            return [each for each in found or () if isinstance(each, dict)]
        case _:
            return []


_ENDINGS = {
    "user_cancelled": "cancelled",
    "rejected": "cancelled: a call was not approved",
    "timeout": "stopped: it took too long",
    "failed": "failed",
    "shutdown": "stopped: the program was shut down",
    "budget": "stopped: the budget is used up",
}


_THINKING = "thinking"
_INDENT = "  "
_ARGUMENT_CELLS = 40


@dataclass(slots=True)
class _Call:
    title: str
    since: float
    indent: str


class ActivityTracker:
    """What runs now and since when, for the spinner; waiting for approvals does not count."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: dict[str, _Call] = {}
        self._saying = _THINKING
        self._since = clock()
        self._paused_at: float | None = None

    @property
    def now(self) -> tuple[str, float]:
        """The oldest running call, else the last activity, and its start."""
        for call in self._calls.values():
            return call.title, call.since
        return self._saying, self._since

    def begin(self) -> None:
        """A turn starts."""
        self._calls = {}
        self._paused_at = None
        self._set_activity(_THINKING)

    def say(self, what: str) -> None:
        """Set the activity besides calls."""
        if what != self._saying:
            self._set_activity(what)

    def call(self, event: ToolCallEvent) -> str:
        """Start a call; return the indent of its lines, which a sub-agent's have."""
        indent = "" if event.subagent is None else _INDENT
        first = dict(list(event.tool_args.items())[:1])
        argument = short_args(first, _ARGUMENT_CELLS).partition("=")[2]
        title = f"{one_line(event.tool_name)} {argument}".strip()
        self._calls[event.tool_call_id] = _Call(title, self._clock(), indent)
        return indent

    def end(self, event: ToolResultEvent) -> str:
        """End a call; return the indent of its lines."""
        call = self._calls.pop(event.tool_call_id, None)
        self._set_activity(_THINKING)
        return "" if call is None else call.indent

    def pause(self) -> None:
        """Stop the clock."""
        if self._paused_at is None:
            self._paused_at = self._clock()

    def resume(self) -> None:
        """Start the clock again."""
        if self._paused_at is None:
            return
        waited, self._paused_at = self._clock() - self._paused_at, None
        self._since += waited
        for call in self._calls.values():
            call.since += waited

    def _set_activity(self, what: str) -> None:
        self._saying, self._since = what, self._clock()


class Totals:
    """Adds up the tokens of the runs, and their cost if prices are set."""

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices
        self._runs = 0
        self._tokens = 0
        self._cost = 0.0

    def after(self, done: DoneEvent, seconds: float | None = None) -> str:
        """`1,234 tokens · $0.0123 · 3.2 s`; from the second run on with the sum of all."""
        usage = done.token_usage or {}
        tokens = tokens_of(usage)
        cost = 0.0 if self._prices is None else self._prices.cost_of(usage)
        self._runs += bool(tokens)
        self._tokens += tokens
        self._cost += cost
        parts = self._amounts(tokens, cost)
        if seconds is not None:
            parts.append(f"{seconds:.1f} s")
        if tokens and self._runs > 1:
            parts.append(f"session: {self._amounts(self._tokens, self._cost)[-1]}")
        return " · ".join(parts)

    def _amounts(self, tokens: int, cost: float) -> list[str]:
        if not tokens:
            return []
        priced = [] if self._prices is None else [self._prices.shown(cost)]
        return [f"{tokens:,} tokens", *priced]


def tokens_of(usage: dict[str, int]) -> int:
    """All tokens of a run."""
    split = sum(usage.get(name, 0) for name in ("input_tokens", "output_tokens"))
    return usage.get("total_tokens", split)


_HINTS = {
    "model_unavailable": "check the network, or choose another model with --model.",
    "model_refused": "check the provider's key and the model's name (--model NAME).",
    "misconfigured": "dataagent init chooses the model; dataagent doctor checks the setup.",
    "session_busy": "wait for the other answer, or leave out --resume to start a new conversation.",
    "session_not_found": "leave out --resume to start a new conversation.",
    "agent_not_found": "leave out --agent to ask the default agent.",
    "storage_unavailable": "check DATAAGENT_DATABASE_URL, or choose a data directory with --home.",
    "source_not_found": "dataagent sources lists them.",
    "source_unavailable": "check the source's address and that it answers.",
    "unknown_name": "dataagent schema shows the tables and columns.",
    "query_timed_out": "ask for less, or raise the source's time limit.",
    "artifact_not_found": "dataagent export last takes the newest result.",
    "quota_exceeded": "delete files of the workspace, or raise DATAAGENT_WORKSPACE_QUOTA.",
}


def hint_for(error_code: str, *, is_recoverable: bool) -> str | None:
    """What to try next; None if there is nothing to add to the message."""
    known = _HINTS.get(error_code)
    if is_recoverable:
        return f"{known} Then ask again." if known else "this may be temporary: ask again."
    return known
