"""One method for each kind of event: the interface of everything that shows a run.

`EventRenderer.render` picks the method; a new kind of event does not pass the type checker until
every renderer has its method.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, assert_never

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
    """Shows events. Those of the main agent name no agent; a sub-agent's name it."""

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
            case HITLRequestEvent():
                self.render_hitl_request(event)
            case ErrorEvent():
                self.render_error(event)
            case DoneEvent():
                self.render_done(event)
            case _:
                self._render_work(event)

    def _render_work(
        self,
        event: ToolCallEvent
        | ToolResultEvent
        | TodoUpdateEvent
        | FileOperationEvent
        | ArtifactEvent,
    ) -> None:
        match event:
            case ToolCallEvent():
                self.render_tool_call(event)
            case ToolResultEvent():
                self.render_tool_result(event)
            case TodoUpdateEvent():
                self.render_todo_update(event)
            case FileOperationEvent():
                self.render_file_operation(event)
            case ArtifactEvent():
                self.render_artifact(event)
            case _:
                assert_never(event)

    @abstractmethod
    def render_text(self, event: TextEvent) -> None:
        """A piece of the answer, or of what a sub-agent says."""

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
        """A table, chart or file that was made."""

    @abstractmethod
    def render_error(self, event: ErrorEvent) -> None:
        """What went wrong, and the way out."""

    @abstractmethod
    def render_done(self, event: DoneEvent) -> None:
        """The end."""
