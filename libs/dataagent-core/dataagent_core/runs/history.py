"""A session's history, read from the ledger: messages, each answer with the events of its run.

`AnswerBuilder` builds the text of an answer from the events of its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dataagent_core.events import (
    AnyEvent,
    ArtifactEvent,
    DoneEvent,
    ErrorEvent,
    TextEvent,
    ToolResultEvent,
)
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Approval, Ending, Entry
from dataagent_core.session import Message, now


class AnswerBuilder:
    """Collects the main agent's text, message by message, and the run's error."""

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
                self._add_text(event.content)
            if event.is_final and self._parts:
                self._is_between = True
        elif isinstance(event, ToolResultEvent):
            self.tool_calls += 1

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

    def _add_text(self, text: str) -> None:
        if self._is_between:
            self._parts.append("\n\n")
            self._is_between = False
        self._parts.append(text)


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
            error="The server was stopped. The answer so far is stored; ask again.",
            error_code="shutdown",
            recoverable=True,
        )
    return ErrorEvent(
        error="Something went wrong inside; the log has the details.", error_code="internal"
    )


_RUNS_AT_ONCE = 20  # per query, so that other work runs in between


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """A message; the assistant's comes with its run's entries and approvals."""

    message: Message
    entries: list[Entry]
    approvals: list[Approval]


@dataclass(frozen=True, slots=True)
class History:
    """A page of a session's messages; `total` is how many it has.

    Entries with a `seq` up to `last_seq` are on this or an earlier page; follow the session from
    there for later ones.
    """

    items: list[HistoryItem]
    total: int
    last_seq: int


async def load_items(
    store: RunStore, session_id: str, messages: Sequence[Message]
) -> list[HistoryItem]:
    """The messages of a session with the entries and approvals of their runs."""
    answers = {each.message_id: each.run_id for each in messages if each.role == "assistant"}
    run_ids = [run_id for run_id in answers.values() if run_id is not None]
    entries = await _entries(store, session_id, run_ids)
    items: list[HistoryItem] = []
    for message in messages:
        of_run = entries.get(answers.get(message.message_id) or "", [])
        has_requests = any(entry.event_type == "hitl_request" for entry in of_run)
        approvals = await store.approvals(of_run[0].run_id) if has_requests else []
        items.append(HistoryItem(message, of_run, approvals))
    return items


async def _entries(
    store: RunStore, session_id: str, run_ids: Sequence[str]
) -> dict[str, list[Entry]]:
    by_run: dict[str, list[Entry]] = {}
    for first in range(0, len(run_ids), _RUNS_AT_ONCE):
        for entry in await store.read_runs(session_id, run_ids[first : first + _RUNS_AT_ONCE]):
            by_run.setdefault(entry.run_id, []).append(entry)
    return by_run
