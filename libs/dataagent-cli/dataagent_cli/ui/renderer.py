"""A run on a terminal, drawn with Rich: Markdown as it grows, calls, diffs, plans, errors.

The answer goes to `out`, everything else to `err`, which may be the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.text import Text

from dataagent_cli.ui import describe
from dataagent_cli.ui.clean import one_line, printable
from dataagent_cli.ui.describe import ActivityTracker, Totals, hint_for
from dataagent_cli.ui.live import LiveArea
from dataagent_cli.ui.markdown import AnswerMarkdown, BlockSplitter
from dataagent_cli.ui.tables import table_text
from dataagent_cli.ui.views import EventRenderer
from dataagent_core.events import (
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
)

if TYPE_CHECKING:
    from dataagent_core.config import Prices

_DIFF_LINES = 40
_SIDE_LINES = 4
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_RESULT_SIGNS = {"success": "", "error": "✗ ", "timeout": "✗ timed out: ", "denied": "✗ denied: "}


class TerminalRenderer(EventRenderer):
    """Draws the events of one run after another."""

    def __init__(
        self,
        out: Console | None = None,
        err: Console | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        is_animated: bool = True,
        reflows: bool = True,
        prices: Prices | None = None,
        export: str | None = "dataagent export",
    ) -> None:
        """Without `out` it draws on standard output; without `err` everything goes to `out`.

        `reflows` is whether the terminal rewraps long lines when it gets narrower. `prices` add
        the cost of a run; `export` is the command named below a cut table.
        """
        out = out or Console(highlight=False)
        self._err = err or out
        self._clock = clock
        self._live = LiveArea(out, clock=clock, is_animated=is_animated, reflows=reflows)
        self._work = ActivityTracker(clock)
        self._totals = Totals(prices)
        self._export = export
        self._blocks = BlockSplitter()
        self._aside: list[str] = []  # text of a sub-agent or reasoning, until it ends
        self._aside_title = ""
        self._started = clock()

    def begin(self) -> None:
        """A turn starts: the spinner turns until the first event."""
        self._started = self._clock()
        self._work.begin()
        self._spin()

    def pause(self) -> None:
        """Print what is unfinished and remove the spinner, before a question is asked."""
        self._finish()
        self._work.pause()

    def resume(self) -> None:
        """Show the spinner again; the time of the question does not count."""
        self._work.resume()
        self._spin()

    # -- text -------------------------------------------------------------------------------

    def render_text(self, event: TextEvent) -> None:
        """Markdown: finished blocks are printed, the unfinished one is redrawn below them."""
        if event.subagent is not None:
            self._add_aside(f"{event.subagent} says", event.content)
            return
        self._end_aside()
        for block in self._blocks.feed(event.content):
            self._print_block(block)
        if event.is_final:
            self._print_block(self._blocks.flush())
        self._work.say("writing")
        self._spin(tail=self._blocks.tail)

    def render_thinking(self, event: ThinkingEvent) -> None:
        """Reasoning: the spinner while it lasts, its first lines afterwards."""
        self._add_aside("thought", event.content)

    # -- work -------------------------------------------------------------------------------

    def render_tool_call(self, event: ToolCallEvent) -> None:
        """`▤ sql_db_query  query=SELECT …`, and whose call it is when a sub-agent makes it."""
        self._finish()
        line = Text(f"{self._work.call(event)}{describe.tool_icon(event.tool_name)} ", style="cyan")
        line.append(one_line(event.tool_name), style="bold")
        if event.subagent is not None:
            line.append(f" [{one_line(event.subagent)}]", style="dim")
        room = max(self._err.width - line.cell_len - 2, 16)
        line.append(f"  {describe.short_args(event.tool_args, room)}", style="dim")
        self._err.print(line)
        self._spin()

    def render_tool_result(self, event: ToolResultEvent) -> None:
        """The first line of the result below its call; a failure says which kind."""
        self._finish()
        start = f"{self._work.end(event)}  └ {_RESULT_SIGNS[event.status]}"
        if event.status == "success" and describe.has_own_event(event.tool_name):
            self._spin()
            return
        summary = describe.result_summary(event.result, max(self._err.width - len(start) - 2, 16))
        style = "dim" if event.status == "success" else "red"
        self._err.print(Text(f"{start}{summary}", style=style))
        self._spin()

    def render_hitl_request(self, event: HITLRequestEvent) -> None:
        """One line; the question itself follows from `hitl/terminal.py`."""
        self._finish()
        self._err.print(Text(f"? {one_line(event.action.name)} needs approval", style="yellow"))

    def render_todo_update(self, event: TodoUpdateEvent) -> None:
        """The plan, a line for each step."""
        self._finish()
        for line in describe.todo_lines(event.todos):
            self._err.print(Text(f"  {line}", style="bold" if line.startswith("[~]") else ""))
        self._spin()

    def render_file_operation(self, event: FileOperationEvent) -> None:
        """The operation, the file, its changed lines, and the diff."""
        self._finish()
        failed = "" if event.status == "success" else f" {_RESULT_SIGNS[event.status]}failed"
        icon = describe.tool_icon(event.operation)
        title = Text(f"{icon} {describe.file_operation_title(event)}", style="bold")
        self._err.print(title.append(failed, style="red"))
        if event.diff:
            self._print_diff(printable(event.diff).rstrip("\n").split("\n"))
        self._spin()

    def render_artifact(self, event: ArtifactEvent) -> None:
        """Its title; of a table the first rows, their number, and the command for all of them."""
        self._finish()
        self._err.print(Text(describe.artifact_title(event), style="bold"))
        table = table_text(event, width=max(self._err.width - 2, 20), export=self._export)
        for line in [] if table is None else table.split("\n"):
            self._err.print(Text(f"  {line}"), soft_wrap=True)
        self._spin()

    # -- the end ----------------------------------------------------------------------------

    def render_error(self, event: ErrorEvent) -> None:
        """The message and, on its own line, a hint."""
        self._finish()
        self._err.print(Text(f"error: {printable(event.error)}", style="bold red"))
        hint = hint_for(event.error_code, is_recoverable=event.recoverable)
        if hint:
            self.note(f"hint: {hint}")

    def render_done(self, event: DoneEvent) -> None:
        """Unbacked figures; how it ended, tokens, cost and time on one line."""
        self._finish()
        self._work.begin()
        for doubt in (describe.figures_unbacked(event), describe.figures_unchecked(event)):
            if doubt:
                self._err.print(Text(doubt, style="bold yellow"))
        used = self._totals.after(event, self._clock() - self._started)
        parts = (describe.end_text(event), used, describe.figures_verified(event))
        self.note(" · ".join(part for part in parts if part))

    def note(self, text: str) -> None:
        """A quiet line that is not part of the answer."""
        self._live.hide()
        if text:
            self._err.print(Text(printable(text), style="dim"))

    # -- parts ------------------------------------------------------------------------------

    def _spin(self, tail: str = "") -> None:
        activity, since = self._work.now
        self._live.show(activity=activity, since=since, tail=tail)

    def _finish(self) -> None:
        """Print what is unfinished, and clear the bottom of the screen."""
        self._end_aside()
        self._print_block(self._blocks.flush())
        self._live.hide()

    def _print_block(self, block: str) -> None:
        if block.strip():
            self._live.print(Group(AnswerMarkdown(block), ""))

    def _add_aside(self, title: str, text: str) -> None:
        if title != self._aside_title:
            self._finish()
            self._aside_title = title
        self._aside.append(text)
        self._work.say("thinking" if title == "thought" else one_line(title))
        self._spin()

    def _end_aside(self) -> None:
        said, title = "".join(self._aside), self._aside_title
        self._aside, self._aside_title = [], ""
        lines = [line for line in printable(said).split("\n") if line.strip()]
        if not lines:
            return
        self._live.hide()
        self._err.print(Text(f"✻ {one_line(title)}", style="dim"))
        for line in lines[:_SIDE_LINES]:
            self._err.print(Text(f"  {line}", style="dim italic"))
        if len(lines) > _SIDE_LINES:
            self._err.print(Text(f"  … {len(lines) - _SIDE_LINES} more lines", style="dim"))

    def _print_diff(self, lines: list[str]) -> None:
        for line in lines[:_DIFF_LINES]:
            self._err.print(Text(f"  {line}", style=_DIFF_STYLES.get(line[:1], "dim")))
        if len(lines) > _DIFF_LINES:
            self._err.print(Text(f"  … {len(lines) - _DIFF_LINES} more lines", style="dim"))
