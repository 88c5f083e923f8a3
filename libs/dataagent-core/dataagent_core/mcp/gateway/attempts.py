"""One call on its server's connection, as often as it may be tried, within its time.

A request is sent again only if it provably never left, or if an administrator has marked the tool
as safe to repeat; never after a time-out. While a person is asked something, the time stands still.
Above: `gateway.py`. Below: `connection.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from dataagent_core.mcp.connections.breaker import Breaker
from dataagent_core.mcp.connections.calls import Clock, in_no_time
from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.types import (
    CallFailed,
    CallFailure,
    CatalogueTool,
    ConnectionStatus,
    JsonObject,
    OnElicit,
    OnProgress,
    RemoteResult,
    ServerSpec,
)

MOST_TRIES = 3
WAIT_SECONDS = 2.0
"""How long a call waits for a server that is just coming back."""
_AGAIN_SECONDS = 0.2


@dataclass(slots=True)
class Attempts:
    """How often it was tried and how long it stood in line, for the call log."""

    made: int = 0
    queue_ms: float = 0.0
    generation: int = 0
    protocol_version: str | None = None

    def in_line(self) -> Callable[[], None]:
        """Begin to wait for a place; call what is returned when there is one."""
        since = time.perf_counter()

        def placed() -> None:
            self.queue_ms += (time.perf_counter() - since) * 1000

        return placed


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that was let through."""

    tool: CatalogueTool
    spec: ServerSpec
    arguments: JsonObject
    on_progress: OnProgress | None = None
    on_elicit: OnElicit | None = None
    trace_id: str = ""

    @property
    def timeout_seconds(self) -> float:
        """How long it may take: the tool's own limit, or else its server's."""
        return self.tool.timeout_seconds or self.spec.call_timeout_seconds


class Execution:
    """Sends calls, and keeps them from servers that are broken."""

    def __init__(self, breaker: Breaker | None = None) -> None:
        self._breaker = breaker or Breaker()

    async def run(
        self, asked: Asked, connection: ServerConnection | None, attempts: Attempts
    ) -> RemoteResult:
        """The server's answer.

        Raises:
            CallFailed: there is none.
        """
        if connection is None:
            raise _unavailable(asked.spec, "it is not connected")
        clock = Clock(asked.timeout_seconds)
        ask = None if asked.on_elicit is None else in_no_time(asked.on_elicit, clock)
        while True:
            attempts.made += 1
            try:
                return await self._once(asked, connection, attempts, clock, ask)
            except CallFailed as error:
                if attempts.made >= MOST_TRIES or not _may_repeat(error, asked.tool):
                    raise
            connection.wake()
            await asyncio.sleep(min(_AGAIN_SECONDS, clock.left()))
            if clock.left() <= 0:
                raise _timed_out(asked.tool, asked.timeout_seconds)

    async def _once(
        self,
        asked: Asked,
        connection: ServerConnection,
        attempts: Attempts,
        clock: Clock,
        on_elicit: OnElicit | None,
    ) -> RemoteResult:
        key = connection.key
        if not self._breaker.lets_through(key):
            raise _left_alone(asked.spec, self._breaker.seconds_left(key))
        says: Callable[..., None] = self._breaker.left
        try:
            status = connection.status
            if status.state != "ready":
                status = await _connected(asked.spec, connection, clock)
            attempts.generation = status.generation
            attempts.protocol_version = status.protocol_version
            result = await connection.call(
                asked.tool.name,
                asked.arguments,
                timeout_seconds=clock.left(),
                on_progress=asked.on_progress,
                on_elicit=on_elicit,
                on_place=attempts.in_line(),
                trace_id=asked.trace_id,
            )
            says = self._breaker.worked
            return result
        except CallFailed as error:
            if clock.left() <= 0:
                raise _timed_out(asked.tool, asked.timeout_seconds) from None
            is_broken = error.failure.code == "MCP_SERVER_UNAVAILABLE"
            says = self._breaker.failed if is_broken else self._breaker.worked
            raise
        finally:
            says(key)


async def _connected(
    spec: ServerSpec, connection: ServerConnection, clock: Clock
) -> ConnectionStatus:
    """Wait a moment for a server that is not ready; how it is then.

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


def _left_alone(spec: ServerSpec, seconds: float) -> CallFailed:
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


def _may_repeat(error: CallFailed, tool: CatalogueTool) -> bool:
    """Only what never left, or what an administrator says may be done twice."""
    if not error.was_sent:
        return error.failure.code == "MCP_SERVER_UNAVAILABLE"
    code = error.failure.code
    return tool.retry_safe and error.failure.retryable and code != "MCP_TIMEOUT"
