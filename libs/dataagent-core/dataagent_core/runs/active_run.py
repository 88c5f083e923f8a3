"""A run that this process executes: its writer, its answer so far, its two tasks.

State, and how it is stopped; `worker.py` decides what happens to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field, replace

from dataagent_core.errors import StaleAttempt
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    DoneReason,
    TextEvent,
    ThinkingEvent,
    ToolCallEvent,
)
from dataagent_core.runs.answer import AnswerBuilder
from dataagent_core.runs.ledger import RunWriter
from dataagent_core.runs.types import Run

logger = logging.getLogger(__name__)
_RECANCEL_SECONDS = 3.0
"""Time to clean up: a second cancellation would interrupt the clean-up of the first."""


@dataclass(slots=True)
class ActiveRun:
    """A run in this process."""

    run: Run
    writer: RunWriter
    answer: AnswerBuilder = field(default_factory=AnswerBuilder)
    written_requests: set[str] = field(
        default_factory=set[str]
    )  # requests that an earlier attempt wrote
    pump: asyncio.Task[DoneEvent | None] | None = None
    owner: asyncio.Task[None] | None = None
    stopping: asyncio.Task[None] | None = None
    stop_reason: DoneReason = "user_cancelled"
    has_begun: bool = False
    is_lost: bool = False  # another process has taken it over
    speaker: str | None = None  # the name of the agent that answers, where one was chosen
    started_at: float = field(default_factory=time.monotonic)

    def emit(self, event: AnyEvent | str) -> None:
        """Add an event of the run, or streamed text, to its answer and its ledger."""
        if self.speaker is not None:
            event = _with_speaker(self.speaker, event)
        if isinstance(event, str):
            self.answer.add_text(event)
            self.writer.write_text(event)
        else:
            self.answer.add(event)
            self.writer.write(event)

    def set_speaker(self, name: str) -> None:
        """Name the agent that answers from now on."""
        self.speaker = name

    def stop(self, reason: DoneReason) -> None:
        """Cancel the pump and make sure that it ends. Further calls do nothing."""
        self.stop_reason = reason
        if self.pump is not None and self.stopping is None:
            self.pump.cancel()
            name = f"stop-{self.run.run_id}"
            self.stopping = asyncio.create_task(self._cancel_until_stopped(self.pump), name=name)

    async def _cancel_until_stopped(self, pump: asyncio.Task[DoneEvent | None]) -> None:
        """Cancel repeatedly: a tool or a library may have swallowed a cancellation."""
        while True:
            _, going_on = await asyncio.wait({pump}, timeout=_RECANCEL_SECONDS)
            if not going_on:
                return
            logger.warning(
                "run %s continues after it was stopped; cancelling it again", self.run.run_id
            )
            pump.cancel()

    def outcome(self, pump: asyncio.Task[DoneEvent | None]) -> DoneEvent | None:
        """How the run ended, by the result of its pump; None if it is left waiting."""
        if pump.cancelled():
            return DoneEvent(cancelled=True, reason=self.stop_reason)
        error = pump.exception()
        if error is None:
            return pump.result()
        if not isinstance(error, StaleAttempt):
            logger.error("run %s failed outside its agent", self.run.run_id, exc_info=error)
        return DoneEvent(reason="failed")


def _with_speaker(name: str, event: AnyEvent | str) -> AnyEvent:
    """The event with the answering agent's name; events of sub-agents have their own."""
    match event:
        case str():
            return TextEvent(content=event, agent=name, is_main=True)
        case TextEvent() | ThinkingEvent() | ToolCallEvent() if event.agent is None:
            return replace(event, agent=name, is_main=True)
        case _:
            return event
