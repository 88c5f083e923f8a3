"""Executes a call within its time: waits for the server, retries, and breaks the circuit.

A request is sent again only if it provably never left, or if an administrator marked the tool as
safe to retry; never after a timeout. The circuit breaker counts broken connections, not errors of a
tool and not slow answers: one bad tool must not disable the others.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.connections.live_session import CallTimer, with_timer_paused
from dataagent_core.mcp.types import (
    CallFailed,
    CallFailure,
    CatalogueTool,
    ConnectionKey,
    ConnectionStatus,
    JsonObject,
    OnElicit,
    OnProgress,
    RemoteResult,
    ServerSpec,
)

MOST_FAILURES = 5
WINDOW_SECONDS = 60.0
OPEN_SECONDS = 30.0
_KEPT = 4_096


@dataclass(slots=True)
class _Circuit:
    failed_at: deque[float] = field(default_factory=lambda: deque[float](maxlen=MOST_FAILURES))
    opened_at: float | None = None
    is_trying: bool = False


class CircuitBreaker:
    """One circuit per connection: closed, open for a while, then half-open for one call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._circuits: OrderedDict[ConnectionKey, _Circuit] = OrderedDict()

    def allows(self, key: ConnectionKey) -> bool:
        """Whether a call may be made now.

        Follow each True with `record_success`, `record_failure` or `release`.

        A circuit that was open long enough lets one call through at a time.
        """
        circuit = self._circuits.get(key)
        if circuit is None or circuit.opened_at is None:
            return True
        if circuit.is_trying or self._clock() - circuit.opened_at < OPEN_SECONDS:
            return False
        circuit.is_trying = True
        return True

    def seconds_left(self, key: ConnectionKey) -> float:
        """Return the seconds until a call is allowed."""
        circuit = self._circuits.get(key)
        if circuit is None or circuit.opened_at is None:
            return 0.0
        return max(0.0, circuit.opened_at + OPEN_SECONDS - self._clock())

    def record_success(self, key: ConnectionKey) -> None:
        """Close the circuit: a call succeeded."""
        self._circuits.pop(key, None)

    def record_failure(self, key: ConnectionKey) -> None:
        """Count a failure of the transport."""
        circuit = self._circuits.setdefault(key, _Circuit())
        self._circuits.move_to_end(key)
        now = self._clock()
        circuit.failed_at.append(now)
        recent = sum(at > now - WINDOW_SECONDS for at in circuit.failed_at)
        if circuit.is_trying or recent >= MOST_FAILURES:
            circuit.opened_at = now
        circuit.is_trying = False
        while len(self._circuits) > _KEPT:
            self._circuits.popitem(last=False)

    def release(self, key: ConnectionKey) -> None:
        """End a call that says nothing about the transport: cancelled or timed out."""
        circuit = self._circuits.get(key)
        if circuit is not None:
            circuit.is_trying = False


MOST_TRIES = 3
WAIT_SECONDS = 2.0
"""How long a call waits for a server that is just coming back."""
_RETRY_SECONDS = 0.2


@dataclass(slots=True)
class Attempts:
    """The attempts of a call and its time in the queue, for the call log."""

    made: int = 0
    queue_ms: float = 0.0
    generation: int = 0
    protocol_version: str | None = None

    def start_queueing(self) -> Callable[[], None]:
        """Start measuring the queue; call the returned function when the call has a slot."""
        since = time.perf_counter()

        def placed() -> None:
            self.queue_ms += (time.perf_counter() - since) * 1000

        return placed


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """An authorised call."""

    tool: CatalogueTool
    spec: ServerSpec
    arguments: JsonObject
    on_progress: OnProgress | None = None
    on_elicit: OnElicit | None = None
    trace_id: str = ""

    @property
    def timeout_seconds(self) -> float:
        """The tool's own timeout, or else its server's."""
        return self.tool.timeout_seconds or self.spec.call_timeout_seconds


