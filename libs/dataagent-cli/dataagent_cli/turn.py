"""One turn: a message becomes a run, its events are shown, its questions answered.

Every reader consumes a run in the same way; here the reader is a person. Above stand `headless.py`
and `interactive.py`; below, core's `RunService`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from dataagent_cli import exits
from dataagent_cli.hitl import NOBODY, Interrupted
from dataagent_cli.interrupts import Interrupts
from dataagent_core.errors import Conflict, NotFound, RunNotFound
from dataagent_core.events import DoneEvent, HITLRequestEvent, TodoUpdateEvent
from dataagent_core.hitl import Decision, HITLHandler

if TYPE_CHECKING:
    from dataagent_cli.ui import View
    from dataagent_core.config.state import SessionState
    from dataagent_core.runs.service import RunService, Started
    from dataagent_core.runs.types import Run


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended."""

    done: DoneEvent
    is_interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """What a script is told."""
        if self.is_interrupted:
            return exits.INTERRUPTED
        match self.done.reason:
            case "completed":
                return exits.OK
            case "user_cancelled" | "rejected":
                return exits.CANCELLED
            case "failed" | "timeout" | "shutdown" | "budget":
                return exits.FAILED
            case _:
                assert_never(self.done.reason)


class Turns:
    """Takes turns in sessions of one owner, through one view and one handler."""

    def __init__(
        self, runs: RunService, *, owner: str, view: View, handler: HITLHandler, state: SessionState
    ) -> None:
        self._runs = runs
        self._owner = owner
        self._view = view
        self._handler = handler
        self._state = state

    async def take(self, session_id: str, message: str, *, assistant_id: str) -> TurnEnd:
        """Send a message and show its run to the end. Ctrl-C cancels the run.

        Raises:
            SessionNotFound, SessionBusy, BadInput: the message was not accepted.
        """
        from dataagent_core.runs.service import RunOptions

        with Interrupts() as interrupts:
            self._view.begin()
            try:
                started = await self._runs.start(
                    session_id,
                    message,
                    owner=self._owner,
                    assistant_id=assistant_id,
                    options=RunOptions(auto_approve=self._state.auto_approve),
                )
                return await self._watch(started, interrupts)
            finally:
                self._view.pause()

    async def _watch(self, started: Started, interrupts: Interrupts) -> TurnEnd:
        run = started.run
        stopping = asyncio.create_task(self._cancel_when(interrupts, run.run_id))
        try:
            async for entry in self._runs.read(run.run_id, after=started.after):
                self._view.show(entry)
                match entry.event:
                    case HITLRequestEvent() as request:
                        await self._answer(run, request, interrupts)
                    case TodoUpdateEvent(todos=todos):
                        self._state.current_todos = todos
                    case DoneEvent() as done:
                        return TurnEnd(done, interrupts.is_interrupted)
                    case _:
                        pass
        except BaseException:  # the reader is gone, broken or interrupted twice: so is the run
            with suppress(Conflict, NotFound, TimeoutError):
                await self._runs.cancel(run.run_id, owner=self._owner)
            raise
        finally:
            stopping.cancel()
        raise RunNotFound(f"Run {run.run_id!r} ended without an end. Ask again.")

    async def _cancel_when(self, interrupts: Interrupts, run_id: str) -> None:
        await interrupts.wait()
        with suppress(Conflict, NotFound, TimeoutError):  # it ended, or takes its time to end
            await self._runs.cancel(run_id, owner=self._owner)

    async def _answer(self, run: Run, request: HITLRequestEvent, interrupts: Interrupts) -> None:
        """Ask until the request expires; what nobody answered, core rejects by itself."""
        self._view.pause()
        limit = None if request.expires_at is None else max(request.expires_at - time.time(), 0)
        try:
            async with asyncio.timeout(limit):
                decision = await self._handler.request_approval(request.action, run.session_id)
        except TimeoutError:
            self._view.note(f"? {request.action.name}: no answer in time")
            return
        except Interrupted:
            interrupts.interrupt()
            return
        self._view.note(_decided(request.action.name, decision))
        with suppress(Conflict):  # answered elsewhere, or expired while we were answering
            await self._runs.decide(run.run_id, request.request_id, decision, owner=self._owner)


def _decided(name: str, decision: Decision) -> str:
    if decision.type == "approve":
        return f"  {name}: approved"
    hint = (
        "\nhint: --auto-approve lets such calls run unasked." if decision.message == NOBODY else ""
    )
    return f"  {name}: rejected. {decision.message or ''}".rstrip() + hint
