"""How a turn is shown: the interfaces, and the views for plain text, JSON lines and whole answers.

Plain text is for pipes, files and simple terminals: the answer goes to standard output unchanged,
everything else to standard error. A new kind of event does not pass the type checker until every
renderer has its method.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, TextIO, assert_never

from dataagent_cli.ui import describe
from dataagent_cli.ui.clean import encodable, one_line, printable
from dataagent_cli.ui.describe import hint_for
from dataagent_core.events import (
    AnyEvent,
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
    from dataagent_core.runs.types import Entry


class EventRenderer(ABC):
    """Shows events, with a method for each type."""

    def show(self, entry: Entry) -> None:
        """Show one numbered event."""
        self.render(entry.event)

    def render(self, event: AnyEvent) -> None:
        """Show one event."""
        match event:
            case TextEvent():
                self.render_text(event)
            case ThinkingEvent():
                self.render_thinking(event)
            case ToolCallEvent():
                self.render_tool_call(event)
            case ToolResultEvent():
                self.render_tool_result(event)
            case HITLRequestEvent():
                self.render_hitl_request(event)
            case TodoUpdateEvent():
                self.render_todo_update(event)
            case FileOperationEvent():
                self.render_file_operation(event)
            case ArtifactEvent():
                self.render_artifact(event)
            case ErrorEvent():
                self.render_error(event)
            case DoneEvent():
                self.render_done(event)
            case _:
                assert_never(event)

    @abstractmethod
    def render_text(self, event: TextEvent) -> None:
        """A piece of the answer, or of a sub-agent's text."""

    @abstractmethod
    def render_thinking(self, event: ThinkingEvent) -> None:
        """A piece of reasoning."""

    @abstractmethod
    def render_tool_call(self, event: ToolCallEvent) -> None:
        """A call with its arguments."""

    @abstractmethod
    def render_tool_result(self, event: ToolResultEvent) -> None:
        """What the call returned."""

    @abstractmethod
    def render_hitl_request(self, event: HITLRequestEvent) -> None:
        """A call that waits for a person; the question itself is asked in `hitl/`."""

    @abstractmethod
    def render_todo_update(self, event: TodoUpdateEvent) -> None:
        """The plan."""

    @abstractmethod
    def render_file_operation(self, event: FileOperationEvent) -> None:
        """A file that was read or changed."""

    @abstractmethod
    def render_artifact(self, event: ArtifactEvent) -> None:
        """A table, a chart or a file."""

    @abstractmethod
    def render_error(self, event: ErrorEvent) -> None:
        """An error, and a hint."""

    @abstractmethod
    def render_done(self, event: DoneEvent) -> None:
        """The end of a run."""


class View(Protocol):
    """Shows one turn after another."""

    def begin(self) -> None:
        """A turn starts."""
        ...

    def show(self, entry: Entry) -> None:
        """Show one numbered event."""
        ...

    def pause(self) -> None:
        """Clear the screen for a question, until the next entry."""
        ...

    def resume(self) -> None:
        """The question is answered: the run continues."""
        ...

    def note(self, text: str) -> None:
        """Print a line that is not part of the answer."""
        ...


class JsonView:
    """Prints events to `out`; everything else goes to `err`."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def begin(self) -> None:
        """Nothing precedes the first event."""

    def show(self, entry: Entry) -> None:
        """`{event_type, data, timestamp, seq, run_id}` and a newline."""
        self._out.write(entry.wire.decode() + "\n")
        self._out.flush()

    def pause(self) -> None:
        """Lines are whole already."""

    def resume(self) -> None:
        """Nothing was taken away."""

    def note(self, text: str) -> None:
        """A line on standard error."""
        if text:
            self._err.write(f"{encodable(text)}\n")
            self._err.flush()


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
        """The answer as it comes; a sub-agent's text goes to `err`."""
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
        """The operation, the file, and the diff."""
        status = "" if event.status == "success" else f" {event.status}"
        icon = describe.tool_icon(event.operation)
        self.note(f"{icon} {describe.file_operation_title(event)}{status}")
        if event.diff:
            self.note(printable(event.diff).rstrip("\n"))

    def render_artifact(self, event: ArtifactEvent) -> None:
        """Its kind, title and where to fetch it."""
        self.note(f"{describe.artifact_title(event)}  {one_line(event.url)}")

    def render_error(self, event: ErrorEvent) -> None:
        """The message and, on its own line, a hint."""
        self.note(f"error: {printable(event.error)}")
        hint = hint_for(event.error_code, is_recoverable=event.recoverable)
        if hint:
            self.note(f"hint: {hint}")

    def render_done(self, event: DoneEvent) -> None:
        """End the answer's last line; say how the run ended, unless it completed."""
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


class BufferedView(PlainRenderer):
    """Plain text, except that the answer is collected and not written."""

    def __init__(self, err: TextIO) -> None:
        self._buffer = io.StringIO()
        super().__init__(self._buffer, err)
        self.run_id: str | None = None
        self.tables: list[str] = []
        self.error: ErrorEvent | None = None

    @property
    def answer(self) -> str:
        """The agent's text."""
        return self._buffer.getvalue().rstrip("\n")

    def show(self, entry: Entry) -> None:
        """Collect the answer; show the rest."""
        self.run_id = entry.run_id
        super().show(entry)

    def render_artifact(self, event: ArtifactEvent) -> None:
        """Collect the id of a table."""
        if event.kind == "table":
            self.tables.append(event.artifact_id)
        super().render_artifact(event)

    def render_error(self, event: ErrorEvent) -> None:
        """Store the error."""
        self.error = event
        super().render_error(event)
