"""Executes the runs of this process, from the opened run to its committed end.

The process that owns a run is the only writer of its events and of its answer. Each run has two
tasks: the pump takes events from the agent and can be cancelled, the owner waits for it and always
writes the end. The leases of all runs are renewed together; an expired lease marks a dead process,
whose runs `recovery.py` takes over.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from dataagent_core.audit import AuditLog
from dataagent_core.data.figure_checks import FigureChecks
from dataagent_core.engine import AgentConfig, AgentExecutor, Suspended, fence_threads
from dataagent_core.engine.executors import SessionExecutors
from dataagent_core.engine.translate import error_event
from dataagent_core.errors import DataAgentError, StaleAttempt, Unavailable
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    DoneReason,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    ToolCallEvent,
)
from dataagent_core.identity import RunContext
from dataagent_core.identity.budgets import Budgets
from dataagent_core.runs.admission import Accounts
from dataagent_core.runs.approvals import StoredApprovals
from dataagent_core.runs.cluster.bus import Control, LocalBus, Subscription
from dataagent_core.runs.contexts import RunContexts
from dataagent_core.runs.history import AnswerBuilder, ending_of, failure_of
from dataagent_core.runs.leases import Leases
from dataagent_core.runs.ledger import Ledger, RunWriter
from dataagent_core.runs.recovery import Recovery, WorkerRole
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Ending, NewRun, OpenedRun, Run
from dataagent_core.session.types import now
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.telemetry import CANCELLED, Metrics, RunTrace, Traces, bind_run

if TYPE_CHECKING:
    from dataagent_core.runs.cluster.queue import RunQueue

logger = logging.getLogger(__name__)
ConfigFor = Callable[[Run], AgentConfig]
_RECANCEL_SECONDS = 3.0
"""Time to clean up: a second cancellation would interrupt the clean-up of the first."""

_STOP_SECONDS = 5.0
_STOP_PAUSES = (0.02, 0.05, 0.1, 0.2)


@dataclass(slots=True)
class ActiveRun:
    """A run that this process executes: its writer, its answer so far and its two tasks."""

    run: Run
    writer: RunWriter
    answer: AnswerBuilder = field(default_factory=AnswerBuilder)
    written_requests: set[str] = field(default_factory=set[str])  # by an earlier attempt
    pump: asyncio.Task[DoneEvent | None] | None = None
    owner: asyncio.Task[None] | None = None
    stopping: asyncio.Task[None] | None = None
    stop_reason: DoneReason = "user_cancelled"
    has_begun: bool = False
    is_lost: bool = False  # another process has taken it over
    speaker: str | None = None  # the name of the agent that answers, where one was chosen
    started_at: float = field(default_factory=time.monotonic)

    def emit(self, event: AnyEvent) -> None:
        """Add an event of the run to its answer and its ledger."""
        if self.speaker is not None:
            event = _with_speaker(self.speaker, event)
        self.answer.add(event)
        self.writer.write(event)

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
            _, pending = await asyncio.wait({pump}, timeout=_RECANCEL_SECONDS)
            if not pending:
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
            done = pump.result()
            if done is not None and done.reason == "user_cancelled":
                return replace(done, reason=self.stop_reason)
            return done
        if not isinstance(error, StaleAttempt):
            logger.error("run %s failed outside its agent", self.run.run_id, exc_info=error)
        return DoneEvent(reason="failed")


def _with_speaker(name: str, event: AnyEvent) -> AnyEvent:
    """The event with the answering agent's name; events of sub-agents have their own."""
    match event:
        case TextEvent() | ThinkingEvent() | ToolCallEvent() if event.agent is None:
            return replace(event, agent=name, is_main=True)
        case _:
            return event


