"""A run as plain text, for pipes, files and terminals that can do no more.

The answer is data and goes to standard output as it came, byte for byte; everything else goes to
standard error. No Rich, no colour, no spinner.
"""

from __future__ import annotations

from typing import TextIO

from dataagent_cli.ui import describe
from dataagent_cli.ui.clean import encodable, one_line, printable
from dataagent_cli.ui.events import EventRenderer
from dataagent_cli.ui.hints import hint_for
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


class PlainRenderer(EventRenderer):
    """Writes the answer to `out` and the rest to `err`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._clean = printable if out.isatty() else encodable
        self._last = "\n"  # the last characters written to `out`
        self._is_interrupted = False  # something else happened since the answer's last piece

    def begin(self) -> None:
        """A turn starts."""
        self._last, self._is_interrupted = "\n", False

    def pause(self) -> None:
        """End the line, before a question is asked."""
        self._end_line()

    def resume(self) -> None:
        """Nothing was taken away."""

    def render_text(self, event: TextEvent) -> None:
        """The answer as it comes; what a sub-agent says goes to `err`."""
        if event.subagent is not None:
            if event.content.strip():
                self.note(f"[{one_line(event.subagent)}] {printable(event.content).strip()}")
            return
        text = self._clean(event.content)
        if text:
            if self._is_interrupted and self._last != "\n":
                self._out.write("\n\n")
            self._out.write(text)
            self._out.flush()
            self._last = text[-1:]
            self._is_interrupted = False
        self._is_interrupted = self._is_interrupted or event.is_final

    def render_thinking(self, event: ThinkingEvent) -> None:
        """Reasoning is not shown."""

    def render_tool_call(self, event: ToolCallEvent) -> None:
        """`● sql_db_query query=SELECT …`."""
        icon = describe.tool_icon(event.tool_name)
        self.note(
            f"{icon} {one_line(event.tool_name)} {describe.short_args(event.tool_args)}".strip()
        )

    def render_tool_result(self, event: ToolResultEvent) -> None:
        """The first line of the result, with its status when it failed."""
        if event.status == "success" and describe.has_own_event(event.tool_name):
            return
        status = "" if event.status == "success" else f"{event.status}: "
        self.note(f"  └ {status}{describe.result_summary(event.result)}")

    def render_hitl_request(self, event: HITLRequestEvent) -> None:
        """One line; the question itself follows from `hitl/terminal.py`."""
        self.note(f"? {one_line(event.action.name)} needs approval")

    def render_todo_update(self, event: TodoUpdateEvent) -> None:
        """The plan, a line for each step."""
        self.note("\n".join(f"  {line}" for line in describe.todo_lines(event.todos)))

    def render_file_operation(self, event: FileOperationEvent) -> None:
        """What was done to which file, and the diff."""
        status = "" if event.status == "success" else f" {event.status}"
        icon = describe.tool_icon(event.operation)
        self.note(f"{icon} {describe.file_operation_title(event)}{status}")
        if event.diff:
            self.note(printable(event.diff).rstrip("\n"))

    def render_artifact(self, event: ArtifactEvent) -> None:
        """Its kind, title and where to fetch it."""
        self.note(f"{describe.artifact_title(event)}  {one_line(event.url)}")

    def render_error(self, event: ErrorEvent) -> None:
        """The message and, on its own line, the way out."""
        self.note(f"error: {printable(event.error)}")
        hint = hint_for(event.error_code, is_recoverable=event.recoverable)
        if hint:
            self.note(f"hint: {hint}")

    def render_done(self, event: DoneEvent) -> None:
        """End the answer's last line; say how it ended unless it simply did."""
        self._end_line()
        self.note(describe.figures_unbacked(event))
        self.note(describe.figures_unchecked(event))
        self.note(describe.end_text(event))

    def note(self, text: str) -> None:
        """A line that is not part of the answer."""
        self._is_interrupted = True
        if text:
            self._err.write(f"{encodable(text)}\n")
            self._err.flush()

    def _end_line(self) -> None:
        if self._last != "\n":
            self._out.write("\n")
            self._out.flush()
            self._last = "\n"
