"""Builds the assistant's message in the history from a run's events. No I/O."""

from __future__ import annotations

from typing import Literal

from dataagent_core.events import (
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    TextEvent,
    ToolResultEvent,
)
from dataagent_core.runs.types import Ending
from dataagent_core.session import now


class AnswerBuilder:
    """Collects the main agent's text, message by message, and the error if there was one."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._is_between = False
        self._error: ErrorEvent | None = None
        self.table_ids: list[str] = []  # results the run has read
        self.tool_calls = 0  # those that ended

    def add(self, event: AnyEvent) -> None:
        """Add an event."""
        if isinstance(event, ErrorEvent):
            self._error = event
        elif isinstance(event, ArtifactEvent) and event.kind == "table":
            self.table_ids.append(event.artifact_id)
        elif isinstance(event, TextEvent) and event.subagent is None:
            if event.content:
                self.add_text(event.content)
            if event.is_final and self._parts:
                self._is_between = True
        elif isinstance(event, ToolResultEvent):
            self.tool_calls += 1

    def add_text(self, text: str) -> None:
        """Add streamed text of the main agent."""
        if self._is_between:
            self._parts.append("\n\n")
            self._is_between = False
        self._parts.append(text)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    @property
    def has_error(self) -> bool:
        """Whether an error was reported."""
        return self._error is not None

    @property
    def error(self) -> dict[str, object] | None:
        """The error as it is stored with the run."""
        if self._error is None:
            return None
        return {
            "error_code": self._error.error_code,
            "message": self._error.error,
            "recoverable": self._error.recoverable,
        }


def ending_of(answer: AnswerBuilder, done: DoneEvent) -> Ending:
    """How the run and its message end."""
    status: Literal["done", "cancelled", "failed"] = "done"
    if answer.has_error or done.reason in ("failed", "timeout", "shutdown"):
        status = "failed"
    elif done.cancelled:
        status = "cancelled"
    return Ending(
        status=status,
        message_status="complete" if status == "done" else status,
        content=answer.text,
        ended_at=now(),
        token_usage=done.token_usage,
        error=answer.error,
    )


def failure_of(done: DoneEvent) -> ErrorEvent:
    """The error event of a run that ends without having reported one."""
    if done.reason == "shutdown":
        return ErrorEvent(
            error="The server was stopped. What was said is kept; ask again.",
            error_code="shutdown",
            recoverable=True,
        )
    return ErrorEvent(
        error="Something went wrong inside; the log has the details.", error_code="internal"
    )
