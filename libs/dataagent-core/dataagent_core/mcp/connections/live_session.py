"""Calls on a live session: a place, an answer, a deadline, or the news that the session is dead.

A call runs in its caller's own task. Whoever ends it early, the deadline or the session's end,
cancels that task and says why; the caller then leaves with a failure instead of a cancellation,
once the server was told to stop, which nobody waits for (`wire/`). Above: `connection.py`.

When a live connection is looked after, and how many missed signs of life it may have.

A probe every half minute or so, sooner when something broke; three missed in a row, or one closed
door, and the connection counts as lost. Answers to calls are signs of life too. Above:
`connection.py`.
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
    """How often, how long, how many."""

    interval_seconds: float = 30.0
    probe_seconds: float = 5.0
    most_missed: int = 3


class Health:
    """Of one live connection."""

    def __init__(self, rules: HealthRules) -> None:
        self._rules = rules
        self._missed = 0
        self._since = 0.0
        self._pause = 0.0
        self._schedule_next()

    def record_response(self) -> None:
        """It answered."""
        self._missed = 0
        self._since = time.monotonic()

    def due_in(self) -> float:
        """Seconds until the next probe."""
        return max(0.0, self._since + self._pause - time.monotonic())

    async def check(self, session: McpSession) -> CallFailure | None:
        """Probe once. What is wrong, if the connection is to be given up."""
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
    """What is left of a call's time. Stands still while a person is asked."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._since = time.monotonic()
        self._stops = 0

    def left(self) -> float:
        """Seconds until the deadline; while it stands still, until one should look again."""
        if self._stops:
            return _LOOK_SECONDS
        return self._left - (time.monotonic() - self._since)

    @contextmanager
    def paused(self) -> Generator[None]:
        """While the block lasts."""
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
    """One call that is to be made, by the task that makes it."""

    name: str
    arguments: JsonObject
    timer: CallTimer
    on_progress: OnProgress | None = None
    on_elicit: OnElicit | None = None
    on_slot: Callable[[], None] | None = None
    """Told when the call has its place, just before it is sent."""
    trace_id: str = ""
    was_sent: bool = False
    failure: CallFailed | None = None
    """Why it was given up, once it was."""
    _task: asyncio.Task[Any] = field(default_factory=_caller)
    _cancelled_before: int = field(init=False)
    _has_cancelled: bool = False

    def __post_init__(self) -> None:
        self._cancelled_before = self._task.cancelling()

    def fail(self, failure: CallFailed) -> None:
        """Release the caller, for what comes first."""
        if self.failure is None:
            self.failure = failure
            self._has_cancelled = True
            self._task.cancel()

    def uncancel(self) -> None:
        """The caller is out: it is not cancelled any more, unless by somebody else."""
        if self._has_cancelled:
            self._has_cancelled = False
            self._task.uncancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody else wants the caller's task to end."""
        return self._task.cancelling() > self._cancelled_before


class _Deadlines:
    """Releases callers whose clocks have run out: one timer for all, set for the next of them.

    A call that ends in time leaves the timer alone. It finds out when it rings.
    """

    def __init__(self, server_name: str, calls: set[PendingCall]) -> None:
        self._server_name = server_name
        self._calls = calls
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = float("inf")

    def watch(self, seconds: float) -> None:
        """Look again after so many seconds, or earlier."""
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
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._rings_at = None, float("inf")


class LiveSession:
    """A session that can be called: its port, its places, its end."""

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
        """A call begins; whoever makes it says when they leave.

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
        """A call has ended."""
        self._calls.discard(call)
        if not self._calls:
            self._has_none.set()

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._calls)

    def end(self, reason: str) -> None:
        """Release all callers."""
        self._dead = reason
        self._deadlines.cancel()
        for call in self._calls:
            call.fail(unavailable(self.name, reason, was_sent=call.was_sent))

    async def wait_for_calls(self) -> None:
        """Until none runs."""
        while self._calls:
            self._has_none.clear()
            await self._has_none.wait()

    async def drain(self) -> None:
        """Until the last call has ended, which the session's end makes them do."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_SECONDS):
                await self.wait_for_calls()


async def run_call(live: LiveSession, call: PendingCall) -> RemoteResult:
    """Make a call and wait for what comes first.

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
    """Wait for a place, then call."""
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
    """The same, while the clock stands still."""

    async def asked(elicitation: Elicitation) -> ElicitationAnswer:
        with timer.paused():
            return await on_elicit(elicitation)

    return asked


def unavailable(server_name: str, reason: str, *, was_sent: bool) -> CallFailed:
    """The server is not there."""
    why = f" ({reason.rstrip('.')})" if reason else ""
    message = f"The server '{server_name}' is not available now{why}. Try later or go on without."
    failure = CallFailure("MCP_SERVER_UNAVAILABLE", message, retryable=True)
    return CallFailed(failure, was_sent=was_sent)


def _timed_out(server_name: str, call: PendingCall) -> CallFailed:
    what = "did not answer in time" if call.was_sent else "was busy with other calls all the time"
    message = f"The server '{server_name}' {what}."
    failure = CallFailure("MCP_TIMEOUT", message, retryable=True)
    return CallFailed(failure, was_sent=call.was_sent)
