"""Produces the events of a run: an answer to its message, or a summary of its thread.

A run that this process executes: its writer, its answer so far, its two tasks.

State, and how it is stopped; `worker.py` decides what happens to it.

Traces a run: its user, the request that started it, and how it ended.

The request's position in its trace is stored with the run, so that a process which takes the run
over continues the same trace.

Executes the runs this process owns, and takes over those whose process died.

The run's owner is the only writer of its events and of its answer. Each run has two tasks: one
pulls events out of the agent and can be cancelled, the other waits for it and always writes the
end. Leases are renewed for all runs together; an expired lease marks a dead process, whose runs end
as failed here, or continue if they were only waiting for an approval (`recovery.py`).

Decides where a run is executed, and stops a run in whichever process owns it.

Without a queue a run begins in the process that accepted it; with one it is left to the workers. A
run of this process is stopped directly. For a run of another process the cancellation is stored,
its owner is notified, and the caller waits for the end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dataagent_core.audit import AuditLog
from dataagent_core.data.figure_checks import FigureChecks
from dataagent_core.engine import AgentConfig, AgentExecutor, Suspended, fence_threads
from dataagent_core.engine.executor import Emit
from dataagent_core.errors import DataAgentError, StaleAttempt, Unavailable
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    DoneReason,
    ErrorEvent,
    HITLRequestEvent,
    TextEvent,
    ThinkingEvent,
    ToolCallEvent,
)
from dataagent_core.identity import RunContext
from dataagent_core.identity.budgets import Budgets
from dataagent_core.middleware.upstream import Summarization
from dataagent_core.runs.admission import Accounts
from dataagent_core.runs.approvals import StoredApprovals
from dataagent_core.runs.cluster.bus import Control, LocalBus, Subscription
from dataagent_core.runs.contexts import RunContexts, hand_over_recorder, was_asking_in_call
from dataagent_core.runs.history import AnswerBuilder, ending_of, failure_of
from dataagent_core.runs.leases import LOST, Leases, Recovery, WorkerRole
from dataagent_core.runs.ledger import Ledger, RunWriter
from dataagent_core.runs.message_resolver import failure_events, with_route_note
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import COMPACT, SPEAKER, Ending, NewRun, OpenedRun, Run
from dataagent_core.session import SessionManager
from dataagent_core.session.types import now
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.telemetry import CANCELLED, Metrics, RunTrace, Traces, bind_run

if TYPE_CHECKING:
    from dataagent_core.runs.cluster.queue import RunQueue


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


def run_events(
    run: Run,
    executor: AgentExecutor,
    context: RunContext,
    *,
    emit: Emit,
    set_speaker: Callable[[str], None],
    summarization: Callable[[str], Summarization],
    is_resumed: bool = False,
) -> AsyncGenerator[AnyEvent]:
    """The events of a run that begins, or resumes after an approval (`is_resumed`).

    `set_speaker` is called with the name of the agent before its first event, if one was chosen;
    `summarization` is called with what the summary should not leave out.

    Raises:
        Misconfigured: the agent's model is not available.
    """

    def on_agent_start() -> None:
        if SPEAKER in run.input:
            set_speaker(run.input[SPEAKER])

    if is_resumed:
        on_agent_start()
        return executor.resume(run.session_id, context, emit=emit)
    if COMPACT in run.input:
        return executor.compact(run.session_id, summarization(run.input[COMPACT]), context)
    events = executor.execute(
        run.input["message"],
        run.session_id,
        context,
        emit=emit,
        files=run.input.get("files", ()),
    )
    return with_route_note(run, executor, events, on_agent_start=on_agent_start)


async def record_interrupted_run(run: Run, executor: AgentExecutor, partial_text: str) -> None:
    """Record the visible part of an interrupted run in its thread."""
    if COMPACT not in run.input:
        files = run.input.get("files", ())
        await executor.record_interrupted_turn(
            run.input["message"], partial_text, run.session_id, files=files
        )


_TRACEPARENT = "traceparent"
EndRecorder = Callable[[DoneEvent], DoneEvent]


def with_traceparent(new: NewRun, traces: Traces) -> NewRun:
    """The run with its position in the trace of the current request, if there is one."""
    traceparent = traces.traceparent
    if traceparent is None:
        return new
    return replace(new, input={**new.input, _TRACEPARENT: traceparent})


@contextmanager
def trace_run(traces: Traces, run: Run, answer: AnswerBuilder) -> Generator[EndRecorder]:
    """Trace the work on a run; call the yielded function with its end."""
    trace = RunTrace(
        run_id=run.run_id,
        session_id=run.session_id,
        user_id=run.user_id,
        agent=run.assistant_id,
        message=str(run.input.get("message", "")),
        traceparent=run.input.get(_TRACEPARENT),
    )

    with traces.run(trace, passing=(Suspended,)) as followed:

        def record_end(done: DoneEvent) -> DoneEvent:
            if followed is not None:
                _record_end(trace, ending_of(answer, done))
            return done

        yield record_end


def _record_end(trace: RunTrace, ending: Ending) -> None:
    trace.answer = ending.content
    trace.usage = ending.token_usage or {}
    if ending.status == "failed":
        trace.failure = str((ending.error or {}).get("error_code") or ending.status)
    elif ending.status == "cancelled":
        trace.failure = CANCELLED


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
        """`name` is unique among living and dead processes; `figures` checks data answers.

        With `accounts` runs end when their user is disabled or deleted.
        """
        self.name = name
        self._control = control or Control(LocalBus())
        self.approvals = StoredApprovals(store, audit, self._control)
        self._recovery = Recovery(store, self, worker_role or WorkerRole())
        self.leases = Leases(store, name, seconds=lease_seconds)
        self._store = store
        self._sessions = sessions
        self._ledger = ledger
        self._config_for = config_for
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

    # -- the process --------------------------------------------------------------------------

    async def start(self, *, is_alone: bool) -> None:
        """Renew leases and take over lost runs. `is_alone`: no other process is running."""
        self._subscriptions = self._control.subscribe_worker(
            self.name,
            on_cancel=self.cancel,
            on_decided=self.approvals.recheck,
            on_free_runs=self.leases.wake,
        )
        self._lease_task = asyncio.create_task(self._keep_leases(), name="leases")
        await self.recover(not_worker=self.name if is_alone else None)

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
            await self._log_errors(self._renew)
            if self._recovery_task is None and not self.is_closing:
                self._recovery_task = asyncio.create_task(
                    self._log_errors(self._recover_and_release), name="recovery"
                )

    async def _recover_and_release(self) -> None:
        wake_count = self.leases.wake_count
        try:
            await self.recover()
            self._sessions.mark_in_use(
                active.run.session_id for active in self._active_runs.values()
            )
            await self._sessions.release_expired()
        finally:
            self._recovery_task = None
            if self.leases.wake_count != wake_count:  # woken again meanwhile
                self.leases.wake()

    async def _log_errors(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except Unavailable:
            logger.warning("leases wait for the store")
        except Exception:
            logger.exception("lease round failed")

    async def _renew(self) -> None:
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

    async def recover(self, *, not_worker: str | None = None) -> int:
        """Take over the runs whose process died; return how many."""
        return await self._recovery.recover(not_worker=not_worker)

    async def wait_for_capacity(self) -> None:
        """Wait until one more run can be answered."""
        await self._recovery.wait_for_capacity()

    async def take(self, run_id: str) -> bool:
        """Claim a run without a living owner; False if it has one, or this process stops."""
        return not self.is_closing and await self._recovery.claim(run_id)

    async def take_over(self, run: Run, lost: ErrorEvent = LOST) -> None:
        """Continue a claimed run if it waits for an approval, else end it."""
        entries = await self._store.read_run(run.run_id)
        last_seq = await self._store.last_seq(run.session_id)
        written_bytes = sum(len(entry.wire) for entry in entries)
        active = ActiveRun(run, self._ledger.writer(run, last_seq, written_bytes=written_bytes))
        unsaved = AnswerBuilder()  # text since the last checkpoint, which is at each request
        for event in (entry.event for entry in entries):
            active.answer.add(event)
            unsaved.add(event)
            if isinstance(event, HITLRequestEvent):
                active.written_requests.add(event.request_id)
                unsaved = AnswerBuilder()
        if run.cancel_requested:
            events = self._cancel_lost_run(run, unsaved.text)
        elif run.status == "waiting" and not was_asking_in_call(
            await self._store.approvals(run.run_id)
        ):
            events = self._start_events(active, is_resumed=True)
        else:
            events = self._fail_lost_run(run, unsaved.text, lost)
        self._launch(active, events)

    async def _fail_lost_run(
        self, run: Run, partial_text: str, lost: ErrorEvent
    ) -> AsyncGenerator[AnyEvent]:
        """End a lost run as failed, and record its partial answer in the thread."""
        logger.warning("run %s is lost (%s); it ends as failed", run.run_id, lost.error_code)
        await self._record_interrupted_run(run, partial_text)
        yield ErrorEvent(error=lost.error, error_code=lost.error_code, recoverable=lost.recoverable)
        yield DoneEvent(reason="failed")

    async def _cancel_lost_run(self, run: Run, partial_text: str) -> AsyncGenerator[AnyEvent]:
        """End a run that was cancelled while no process owned it."""
        await self._record_interrupted_run(run, partial_text)
        yield DoneEvent(cancelled=True, reason="user_cancelled")

    async def _record_interrupted_run(self, run: Run, partial_text: str) -> None:
        with suppress(DataAgentError):  # an agent that cannot be built has no thread
            await record_interrupted_run(
                run, self._executor(run, self._config_for(run)), partial_text
            )

    # -- a run ----------------------------------------------------------------------------------

    def begin(self, run: Run, last_seq: int) -> None:
        """Start answering a run that was just opened for this process."""
        active = ActiveRun(run, self._ledger.writer(run, last_seq))
        self._launch(active, self._start_events(active))

    def _start_events(
        self, active: ActiveRun, *, is_resumed: bool = False
    ) -> AsyncGenerator[AnyEvent]:
        """The events of the run's agent; an agent that cannot be built fails the run."""
        try:
            config = self._config_for(active.run)
            return run_events(
                active.run,
                self._executor(active.run, config),
                self._context(active, config),
                emit=active.emit,
                set_speaker=active.set_speaker,
                summarization=lambda keep: self._sessions.summarization(config, keep=keep),
                is_resumed=is_resumed,
            )
        except Exception as error:
            return failure_events(error)

    def cancel(
        self, run_id: str, reason: DoneReason = "user_cancelled"
    ) -> asyncio.Task[None] | None:
        """Stop a run of this process; the task ends when the run has. None: not here."""
        active = self._active_runs.get(run_id)
        if active is None:
            return None
        active.stop(reason)
        return active.owner

    def _launch(self, active: ActiveRun, events: AsyncGenerator[AnyEvent]) -> None:
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
        run = active.run
        self._bind_task(active)
        with suppress(Suspended), trace_run(self._traces, run, active.answer) as record_end:
            return record_end(await self._write_events(active, events))
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
                    await self.approvals.keep(active.run, event)
                    if event.request_id in active.written_requests:
                        continue
                active.emit(event)
                if not isinstance(event, TextEvent):
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
            self._recovery.notify_capacity()
        if pump.done() and not pump.cancelled() and not pump.exception() and done is None:
            await self.leases.release(active.run.run_id)  # left waiting, for another process
            self._control.announce_free_runs()

    async def _finish(self, active: ActiveRun, done: DoneEvent) -> None:
        if not active.has_begun:  # cancelled before its first step
            await self._record_interrupted_run(active.run, "")
        if done.reason in ("failed", "shutdown") and not active.answer.has_error:
            active.emit(failure_of(done))
        done = await self._with_figure_report(active, done)
        ending = ending_of(active.answer, done)
        is_kept = await active.writer.close(done, ending)
        if is_kept:
            self._record_metrics(active, ending.status)
        else:
            logger.warning("run %s was taken over; its end is written there", active.run.run_id)

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

    @property
    def active(self) -> int:
        """How many runs this process has."""
        return len(self._active_runs)

    @property
    def busy(self) -> int:
        """How many runs this process executes, not counting those that wait for an approval."""
        return len(self._active_runs) - self.approvals.waiting

    def find_run(self, user_id: str, *, run_id: str = "", session_id: str = "") -> Run | None:
        """A user's run in this process, by its id or its session's."""
        for run in (active.run for active in self._active_runs.values()):
            if run.user_id == user_id and (run.run_id == run_id or run.session_id == session_id):
                return run
        return None

    def owns(self, run_id: str) -> bool:
        """Whether this process has the run."""
        return run_id in self._active_runs

    async def _with_figure_report(self, active: ActiveRun, done: DoneEvent) -> DoneEvent:
        """The end, with the check of the answer's figures if it used query results."""
        run, answer = active.run, active.answer
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

    def _context(self, active: ActiveRun, config: AgentConfig) -> RunContext:
        run = active.run
        ask = self._contexts.ask_user_for(run, active.writer, active.emit, self.approvals)
        return self._contexts.of(
            run, config, ask, hand_over_recorder(self._store, run, active.set_speaker)
        )


