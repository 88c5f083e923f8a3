"""Calls on a live session: a place, an answer, a deadline, or the news that the session is dead.

A call runs in a task of its own, so that its caller leaves at once when the deadline passes, when
it is cancelled, or when the session dies; the task then tells the server to stop, and ends. Above:
`connection.py`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dataagent_core.mcp.health import Health
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
_End = RemoteResult | CallFailed
"""How a call's task ends: with a failure as a value, since its caller may be gone."""


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


def _nobody_knows() -> asyncio.Future[_End]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class Ask:
    """One call that is to be made."""

    name: str
    arguments: JsonObject
    on_progress: OnProgress | None = None
    on_elicit: OnElicit | None = None
    on_place: Callable[[], None] | None = None
    """Told when the call has its place, just before it is sent."""
    was_sent: bool = False
    end: asyncio.Future[_End] = field(default_factory=_nobody_knows)
    """What its caller waits for."""

    def settle(self, end: _End) -> None:
        """Release the caller, with what comes first."""
        if not self.end.done():
            self.end.set_result(end)


class Live:
    """A session that can be called: its port, its places, its end."""

    def __init__(self, port: Port, signals: Signals, health: Health, spec: ServerSpec) -> None:
        self.port = port
        self.signals = signals
        self.health = health
        self.name = spec.name
        self.places = asyncio.Semaphore(spec.max_concurrency)
        self._dead: str | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._asks: set[Ask] = set()

    def begin(self, ask: Ask, clock: Clock) -> asyncio.Task[None]:
        """Start a call in a task of its own; its caller says when they leave."""
        task = asyncio.create_task(_run(self, ask, clock))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        self._asks.add(ask)
        if self._dead is not None:
            ask.settle(unavailable(self.name, self._dead, was_sent=False))
        return task

    def left(self, ask: Ask) -> None:
        """Nobody waits for this one any more."""
        self._asks.discard(ask)

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._calls)

    def end(self, reason: str) -> None:
        """Release all callers."""
        self._dead = reason
        for ask in self._asks:
            ask.settle(unavailable(self.name, reason, was_sent=ask.was_sent))

    async def calls_ended(self) -> None:
        """Until none runs."""
        while self._calls:
            await asyncio.wait(set(self._calls))

    async def settle(self) -> None:
        """Until the last of its tasks has ended, which the session's end makes them do."""
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=_SETTLE_SECONDS)


class _Deadline:
    """Releases a call's caller when its clock has run out."""

    def __init__(self, server_name: str, ask: Ask, clock: Clock) -> None:
        self._server_name = server_name
        self._ask = ask
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._look()

    def _look(self) -> None:
        left = self._clock.left()
        if left <= 0:
            self._ask.settle(_too_late(self._server_name, self._ask))
        else:
            self._timer = asyncio.get_running_loop().call_later(left, self._look)

    def cancel(self) -> None:
        """The call has ended otherwise."""
        if self._timer is not None:
            self._timer.cancel()


async def pass_through(live: Live, ask: Ask, clock: Clock) -> RemoteResult:
    """Make a call and wait for what comes first.

    Raises:
        CallFailed: there is no result.
    """
    task = live.begin(ask, clock)
    deadline = _Deadline(live.name, ask, clock)
    try:
        end = await ask.end
    finally:
        deadline.cancel()
        live.left(ask)
        task.cancel()
    if isinstance(end, CallFailed):
        raise end
    return end


async def _run(live: Live, ask: Ask, clock: Clock) -> None:
    """Make the call and release its caller."""
    try:
        ask.settle(await _placed(live, ask, clock))
    except asyncio.CancelledError:  # by a scope of the library, if its caller still waits
        ask.settle(unavailable(live.name, "the session broke", was_sent=ask.was_sent))
        raise


async def _placed(live: Live, ask: Ask, clock: Clock) -> _End:
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
                on_elicit=_in_no_time(ask.on_elicit, clock) if ask.on_elicit else None,
            )
        except CallFailed as error:
            return error
        except Exception as error:  # of the library: its caller gets a failure, whatever it was
            live.signals.note_suspect()
            _log.warning("an MCP call broke", extra={"kind": type(error).__name__})
            return unavailable(live.name, "the call broke", was_sent=True)


def _in_no_time(on_elicit: OnElicit, clock: Clock) -> OnElicit:
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
