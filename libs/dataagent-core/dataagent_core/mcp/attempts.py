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

from dataagent_core.mcp.breaker import Breaker
from dataagent_core.mcp.connection import ServerConnection
from dataagent_core.mcp.types import (
    CallFailed,
    CallFailure,
    CatalogueTool,
    Elicitation,
    ElicitationAnswer,
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
        seconds = asked.timeout_seconds
        try:
            async with asyncio.timeout(seconds) as time_left:
                return await self._tried(asked, connection, attempts, time_left)
        except TimeoutError:
            raise _timed_out(asked.tool, seconds) from None

    async def _tried(
        self,
        asked: Asked,
        connection: ServerConnection,
        attempts: Attempts,
        time_left: asyncio.Timeout,
    ) -> RemoteResult:
        ask = _paused(asked.on_elicit, time_left)
        while True:
            attempts.made += 1
            try:
                return await self._once(asked, connection, attempts, ask)
            except CallFailed as error:
                if attempts.made >= MOST_TRIES or not _may_repeat(error, asked.tool):
                    raise
            connection.wake()
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _once(
        self,
        asked: Asked,
        connection: ServerConnection,
        attempts: Attempts,
        on_elicit: OnElicit | None,
    ) -> RemoteResult:
        key = connection.key
        if not self._breaker.lets_through(key):
            wait = self._breaker.seconds_left(key)
            raise CallFailed(
                CallFailure(
                    "MCP_SERVER_UNAVAILABLE",
                    f"Server {asked.spec.name!r} has failed several times in a row and is left "
                    f"alone for {wait:.0f} s. Go on without it.",
                    retryable=True,
                )
            )
        says: Callable[..., None] = self._breaker.left
        try:
            await _connected(asked.spec, connection)
            attempts.generation = connection.status.generation
            attempts.protocol_version = connection.status.protocol_version
            result = await connection.call(
                asked.tool.name,
                asked.arguments,
                timeout_seconds=asked.timeout_seconds,
                on_progress=asked.on_progress,
                on_elicit=on_elicit,
                on_place=attempts.in_line(),
            )
            says = self._breaker.worked
            return result
        except CallFailed as error:
            is_broken = error.failure.code == "MCP_SERVER_UNAVAILABLE"
            says = self._breaker.failed if is_broken else self._breaker.worked
            raise
        finally:
            says(key)


async def _connected(spec: ServerSpec, connection: ServerConnection) -> None:
    """Wait a moment for a server that is not ready.

    Raises:
        CallFailed: it is not there, or wants other credentials.
    """
    if connection.status.state == "ready":
        return
    connection.wake()
    if await connection.wait_ready(WAIT_SECONDS):
        return
    status = connection.status
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


def _paused(on_elicit: OnElicit | None, time_left: asyncio.Timeout) -> OnElicit | None:
    """The same question, with the call's time standing still while a person thinks."""
    if on_elicit is None:
        return None
    clock = asyncio.get_running_loop().time

    async def ask(question: Elicitation) -> ElicitationAnswer:
        until = time_left.when()
        left = None if until is None else until - clock()
        time_left.reschedule(None)
        try:
            return await on_elicit(question)
        finally:
            if left is not None and not time_left.expired():
                time_left.reschedule(clock() + left)

    return ask