class Worker:
    """Executes runs in this process, and keeps its leases on them."""

    def __init__(
        self,
        name: str,
        store: RunStore,
        executors: SessionExecutors,
        ledger: Ledger,
        config_for: ConfigFor,
        *,
        queue: RunQueue | None = None,
        lease_seconds: float = 10.0,
        hitl_timeout_seconds: float = 300.0,
        worker_role: WorkerRole | None = None,
        control: Control | None = None,
        figures: FigureChecks | None = None,
        accounts: Accounts | None = None,
        contexts: RunContexts | None = None,
        budgets: Budgets | None = None,
        audit: AuditLog | None = None,
        metrics: Metrics | None = None,
        traces: Traces | None = None,
    ) -> None:
        """`name` is unique among living and dead processes.

        Args:
            queue: Where opened runs are put for other processes; without it they begin here.
            figures: Checks the figures of answers against query results.
            accounts: Ends the runs of users that are disabled or deleted.
        """
        self.name = name
        self._control = control or Control(LocalBus())
        self.approvals = StoredApprovals(
            store, audit, self._control, timeout_seconds=hitl_timeout_seconds
        )
        self.leases = Leases(store, name, seconds=lease_seconds)
        self.recovery = Recovery(store, self, worker_role or WorkerRole())
        self._store = store
        self._executors = executors
        self._ledger = ledger
        self._config_for = config_for
        self._queue = queue
        self._figures = figures
        self._accounts = accounts
        self._contexts = contexts or RunContexts(budgets=budgets)
        self._budgets = budgets
        self._metrics = metrics
        self._traces = traces or Traces()
        self._active_runs: dict[str, ActiveRun] = {}
        self._lease_task: asyncio.Task[None] | None = None
        self._recovery_task: asyncio.Task[None] | None = None
        self._subscriptions: list[Subscription] = []
        self.is_closing = False

    # -- a run ----------------------------------------------------------------------------------

    async def open(self, new: NewRun) -> OpenedRun:
        """Commit a run and begin to answer it, or put it in the queue.

        Raises:
            SessionNotFound, SessionBusy: as `RunStore.open`.
            Unavailable: this process is stopping.
        """
        if self.is_closing:
            raise Unavailable("This process is shutting down. Try again in a moment.")
        if (traceparent := self._traces.traceparent) is not None:
            new = replace(new, input=replace(new.input, traceparent=traceparent))
        if self._queue is not None:
            opened = await self._store.open(new, worker=None, lease_until=None)
            if opened.is_new:
                self._queue.put(opened.run.run_id)
            return opened
        with self.leases.acquiring() as until:
            opened = await self._store.open(new, worker=self.name, lease_until=until)
            if opened.is_new:
                self.begin(opened.run, opened.last_seq)
        return opened

    def begin(self, run: Run, last_seq: int) -> None:
        """Start answering a run that this process owns."""
        active = self.activate(run, last_seq)
        self.launch(active, self.agent_events(active))

    def activate(self, run: Run, last_seq: int, written_bytes: int = 0) -> ActiveRun:
        """The run with a writer that continues after `last_seq`; `launch` starts it."""
        return ActiveRun(run, self._ledger.writer(run, last_seq, written_bytes=written_bytes))

    def agent_events(
        self, active: ActiveRun, *, is_resumed: bool = False
    ) -> AsyncGenerator[AnyEvent]:
        """The events of the agent that answers; one that cannot be built fails the run.

        `is_resumed`: the thread waits for an approval of an earlier attempt.
        """
        run = active.run
        try:
            config = self._config_for(run)
            executor = self._executors.get(run.session_id, config, self.approvals)
            context = self._context(active, config)
            if is_resumed:
                active.speaker = run.input.speaker
                return executor.resume(run.session_id, context)
            if run.input.compact is not None:
                summarization = self._executors.summarization(config, keep=run.input.compact)
                return executor.compact(run.session_id, summarization, context)
            if run.input.route is not None:
                if not run.input.route.is_known:
                    return _answer_with_note(run, executor, run.input.route.note)
                active.emit(ThinkingEvent(content=run.input.route.note))
            active.speaker = run.input.speaker
            return executor.execute(
                run.input.message, run.session_id, context, files=run.input.files
            )
        except Exception as error:
            return _failure_events(error)

    def _context(self, active: ActiveRun, config: AgentConfig) -> RunContext:
        async def hand_over(agent_id: str, name: str) -> None:
            active.speaker = name
            try:
                await self._store.hand_over(active.run, agent_id)
            except Unavailable:
                logger.warning(
                    "run %s: could not record that %s answers", active.run.run_id, agent_id
                )

        ask = partial(self.approvals.ask_in_call, active)
        return self._contexts.of(active.run, config, ask, hand_over)

    def launch(self, active: ActiveRun, events: AsyncGenerator[AnyEvent]) -> None:
        """Start the two tasks of a run."""
        run_id = active.run.run_id
        self._active_runs[run_id] = active
        self.approvals.add_run(active.run)
        active.pump = asyncio.create_task(self._pump(active, events), name=f"pump-{run_id}")
        active.owner = asyncio.create_task(
            self._write_end(active, active.pump), name=f"run-{run_id}"
        )

    async def _pump(self, active: ActiveRun, events: AsyncGenerator[AnyEvent]) -> DoneEvent | None:
        """Write the agent's events; return how it ended, or None if it is left waiting."""
        active.has_begun = True
        self._bind_task(active)
        trace = _trace_of(active.run)
        with suppress(Suspended), self._traces.run(trace, passing=(Suspended,)) as traced:
            done = await self._write_events(active, events)
            if traced is not None:
                _record_end(trace, ending_of(active.answer, done))
            return done
        return None

    def _bind_task(self, active: ActiveRun) -> None:
        """Bind the run to this task's logs, and fence its thread against a lost lease."""

        async def fence() -> None:
            await self.leases.ensure_held(active.run, is_lost=active.is_lost)

        bind_run(active.run.run_id, active.run.user_id)
        fence_threads(fence)

    async def _write_events(self, active: ActiveRun, events: AsyncGenerator[AnyEvent]) -> DoneEvent:
        writer = active.writer
        async with aclosing(events) as stream:
            async for event in stream:
                if isinstance(event, DoneEvent):
                    return event
                if isinstance(event, HITLRequestEvent):
                    await writer.flush()
                    await self.approvals.add(active.run, event)
                    if event.request_id in active.written_requests:
                        continue
                active.emit(event)
                await writer.drain()
        return DoneEvent(reason="failed")

    async def _write_end(self, active: ActiveRun, pump: asyncio.Task[DoneEvent | None]) -> None:
        """Wait for the pump and write the end, unless the run is left waiting."""
        self._bind_task(active)
        await asyncio.wait({pump})
        done: DoneEvent | None = None
        try:
            done = active.outcome(pump)
            if done is not None:
                await self._finish(active, done)
        except Exception:
            logger.exception("the end of run %s could not be written", active.run.run_id)
        finally:
            if self._budgets is not None:
                calls = active.answer.tool_calls
                self._budgets.close(active.run.run_id, has_ended=done is not None, tool_calls=calls)
            self.approvals.remove_run(active.run)
            self._active_runs.pop(active.run.run_id, None)
            self.recovery.notify_capacity()
        if pump.done() and not pump.cancelled() and not pump.exception() and done is None:
            await self.leases.release(active.run.run_id)  # left waiting, for another process
            self._control.announce_free_runs()

    async def _finish(self, active: ActiveRun, done: DoneEvent) -> None:
        if not active.has_begun:  # cancelled before its first step
            await self.record_interrupted_run(active.run, "")
        if done.reason in ("failed", "shutdown") and not active.answer.has_error:
            active.emit(failure_of(done))
        done = await self._with_figure_report(active, done)
        ending = ending_of(active.answer, done)
        if await active.writer.close(done, ending):
            self._record_metrics(active, ending.status)
        else:
            logger.warning("run %s was taken over; its end is written there", active.run.run_id)

    async def _with_figure_report(self, active: ActiveRun, done: DoneEvent) -> DoneEvent:
        """The end, with the check of the answer's figures if it used query results."""
        run, answer = active.run, active.answer
        if self._figures is None or not answer.table_ids or not answer.text:
            return done
        try:
            report = await self._figures.report(
                answer.text, run.input.message, answer.table_ids, owner=run.user_id
            )
        except Exception:
            logger.exception("the figures of run %s could not be checked", run.run_id)
            return done
        metadata = {**(done.metadata or {}), "figures": report} if report else done.metadata
        return replace(done, metadata=metadata)

    def _record_metrics(self, active: ActiveRun, status: str) -> None:
        if self._metrics is None:
            return
        first_text_at = active.writer.first_text_at
        self._metrics.run_ended(
            status,
            time.monotonic() - active.started_at,
            first_text_seconds=None if first_text_at is None else first_text_at - active.started_at,
            events=active.writer.written,
        )

    async def record_interrupted_run(self, run: Run, partial_text: str) -> None:
        """Record the visible part of an interrupted run in its thread."""
        if run.input.compact is not None:
            return
        with suppress(DataAgentError):  # an agent that cannot be built has no thread
            executor = self._executors.get(run.session_id, self._config_for(run), self.approvals)
            await _record_in_thread(run, executor, partial_text)

    # -- stopping a run -------------------------------------------------------------------------

    async def stop(self, run: Run) -> None:
        """Stop a run in whichever process owns it, and wait for its end, five seconds at most."""
        ended = self.cancel(run.run_id)
        if ended is not None:
            await asyncio.wait({ended}, timeout=_STOP_SECONDS)
            return
        await self._store.request_cancel(run.run_id)
        if self._control.is_shared:
            await self._stop_elsewhere(run.run_id)

    def cancel(
        self, run_id: str, reason: DoneReason = "user_cancelled"
    ) -> asyncio.Task[None] | None:
        """Stop a run of this process; the returned task ends when the run has. None: not here."""
        active = self._active_runs.get(run_id)
        if active is None:
            return None
        active.stop(reason)
        return active.owner

    async def _stop_elsewhere(self, run_id: str) -> None:
        """Notify the owner until the run has ended; end a run without a living owner here."""
        deadline = time.monotonic() + _STOP_SECONDS
        pauses = iter(_STOP_PAUSES)
        while time.monotonic() < deadline:
            run = await self._store.get(run_id)
            if run is None or not run.is_active:
                return
            if run.status == "queued" or run.lease_until is None or run.lease_until < now():
                await self.recovery.claim(run_id)
            elif run.lease_owner is not None:
                self._control.cancel(run.lease_owner, run_id)
            await asyncio.sleep(next(pauses, _STOP_PAUSES[-1]))

    # -- the runs of this process ---------------------------------------------------------------

    @property
    def active(self) -> int:
        """How many runs this process has."""
        return len(self._active_runs)

    @property
    def busy(self) -> int:
        """How many runs this process executes, not counting those that wait for an approval."""
        return len(self._active_runs) - self.approvals.waiting

    def owns(self, run_id: str) -> bool:
        """Whether this process has the run."""
        return run_id in self._active_runs

    def find_run(self, user_id: str, *, run_id: str = "", session_id: str = "") -> Run | None:
        """A user's run in this process, by its id or its session's."""
        for run in (active.run for active in self._active_runs.values()):
            if run.user_id == user_id and (run.run_id == run_id or run.session_id == session_id):
                return run
        return None

    async def start(self, *, is_alone: bool) -> None:
        """Renew leases and take over lost runs. `is_alone`: no other process is running."""
        self._subscriptions = self._control.subscribe_worker(
            self.name,
            on_cancel=self.cancel,
            on_decided=self.approvals.recheck,
            on_free_runs=self.leases.wake,
        )
        self._lease_task = asyncio.create_task(self._keep_leases(), name="leases")
        await self.recovery.recover(not_worker=self.name if is_alone else None)

    async def aclose(self, grace_seconds: float) -> None:
        """Let runs finish, stop those that do not, leave those that wait for an approval.

        Leases are renewed meanwhile, so that no other process takes these runs over.
        """
        self.is_closing = True
        await self.leases.wait_for_acquisitions(grace_seconds)
        self.approvals.suspend()
        tasks = {active.owner for active in self._active_runs.values() if active.owner is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
            for active in list(self._active_runs.values()):
                active.stop("shutdown")
            await asyncio.wait(tasks, timeout=grace_seconds)
        await cancel_all([self._lease_task, self._recovery_task])
        while self._subscriptions:
            self._subscriptions.pop().end()

    async def _keep_leases(self) -> None:
        """Renew leases, and recover runs in a task: claiming many takes longer than a lease."""
        while True:
            await self.leases.wait_until_due()
            await self._log_errors(self._renew_leases)
            if self._recovery_task is None and not self.is_closing:
                self._recovery_task = asyncio.create_task(
                    self._log_errors(self._recover_and_release), name="recovery"
                )

    async def _log_errors(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except Unavailable:
            logger.warning("leases wait for the store")
        except Exception:
            logger.exception("lease round failed")

    async def _renew_leases(self) -> None:
        if self._active_runs:
            renewed = await self.leases.renew(self._active_runs.keys)
            for run_id in renewed.cancelled:
                self.cancel(run_id)
            for run_id in renewed.lost:
                self._stop_lost_run(run_id)
        if self._active_runs and self._accounts is not None:
            active = [each.run for each in self._active_runs.values()]
            for run_id in await self._accounts.runs_to_cancel(active):
                self.cancel(run_id)

    def _stop_lost_run(self, run_id: str) -> None:
        """Stop a run that another process took over; nothing more of it is written here."""
        active = self._active_runs.get(run_id)
        if active is not None and active.pump is not None and not active.pump.done():
            active.is_lost = True
            active.stop("shutdown")

    async def _recover_and_release(self) -> None:
        """Take over lost runs, and release sessions that are idle."""
        wake_count = self.leases.wake_count
        try:
            await self.recovery.recover()
            self._executors.mark_in_use(
                active.run.session_id for active in self._active_runs.values()
            )
            await self._executors.release_expired()
        finally:
            self._recovery_task = None
            if self.leases.wake_count != wake_count:  # woken again meanwhile
                self.leases.wake()


async def _failure_events(error: Exception) -> AsyncGenerator[AnyEvent]:
    """The events of a run whose agent could not be built."""
    yield error_event(error)
    yield DoneEvent(reason="failed")


async def _answer_with_note(
    run: Run, executor: AgentExecutor, note: str
) -> AsyncGenerator[AnyEvent]:
    """The events of a run that a rule answers without a model."""
    yield TextEvent(content=note, is_final=True)
    await _record_in_thread(run, executor, note)
    yield DoneEvent()


async def _record_in_thread(run: Run, executor: AgentExecutor, answer: str) -> None:
    await executor.record_interrupted_turn(
        run.input.message, answer, run.session_id, files=run.input.files
    )


def _trace_of(run: Run) -> RunTrace:
    return RunTrace(
        run_id=run.run_id,
        session_id=run.session_id,
        user_id=run.user_id,
        agent=run.assistant_id,
        message=run.input.message,
        traceparent=run.input.traceparent,
    )


def _record_end(trace: RunTrace, ending: Ending) -> None:
    trace.answer = ending.content
    trace.usage = ending.token_usage or {}
    if ending.status == "failed":
        trace.failure = str((ending.error or {}).get("error_code") or ending.status)
    elif ending.status == "cancelled":
        trace.failure = CANCELLED
