"""Calls on a live session, each ended by its result, its deadline or the session's end.

A call runs in its caller's own task. The deadline or the session's end cancels that task and gives
the reason; the caller then gets a failure instead of a cancellation. The server is asked to stop,
without anyone waiting for it. `Health` probes the session at intervals, and results of calls count
as responses.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

from dataagent_core.mcp.types import (
    CallFailed,
    CallFailure,
    Elicitation,
    ElicitationAnswer,
    JsonObject,
    OnElicit,
    OnProgress,
    RemoteResult,
    ServerSpec,
)
from dataagent_core.mcp.wire import McpSession, SessionLost, SessionSignals


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """When a live session is probed, and how many failed probes end it."""

    interval_seconds: float = 30.0
    probe_seconds: float = 5.0
    most_missed: int = 3


class Health:
    """The health of one live session."""

    def __init__(self, rules: HealthRules) -> None:
        self._rules = rules
        self._missed = 0
        self._since = 0.0
        self._pause = 0.0
        self._schedule_next()

    def record_response(self) -> None:
        """Note that the server responded."""
        self._missed = 0
        self._since = time.monotonic()

    def due_in(self) -> float:
        """Return the seconds until the next probe."""
        return max(0.0, self._since + self._pause - time.monotonic())

    async def check(self, session: McpSession) -> CallFailure | None:
        """Probe once, and return a failure if the session must be given up."""
        try:
            async with asyncio.timeout(self._rules.probe_seconds):
                await session.probe()
        except TimeoutError:
            return self._record_miss(
                CallFailure("MCP_TIMEOUT", "The server gives no sign of life.")
            )
        except SessionLost as error:
            return error.failure
        except CallFailed as error:
            if error.failure.code == "MCP_AUTH_REQUIRED":
                return error.failure
            return self._record_miss(error.failure)
        self._missed = 0
        self._schedule_next()
        return None

    def _record_miss(self, failure: CallFailure) -> CallFailure | None:
        self._missed += 1
        self._schedule_next()
        return failure if self._missed >= self._rules.most_missed else None

    def _schedule_next(self) -> None:
        spread = random.uniform(0.8, 1.2)  # noqa: S311 no secret
        self._pause = self._rules.interval_seconds * spread
        self._since = time.monotonic()


_LOOK_SECONDS = 0.5
_SETTLE_SECONDS = 6.0
_log = logging.getLogger(__name__)


class CallTimer:
    """The time left of a call, suspended while a person is asked."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._since = time.monotonic()
        self._stops = 0

    def left(self) -> float:
        """Return the seconds until the deadline; while suspended, until the next check."""
        if self._stops:
            return _LOOK_SECONDS
        return self._left - (time.monotonic() - self._since)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Suspend the timer while the block lasts."""
        if not self._stops:
            self._left = self.left()
        self._stops += 1
        try:
            yield
        finally:
            self._stops -= 1
            self._since = time.monotonic()


def _caller() -> asyncio.Task[Any]:
    return cast(asyncio.Task[Any], asyncio.current_task())  # a call is awaited, so in a task


@dataclass(slots=True, eq=False)
class PendingCall:
    """One call, created by the task that makes it."""

    name: str
    arguments: JsonObject
    timer: CallTimer
    on_progress: OnProgress | None = None
    on_elicit: OnElicit | None = None
    on_slot: Callable[[], None] | None = None
    """Called when the call has a slot, just before it is sent."""
    trace_id: str = ""
    was_sent: bool = False
    failure: CallFailed | None = None
    """Why the caller was released, once it was."""
    _task: asyncio.Task[Any] = field(default_factory=_caller)
    _cancelled_before: int = field(init=False)
    _has_cancelled: bool = False

    def __post_init__(self) -> None:
        self._cancelled_before = self._task.cancelling()

    def fail(self, failure: CallFailed) -> None:
        """Release the caller with a failure; the first failure counts."""
        if self.failure is None:
            self.failure = failure
            self._has_cancelled = True
            self._task.cancel()

    def uncancel(self) -> None:
        """Undo our own cancellation of the caller's task."""
        if self._has_cancelled:
            self._has_cancelled = False
            self._task.uncancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether someone else cancelled the caller's task."""
        return self._task.cancelling() > self._cancelled_before


