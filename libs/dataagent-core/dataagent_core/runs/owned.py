"""A run while this process has it: its writer, its answer so far, its two tasks.

Plain state; what happens to it is decided in `worker.py`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

from dataagent_core.errors import StaleAttempt
from dataagent_core.events import AnyEvent, DoneEvent, DoneReason
from dataagent_core.runs.answer import Answer
from dataagent_core.runs.ledger import RunWriter
from dataagent_core.runs.types import Run

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Owned:
    """A run in this process."""

    run: Run
    writer: RunWriter
    answer: Answer = field(default_factory=Answer)
    shown: set[str] = field(default_factory=set[str])  # requests an earlier attempt has written
    pump: asyncio.Task[DoneEvent | None] | None = None
    owner: asyncio.Task[None] | None = None
    stop_reason: DoneReason = "user_cancelled"
    has_begun: bool = False
    is_lost: bool = False  # another process has taken it over
    started_at: float = field(default_factory=time.monotonic)

    def say(self, event: AnyEvent | str) -> None:
        """Take an event of the run, or running text, into its answer and its ledger."""
        if isinstance(event, str):
            self.answer.add_text(event)
            self.writer.write_text(event)
        else:
            self.answer.add(event)
            self.writer.write(event)

    def outcome(self, pump: asyncio.Task[DoneEvent | None]) -> DoneEvent | None:
        """How the run ended, by the task that pulled it; None if it is left waiting."""
        if pump.cancelled():
            return DoneEvent(cancelled=True, reason=self.stop_reason)
        error = pump.exception()
        if error is None:
            return pump.result()
        if not isinstance(error, StaleAttempt):
            logger.error("run %s failed outside its agent", self.run.run_id, exc_info=error)
        return DoneEvent(reason="failed")