_STOP_SECONDS = 5.0
_PAUSES = (0.02, 0.05, 0.1, 0.2)


class Dispatch:
    """Starts and stops runs in the process they belong to."""

    def __init__(
        self,
        store: RunStore,
        worker: Worker,
        *,
        control: Control | None = None,
        queue: RunQueue | None = None,
        traces: Traces | None = None,
    ) -> None:
        """With a `queue` runs are executed by other processes, which take them from it.

        With `traces` a run stores its position in the trace of the request that starts it.
        """
        self._store = store
        self._worker = worker
        self._control = control or Control(LocalBus())
        self._queue = queue
        self._traces = traces or Traces()

    async def open(self, new: NewRun) -> OpenedRun:
        """Commit a run and start or enqueue its execution.

        Raises:
            SessionNotFound, SessionBusy: as `RunStore.open`.
            Unavailable: this process is stopping.
        """
        if self._worker.is_closing:
            raise Unavailable("This process is shutting down. Try again in a moment.")
        new = with_traceparent(new, self._traces)
        if self._queue is not None:
            opened = await self._store.open(new, worker=None, lease_until=None)
            if opened.is_new:
                self._queue.put(opened.run.run_id)
            return opened
        worker = self._worker
        with worker.leases.acquiring() as until:
            opened = await self._store.open(new, worker=worker.name, lease_until=until)
            if opened.is_new:
                worker.begin(opened.run, opened.last_seq)
        return opened

    async def stop(self, run: Run) -> None:
        """Stop a run and wait for its end, five seconds at most."""
        ended = self._worker.cancel(run.run_id)
        if ended is not None:
            await asyncio.wait({ended}, timeout=_STOP_SECONDS)
            return
        await self._store.request_cancel(run.run_id)
        if self._control.is_shared:
            await self._stop_elsewhere(run.run_id)

    async def _stop_elsewhere(self, run_id: str) -> None:
        """Notify the owner until the run has ended; end a run without a living owner here."""
        deadline = time.monotonic() + _STOP_SECONDS
        pauses = iter(_PAUSES)
        while time.monotonic() < deadline:
            run = await self._store.get(run_id)
            if run is None or not run.is_active:
                return
            if _is_ownerless(run):
                await self._worker.take(run_id)
            elif run.lease_owner is not None:
                self._control.cancel(run.lease_owner, run_id)
            await asyncio.sleep(next(pauses, _PAUSES[-1]))


def _is_ownerless(run: Run) -> bool:
    return run.status == "queued" or run.lease_until is None or run.lease_until < now()
