"""Executes the runs this process owns, and takes over those whose process died.

The run's owner is the only writer of its events and of its answer. Two tasks a run: one pulls
events out of the agent and can be cancelled, the other waits for it and writes the end, whatever
happened.
Leases are renewed for all runs together; a lease that runs out marks a dead process, whose runs end
visibly here, or go on if they were only waiting for a person (`recovery.py`). Above: `service.py`.
Below: `ledger.py`, `approvals.py`, `session/` for executors.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import replace

from dataagent_core.audit import AuditLog
from dataagent_core.data.checking import FigureChecks
from dataagent_core.engine import AgentConfig, AgentExecutor, Suspended, fence_threads
from dataagent_core.errors import DataAgentError, Unavailable
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    DoneReason,
    ErrorEvent,
    HITLRequestEvent,
    TextEvent,
)
from dataagent_core.identity import RunContext
from dataagent_core.identity.budgets import Budgets
from dataagent_core.runs.accounts import Accounts
from dataagent_core.runs.answer import Answer, ending_of, failure_of
from dataagent_core.runs.approvals import StoredApprovals
from dataagent_core.runs.asked import adopted, carried_out
from dataagent_core.runs.cluster.bus import LocalBus, Subscription
from dataagent_core.runs.cluster.control import Control
from dataagent_core.runs.cluster.leases import Leases
from dataagent_core.runs.contexts import Contexts, died_asking, noting
from dataagent_core.runs.ledger import Ledger
from dataagent_core.runs.owned import Owned
from dataagent_core.runs.recovery import LOST, Duty, Recovery
from dataagent_core.runs.routing import refused
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.tracing import traced
from dataagent_core.runs.types import Run
from dataagent_core.session import SessionManager
from dataagent_core.storage.tasks import end_all
from dataagent_core.telemetry import Metrics, Traces, bind_run

logger = logging.getLogger(__name__)
ConfigFor = Callable[[Run], AgentConfig]


class Worker:
    """The runs of one process."""

    def __init__(
        self,
        name: str,
        store: RunStore,
        sessions: SessionManager,
        ledger: Ledger,
        config_for: ConfigFor,
        *,
        lease_seconds: float = 10.0,
        duty: Duty | None = None,
        control: Control | None = None,
        figures: FigureChecks | None = None,
        accounts: Accounts | None = None,
        contexts: Contexts | None = None,
        budgets: Budgets | None = None,
        audit: AuditLog | None = None,
        metrics: Metrics | None = None,
        traces: Traces | None = None,
    ) -> None:
        """`name` is unique among living and dead processes; `figures` checks data answers.

        With `accounts` runs end when their user is disabled or deleted.
        """
        self.name = name
        self._control = control or Control(LocalBus())
        self.approvals = StoredApprovals(store, audit, self._control)
        self._recovery = Recovery(store, self, duty or Duty())
        self.leases = Leases(store, name, seconds=lease_seconds)
        self._store = store
        self._sessions = sessions
        self._ledger = ledger
        self._config_for = config_for
        self._figures = figures
        self._accounts = accounts
        self._contexts = contexts or Contexts(budgets=budgets)
        self._budgets = budgets
        self._metrics = metrics
        self._traces = traces or Traces()
        self._owned: dict[str, Owned] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._round: asyncio.Task[None] | None = None
        self._orders: list[Subscription] = []
        self.is_closing = False

    # -- life of the process ------------------------------------------------------------------

    async def start(self, *, is_alone: bool) -> None:
        """Keep leases, take over dead processes' runs. `is_alone`: no other process lives."""
        self._orders = self._control.obey(
            self.name,
            on_cancel=self.cancel,
            on_decided=self.approvals.look,
            on_look=self.leases.wake,
        )
        self._keeper = asyncio.create_task(self._keep_leases(), name="leases")
        await self.recover(not_worker=self.name if is_alone else None)

    async def aclose(self, grace_seconds: float) -> None:
        """Let runs finish, stop those that do not, leave those that wait for a person.

        Leases are kept meanwhile: nobody may think that these runs are lost.
        """
        self.is_closing = True
        await self.leases.all_taken(grace_seconds)
        self.approvals.suspend()
        tasks = {owned.owner for owned in self._owned.values() if owned.owner is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
            for owned in list(self._owned.values()):
                owned.stop("shutdown")
            await asyncio.wait(tasks, timeout=grace_seconds)
        await end_all([self._keeper, self._round])
        while self._orders:
            self._orders.pop().end()

    async def _keep_leases(self) -> None:
        """Renew, and look for runs beside that: claiming many takes longer than a lease may."""
        while True:
            await self.leases.pause()
            await self._attempted(self._renew)
            if self._round is None and not self.is_closing:
                self._round = asyncio.create_task(self._attempted(self._look), name="recovery")

    async def _look(self) -> None:
        woken = self.leases.woken
        try:
            await self.recover()
            self._sessions.use(owned.run.session_id for owned in self._owned.values())
            await self._sessions.release_expired()
        finally:
            self._round = None
            if self.leases.woken != woken:  # someone wanted a look meanwhile
                self.leases.wake()

    async def _attempted(self, duty: Callable[[], Awaitable[None]]) -> None:
        try:
            await duty()
        except Unavailable:
            logger.warning("leases wait for the store")
        except Exception:
            logger.exception("lease round failed")

    async def _renew(self) -> None:
        if self._owned:
            renewed = await self.leases.renew(self._owned.keys)
            for run_id in renewed.cancelled:
                self.cancel(run_id)
            for run_id in renewed.lost:
                self._lose(run_id)
        if self._owned and self._accounts is not None:
            owned = [each.run for each in self._owned.values()]
            for run_id in await self._accounts.runs_to_cancel(owned):
                self.cancel(run_id)

    def _lose(self, run_id: str) -> None:
        """Stop what another process goes on with; nothing more of it is written here."""
        owned = self._owned.get(run_id)
        if owned is not None and owned.pump is not None and not owned.pump.done():
            owned.is_lost = True
            owned.stop("shutdown")

    async def recover(self, *, not_worker: str | None = None) -> int:
        """Take the runs whose process died: end them visibly, or go on waiting; how many."""
        return await self._recovery.round(not_worker=not_worker)

    async def room(self) -> None:
        """Wait until one more run can be answered."""
        await self._recovery.room()

    async def take(self, run_id: str) -> bool:
        """Go on with a run without a living owner; False if it has one, or this process stops."""
        return not self.is_closing and await self._recovery.claim(run_id)

    async def take_over(self, run: Run, lost: ErrorEvent = LOST) -> None:
        """Go on with a claimed run if it waits for a person, else give it its end."""
        entries = await self._store.read_run(run.run_id)
        last_seq = await self._store.last_seq(run.session_id)
        written_bytes = sum(len(entry.wire) for entry in entries)
        owned = Owned(run, self._ledger.writer(run, last_seq, written_bytes=written_bytes))
        unkept = Answer()  # what was said since the thread was last kept, which is at each request
        for event in (entry.event for entry in entries):
            owned.answer.add(event)
            unkept.add(event)
            if isinstance(event, HITLRequestEvent):
                owned.shown.add(event.request_id)
                unkept = Answer()
        if run.cancel_requested:
            events = self._call_off(run, unkept.text)
        elif run.status == "waiting" and not died_asking(await self._store.approvals(run.run_id)):
            events = self._work(owned, is_resumed=True)
        else:
            events = self._mourn(run, unkept.text, lost)
        self._launch(owned, events)

    async def _mourn(
        self, run: Run, partial_text: str, lost: ErrorEvent
    ) -> AsyncGenerator[AnyEvent]:
        """Give a lost run its visible end, and its thread what was said."""
        logger.warning("run %s is lost (%s); it ends as failed", run.run_id, lost.error_code)
        await self._adopt(run, partial_text)
        yield ErrorEvent(error=lost.error, error_code=lost.error_code, recoverable=lost.recoverable)
        yield DoneEvent(reason="failed")

    async def _call_off(self, run: Run, partial_text: str) -> AsyncGenerator[AnyEvent]:
        """End a run that was cancelled while no living process had it."""
        await self._adopt(run, partial_text)
        yield DoneEvent(cancelled=True, reason="user_cancelled")

    async def _adopt(self, run: Run, partial_text: str) -> None:
        with suppress(DataAgentError):  # an agent that cannot be built has no thread
            await adopted(run, self._executor(run, self._config_for(run)), partial_text)

    # -- life of a run --------------------------------------------------------------------------

    def begin(self, run: Run, last_seq: int) -> None:
        """Answer a run that was just opened for this process."""
        owned = Owned(run, self._ledger.writer(run, last_seq))
        self._launch(owned, self._work(owned))

    def _work(self, owned: Owned, *, is_resumed: bool = False) -> AsyncGenerator[AnyEvent]:
        """What the run's agent does; whatever keeps it from being built is the run's end."""
        try:
            config = self._config_for(owned.run)
            return carried_out(
                owned.run,
                self._executor(owned.run, config),
                self._context(owned, config),
                say=owned.say,
                speak_as=owned.speak_as,
                summarization=lambda keep: self._sessions.summarization(config, keep=keep),
                is_resumed=is_resumed,
            )
        except Exception as error:
            return refused(error)

    def cancel(
        self, run_id: str, reason: DoneReason = "user_cancelled"
    ) -> asyncio.Task[None] | None:
        """Stop a run of this process; the task ends when the run has. None: not here."""
        owned = self._owned.get(run_id)
        if owned is None:
            return None
        owned.stop(reason)
        return owned.owner

    def _launch(self, owned: Owned, events: AsyncGenerator[AnyEvent]) -> None:
        run_id = owned.run.run_id
        self._owned[run_id] = owned
        self.approvals.attend(owned.run)
        owned.pump = asyncio.create_task(self._pump(owned, events), name=f"pump-{run_id}")
        owned.owner = asyncio.create_task(self._own(owned, owned.pump), name=f"run-{run_id}")

    async def _pump(self, owned: Owned, events: AsyncGenerator[AnyEvent]) -> DoneEvent | None:
        """Write what the agent says; return how it ended, or None if it is left waiting."""
        owned.has_begun = True
        run = owned.run
        self._bind(owned)
        with suppress(Suspended), traced(self._traces, run, owned.answer) as ended:
            return ended(await self._written(owned, events))
        return None

    def _bind(self, owned: Owned) -> None:
        """Say whom this task works for, and keep it from the thread of a run that is lost."""

        async def fence() -> None:
            await self.leases.hold(owned.run, is_lost=owned.is_lost)

        bind_run(owned.run.run_id, owned.run.user_id)
        fence_threads(fence)

    async def _written(self, owned: Owned, events: AsyncGenerator[AnyEvent]) -> DoneEvent:
        writer = owned.writer
        async with aclosing(events) as stream:
            async for event in stream:
                if isinstance(event, DoneEvent):
                    return event
                if isinstance(event, HITLRequestEvent):
                    await writer.flush()
                    await self.approvals.keep(owned.run, event)
                    if event.request_id in owned.shown:
                        continue
                owned.say(event)
                if not isinstance(event, TextEvent):
                    await writer.drain()
        return DoneEvent(reason="failed")

    async def _own(self, owned: Owned, pump: asyncio.Task[DoneEvent | None]) -> None:
        """Wait for the pump and write the end, unless the run is left waiting."""
        self._bind(owned)
        await asyncio.wait({pump})
        done: DoneEvent | None = None
        try:
            done = owned.outcome(pump)
            if done is not None:
                await self._finish(owned, done)
        except Exception:
            logger.exception("the end of run %s could not be written", owned.run.run_id)
        finally:
            if self._budgets is not None:
                calls = owned.answer.tool_calls
                self._budgets.close(owned.run.run_id, has_ended=done is not None, tool_calls=calls)
            self.approvals.leave(owned.run)
            self._owned.pop(owned.run.run_id, None)
            self._recovery.freed()
        if pump.done() and not pump.cancelled() and not pump.exception() and done is None:
            await self.leases.give_up(owned.run.run_id)  # left waiting, for whoever is there
            self._control.look()

    async def _finish(self, owned: Owned, done: DoneEvent) -> None:
        if not owned.has_begun:  # cancelled in the moment it was started
            await self._adopt(owned.run, "")
        if done.reason in ("failed", "shutdown") and not owned.answer.has_error:
            owned.say(failure_of(done))
        done = await self._checked(owned, done)
        ending = ending_of(owned.answer, done)
        is_kept = await owned.writer.close(done, ending)
        if is_kept:
            self._count(owned, ending.status)
        else:
            logger.warning("run %s was taken over; its end is written there", owned.run.run_id)

    def _count(self, owned: Owned, status: str) -> None:
        if self._metrics is None:
            return
        spoke_at = owned.writer.spoke_at
        self._metrics.run_ended(
            status,
            time.monotonic() - owned.started_at,
            first_text_seconds=None if spoke_at is None else spoke_at - owned.started_at,
            events=owned.writer.written,
        )

    @property
    def active(self) -> int:
        """How many runs this process has."""
        return len(self._owned)

    @property
    def busy(self) -> int:
        """How many runs this process executes, not counting those that wait for a person."""
        return len(self._owned) - self.approvals.waiting

    def run_of(self, user_id: str, *, run_id: str = "", session_id: str = "") -> Run | None:
        """A user's run in this process, by its id or its session's; other processes have more."""
        for run in (owned.run for owned in self._owned.values()):
            if run.user_id == user_id and (run.run_id == run_id or run.session_id == session_id):
                return run
        return None

    def owns(self, run_id: str) -> bool:
        """Whether this process has the run."""
        return run_id in self._owned

    async def _checked(self, owned: Owned, done: DoneEvent) -> DoneEvent:
        """The end, with what is known of the answer's figures if it rests on data."""
        run, answer = owned.run, owned.answer
        if self._figures is None or not answer.table_ids or not answer.text:
            return done
        try:
            found = await self._figures.report(
                answer.text, run.input["message"], answer.table_ids, owner=run.user_id
            )
        except Exception:
            logger.exception("the figures of run %s could not be checked", run.run_id)
            return done
        metadata = {**(done.metadata or {}), "figures": found} if found else done.metadata
        return replace(done, metadata=metadata)

    def _executor(self, run: Run, config: AgentConfig) -> AgentExecutor:
        return self._sessions.executor(run.session_id, config, self.approvals)

    def _context(self, owned: Owned, config: AgentConfig) -> RunContext:
        run = owned.run
        ask = self._contexts.asking(run, owned.writer, owned.say, self.approvals)
        return self._contexts.of(run, config, ask, noting(self._store, run, owned.speak_as))