class CallExecutor:
    """Sends calls, but not to servers whose circuit is open."""

    def __init__(self, breaker: CircuitBreaker | None = None) -> None:
        self._breaker = breaker or CircuitBreaker()

    async def run(
        self, request: ToolCallRequest, connection: ServerConnection | None, attempts: Attempts
    ) -> RemoteResult:
        """Return the server's result.

        Raises:
            CallFailed: there is none.
        """
        if connection is None:
            raise _unavailable(request.spec, "it is not connected")
        clock = CallTimer(request.timeout_seconds)
        ask = None if request.on_elicit is None else with_timer_paused(request.on_elicit, clock)
        while True:
            attempts.made += 1
            try:
                return await self._once(request, connection, attempts, clock, ask)
            except CallFailed as error:
                if attempts.made >= MOST_TRIES or not _is_retryable(error, request.tool):
                    raise
            connection.wake()
            await asyncio.sleep(min(_RETRY_SECONDS, clock.left()))
            if clock.left() <= 0:
                raise _timed_out(request.tool, request.timeout_seconds)

    async def _once(
        self,
        request: ToolCallRequest,
        connection: ServerConnection,
        attempts: Attempts,
        clock: CallTimer,
        on_elicit: OnElicit | None,
    ) -> RemoteResult:
        key = connection.key
        if not self._breaker.allows(key):
            raise _circuit_open(request.spec, self._breaker.seconds_left(key))
        says: Callable[..., None] = self._breaker.release
        try:
            status = connection.status
            if status.state != "ready":
                status = await _connected(request.spec, connection, clock)
            attempts.generation = status.generation
            attempts.protocol_version = status.protocol_version
            result = await connection.call(
                request.tool.name,
                request.arguments,
                timeout_seconds=clock.left(),
                on_progress=request.on_progress,
                on_elicit=on_elicit,
                on_slot=attempts.start_queueing(),
                trace_id=request.trace_id,
            )
            says = self._breaker.record_success
            return result
        except CallFailed as error:
            if clock.left() <= 0:
                raise _timed_out(request.tool, request.timeout_seconds) from None
            is_broken = error.failure.code == "MCP_SERVER_UNAVAILABLE"
            says = self._breaker.record_failure if is_broken else self._breaker.record_success
            raise
        finally:
            says(key)


async def _connected(
    spec: ServerSpec, connection: ServerConnection, clock: CallTimer
) -> ConnectionStatus:
    """Wait a moment for a server that is not ready, and return its status.

    Raises:
        CallFailed: it is not there, or wants other credentials.
    """
    connection.wake()
    is_ready = await connection.wait_ready(min(WAIT_SECONDS, clock.left()))
    status = connection.status
    if is_ready:
        return status
    if status.state == "auth_required":
        raise CallFailed(
            CallFailure(
                "MCP_AUTH_REQUIRED",
                f"Server {spec.name!r} does not accept its credentials. Its owner has to enter "
                "new ones; go on without it.",
            ),
            was_sent=False,
        )
    raise _unavailable(spec, status.reason or f"it is {status.state}")


def _circuit_open(spec: ServerSpec, seconds: float) -> CallFailed:
    return CallFailed(
        CallFailure(
            "MCP_SERVER_UNAVAILABLE",
            f"Server {spec.name!r} has failed several times in a row and is left alone for "
            f"{seconds:.0f} s. Go on without it.",
            retryable=True,
        )
    )


def _unavailable(spec: ServerSpec, reason: str) -> CallFailed:
    failure = CallFailure(
        "MCP_SERVER_UNAVAILABLE",
        f"Server {spec.name!r} is not available: {reason.rstrip('.')}. Go on without it, or try "
        "again later.",
        retryable=True,
    )
    return CallFailed(failure, was_sent=True)  # it was waited for: no further try


def _timed_out(tool: CatalogueTool, seconds: float) -> CallFailed:
    return CallFailed(
        CallFailure(
            "MCP_TIMEOUT",
            f"{tool.exposed_name} gave no answer within {seconds:g} s and was stopped. Whether it "
            "did its work is not known. Try less at once, try again later, or go on without it.",
            retryable=True,
        )
    )


def _is_retryable(error: CallFailed, tool: CatalogueTool) -> bool:
    """Whether the request never left, or the tool is marked as safe to retry."""
    if not error.was_sent:
        return error.failure.code == "MCP_SERVER_UNAVAILABLE"
    code = error.failure.code
    return tool.retry_safe and error.failure.retryable and code != "MCP_TIMEOUT"