class _Deadlines:
    """Releases callers whose timers have run out, with one loop timer for the next of them.

    A call that ends in time leaves the timer alone. It finds out when it rings.
    """

    def __init__(self, server_name: str, calls: set[PendingCall]) -> None:
        self._server_name = server_name
        self._calls = calls
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = float("inf")

    def watch(self, seconds: float) -> None:
        """Check again after so many seconds, or earlier."""
        at = time.monotonic() + seconds
        if at < self._rings_at:
            self.cancel()
            self._rings_at = at
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self.cancel()
        for call in self._calls:
            left = call.timer.left()
            if left <= 0:
                call.fail(_timed_out(self._server_name, call))
            else:
                self.watch(left)

    def cancel(self) -> None:
        """Stop checking."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._rings_at = None, float("inf")


class LiveSession:
    """An open session with its slots and running calls."""

    def __init__(
        self, session: McpSession, signals: SessionSignals, health: Health, spec: ServerSpec
    ) -> None:
        self.session = session
        self.signals = signals
        self.health = health
        self.name = spec.name
        self.label = spec.label
        self.slots = asyncio.Semaphore(spec.max_concurrency)
        self._dead: str | None = None
        self._calls: set[PendingCall] = set()
        self._deadlines = _Deadlines(spec.name, self._calls)
        self._has_none = asyncio.Event()

    def start_call(self, call: PendingCall) -> None:
        """Register a call; follow it with `end_call`.

        Raises:
            CallFailed: the session is dead, or there is no time.
        """
        if self._dead is not None:
            raise unavailable(self.name, self._dead, was_sent=False)
        left = call.timer.left()
        if left <= 0:
            raise _timed_out(self.name, call)
        self._calls.add(call)
        self._deadlines.watch(left)

    def end_call(self, call: PendingCall) -> None:
        """Unregister a call."""
        self._calls.discard(call)
        if not self._calls:
            self._has_none.set()

    @property
    def is_busy(self) -> bool:
        """Whether a call is running."""
        return bool(self._calls)

    def end(self, reason: str) -> None:
        """Release all callers with a failure."""
        self._dead = reason
        self._deadlines.cancel()
        for call in self._calls:
            call.fail(unavailable(self.name, reason, was_sent=call.was_sent))

    async def wait_for_calls(self) -> None:
        """Wait until no call is running."""
        while self._calls:
            self._has_none.clear()
            await self._has_none.wait()

    async def drain(self) -> None:
        """Wait a bounded time until the last call has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_SECONDS):
                await self.wait_for_calls()


async def run_call(live: LiveSession, call: PendingCall) -> RemoteResult:
    """Make a call and return its result.

    Raises:
        CallFailed: there is no result.
    """
    live.start_call(call)
    try:
        return await _call_in_slot(live, call)
    except asyncio.CancelledError:
        call.uncancel()
        if call.is_cancelled:
            raise
        # without a reason it was a scope of the library
        broke = unavailable(live.name, "the session broke", was_sent=call.was_sent)
        raise call.failure or broke from None
    finally:
        live.end_call(call)
        call.uncancel()


async def _call_in_slot(live: LiveSession, call: PendingCall) -> RemoteResult:
    """Wait for a slot, then call."""
    async with live.slots:
        call.was_sent = True
        if call.on_slot is not None:
            call.on_slot()
        try:
            return await live.session.call(
                call.name,
                call.arguments,
                on_progress=call.on_progress,
                on_elicit=with_timer_paused(call.on_elicit, call.timer) if call.on_elicit else None,
                trace_id=call.trace_id,
            )
        except CallFailed:
            raise
        except Exception as error:  # of the library: its caller gets a failure, whatever it was
            live.signals.note_suspect()
            _log.warning("a call of MCP server %s broke: %s", live.label, type(error).__name__)
            raise unavailable(live.name, "the call broke", was_sent=True) from error


def with_timer_paused(on_elicit: OnElicit, timer: CallTimer) -> OnElicit:
    """Wrap the callback so that the timer is suspended while it runs."""

    async def ask(elicitation: Elicitation) -> ElicitationAnswer:
        with timer.paused():
            return await on_elicit(elicitation)

    return ask


def unavailable(server_name: str, reason: str, *, was_sent: bool) -> CallFailed:
    """Return the failure of a call whose server is unavailable."""
    why = f" ({reason.rstrip('.')})" if reason else ""
    message = f"The server '{server_name}' is not available now{why}. Try later or go on without."
    failure = CallFailure("MCP_SERVER_UNAVAILABLE", message, retryable=True)
    return CallFailed(failure, was_sent=was_sent)


def _timed_out(server_name: str, call: PendingCall) -> CallFailed:
    what = "did not answer in time" if call.was_sent else "was busy with other calls all the time"
    message = f"The server '{server_name}' {what}."
    failure = CallFailure("MCP_TIMEOUT", message, retryable=True)
    return CallFailed(failure, was_sent=call.was_sent)
