"""Calls on a live session: a place, an answer, a deadline, or the news that the session is dead.

A call runs in its caller's own task. Whoever ends it early, the deadline or the session's end,
cancels that task and says why; the caller then leaves with a failure instead of a cancellation,
once the server was told to stop, which nobody waits for (`wire/`). Above: `connection.py`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

from dataagent_core.mcp.connections.health import Health
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
from dataagent_core.mcp.wire import Port, Signals

_LOOK_SECONDS = 0.5
_SETTLE_SECONDS = 6.0
_log = logging.getLogger(__name__)


class Clock:
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
    def stopped(self) -> Generator[None]:
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
class Ask:
    """One call that is to be made, by the task that makes it."""

    name: str
    arguments: JsonObject
    clock: Clock
    on_progress: OnProgress | None = None
    on_elicit: OnElicit | None = None
    on_place: Callable[[], None] | None = None
    """Told when the call has its place, just before it is sent."""
    trace_id: str = ""
    was_sent: bool = False
    failure: CallFailed | None = None
    """Why it was given up, once it was."""
    _task: asyncio.Task[Any] = field(default_factory=_caller)
    _cancelled_before: int = field(init=False)
    _owes: bool = False

    def __post_init__(self) -> None:
        self._cancelled_before = self._task.cancelling()

    def give_up(self, failure: CallFailed) -> None:
        """Release the caller, for what comes first."""
        if self.failure is None:
            self.failure = failure
            self._owes = True
            self._task.cancel()

    def take_back(self) -> None:
        """The caller is out: it is not cancelled any more, unless by somebody else."""
        if self._owes:
            self._owes = False
            self._task.uncancel()

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody else wants the caller's task to end."""
        return self._task.cancelling() > self._cancelled_before


class _Deadlines:
    """Releases callers whose clocks have run out: one timer for all, set for the next of them.

    A call that ends in time leaves the timer alone. It finds out when it rings.
    """

    def __init__(self, server_name: str, asks: set[Ask]) -> None:
        self._server_name = server_name
        self._asks = asks
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
        for ask in self._asks:
            left = ask.clock.left()
            if left <= 0:
                ask.give_up(_too_late(self._server_name, ask))
            else:
                self.watch(left)

    def cancel(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._rings_at = None, float("inf")


class Live:
    """A session that can be called: its port, its places, its end."""

    def __init__(self, port: Port, signals: Signals, health: Health, spec: ServerSpec) -> None:
        self.port = port
        self.signals = signals
        self.health = health
        self.name = spec.name
        self.label = spec.label
        self.places = asyncio.Semaphore(spec.max_concurrency)
        self._dead: str | None = None
        self._asks: set[Ask] = set()
        self._deadlines = _Deadlines(spec.name, self._asks)
        self._has_none = asyncio.Event()

    def entered(self, ask: Ask) -> None:
        """A call begins; whoever makes it says when they leave.

        Raises:
            CallFailed: the session is dead, or there is no time.
        """
        if self._dead is not None:
            raise unavailable(self.name, self._dead, was_sent=False)
        left = ask.clock.left()
        if left <= 0:
            raise _too_late(self.name, ask)
        self._asks.add(ask)
        self._deadlines.watch(left)

    def left(self, ask: Ask) -> None:
        """A call has ended."""
        self._asks.discard(ask)
        if not self._asks:
            self._has_none.set()

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._asks)

    def end(self, reason: str) -> None:
        """Release all callers."""
        self._dead = reason
        self._deadlines.cancel()
        for ask in self._asks:
            ask.give_up(unavailable(self.name, reason, was_sent=ask.was_sent))

    async def calls_ended(self) -> None:
        """Until none runs."""
        while self._asks:
            self._has_none.clear()
            await self._has_none.wait()

    async def settle(self) -> None:
        """Until the last call has ended, which the session's end makes them do."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_SECONDS):
                await self.calls_ended()


async def pass_through(live: Live, ask: Ask) -> RemoteResult:
    """Make a call and wait for what comes first.

    Raises:
        CallFailed: there is no result.
    """
    live.entered(ask)
    try:
        return await _placed(live, ask)
    except asyncio.CancelledError:
        ask.take_back()
        if ask.is_cancelled:
            raise
        # without a reason it was a scope of the library
        broke = unavailable(live.name, "the session broke", was_sent=ask.was_sent)
        raise ask.failure or broke from None
    finally:
        live.left(ask)
        ask.take_back()


async def _placed(live: Live, ask: Ask) -> RemoteResult:
    """Wait for a place, then call."""
    async with live.places:
        ask.was_sent = True
        if ask.on_place is not None:
            ask.on_place()
        try:
            return await live.port.call(
                ask.name,
                ask.arguments,
                on_progress=ask.on_progress,
                on_elicit=in_no_time(ask.on_elicit, ask.clock) if ask.on_elicit else None,
                trace_id=ask.trace_id,
            )
        except CallFailed:
            raise
        except Exception as error:  # of the library: its caller gets a failure, whatever it was
            live.signals.note_suspect()
            _log.warning("a call of MCP server %s broke: %s", live.label, type(error).__name__)
            raise unavailable(live.name, "the call broke", was_sent=True) from error


def in_no_time(on_elicit: OnElicit, clock: Clock) -> OnElicit:
    """The same, while the clock stands still."""

    async def asked(elicitation: Elicitation) -> ElicitationAnswer:
        with clock.stopped():
            return await on_elicit(elicitation)

    return asked


def unavailable(server_name: str, reason: str, *, was_sent: bool) -> CallFailed:
    """The server is not there."""
    why = f" ({reason.rstrip('.')})" if reason else ""
    message = f"The server '{server_name}' is not available now{why}. Try later or go on without."
    failure = CallFailure("MCP_SERVER_UNAVAILABLE", message, retryable=True)
    return CallFailed(failure, was_sent=was_sent)


def _too_late(server_name: str, ask: Ask) -> CallFailed:
    what = "did not answer in time" if ask.was_sent else "was busy with other calls all the time"
    message = f"The server '{server_name}' {what}."
    failure = CallFailure("MCP_TIMEOUT", message, retryable=True)
    return CallFailed(failure, was_sent=ask.was_sent)
