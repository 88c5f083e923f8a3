"""The connection to one server for one principal, owned by one task.

Only the owner enters and leaves the session, follows its signals, and opens a new one when it is
lost. A caller waits for its result, its deadline or the end of the session, whichever comes first.
Nothing is sent twice here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dataagent_core.mcp.connections.live_session import (
    CallTimer,
    Health,
    HealthRules,
    LiveSession,
    PendingCall,
    run_call,
    unavailable,
)
from dataagent_core.mcp.types import (
    CallFailed,
    CallFailure,
    ConnectionKey,
    ConnectionStatus,
    JsonObject,
    OnElicit,
    OnProgress,
    RemoteResult,
    RemoteTool,
    ServerSpec,
    ServerState,
)
from dataagent_core.mcp.wire import (
    ConfinedCommand,
    Confinement,
    OpenFailed,
    SessionSignals,
    Stderr,
    WireLimits,
    innermost,
    open_session,
)
from dataagent_core.network import HostPolicy
from dataagent_core.telemetry import Scrubber
from dataagent_protocol.backoff import backoff_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The pauses between attempts to connect: exponential, capped, with jitter."""

    first_seconds: float = 1.0
    most_seconds: float = 300.0
    early_seconds: float = 5.0
    """A waiting caller causes at most one early attempt in this time."""

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row; the first failure is 1."""
        return backoff_seconds(
            failures, first_seconds=self.first_seconds, max_seconds=self.most_seconds
        )


_log = logging.getLogger(__name__)
SESSION_BROKEN = CallFailure("MCP_SERVER_UNAVAILABLE", "The session broke.")


def failure_of(error: BaseException, spec: ServerSpec) -> CallFailure:
    """Return why a session could not be opened, or ended."""
    match error:
        case OpenFailed():
            code = "MCP_AUTH_REQUIRED" if error.is_auth else "MCP_SERVER_UNAVAILABLE"
            return CallFailure(code, error.reason)
        case CallFailed():
            return error.failure
        case TimeoutError():
            return CallFailure("MCP_SERVER_UNAVAILABLE", "Connecting takes too long.")
        case _:
            _log.warning(
                "the session with MCP server %s ended: %s", spec.label, type(error).__name__
            )
            return SESSION_BROKEN


def state_after(failure: CallFailure | None) -> ServerState:
    """Return the state after a session ended; no failure means it was idle."""
    if failure is None:
        return "idle"
    return "auth_required" if failure.code == "MCP_AUTH_REQUIRED" else "backoff"


OnTools = Callable[[ServerSpec, tuple[RemoteTool, ...]], Awaitable[None]]
"""Awaited before a connection is `ready`, and whenever its tools changed."""
OnStatus = Callable[[ConnectionKey, ServerSpec, ConnectionStatus], None]
"""Called with each change of a connection's status."""

_MOST_REASON = 500
_FAILING_STATES = frozenset({"backoff", "auth_required"})
_FINAL_STATES = frozenset({"ready", "closed", "disabled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRules:
    """The limits and intervals of a connection."""

    backoff: Backoff = field(default_factory=Backoff)
    health: HealthRules = field(default_factory=HealthRules)
    wire: WireLimits = field(default_factory=WireLimits)
    idle_seconds: float | None = 900.0
    """A connection without a call for so long is closed until the next one; None: never."""
    confinement: Confinement | None = None
    """How servers that are programs are confined; None: not at all."""


class ServerConnection:
    """A connection that reconnects by itself."""

    def __init__(
        self,
        key: ConnectionKey,
        spec: ServerSpec,
        hosts: HostPolicy,
        *,
        on_tools: OnTools,
        on_status: OnStatus,
        rules: ConnectionRules,
    ) -> None:
        self.key = key
        self.spec = spec
        self.stderr = Stderr()
        self.last_used = time.monotonic()
        self._hosts = hosts
        self._on_tools = on_tools
        self._on_status = on_status
        self._rules = rules
        self._scrubber = Scrubber(
            value.get_secret_value() for value in (*spec.env.values(), *spec.headers.values())
        )
        self._status = ConnectionStatus("disabled" if spec.disabled else "idle")
        self._tools: tuple[RemoteTool, ...] = ()
        self._live: LiveSession | None = None
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        self._stop = asyncio.Event()
        self._early_try_at = float("-inf")
        self._is_connecting = False
        self._owner: asyncio.Task[None] | None = None

    # -- what others see ------------------------------------------------------------------------

    @property
    def status(self) -> ConnectionStatus:
        """The current status."""
        return self._status

    @property
    def tools(self) -> tuple[RemoteTool, ...]:
        """The tools that can be called now: none unless it is ready."""
        return self._tools if self._live is not None else ()

    @property
    def is_busy(self) -> bool:
        """Whether a call is running."""
        return self._live is not None and self._live.is_busy

    def start(self) -> None:
        """Start connecting, once. Does not wait."""
        if self._owner is None and not self.spec.disabled and not self._stop.is_set():
            self._owner = asyncio.create_task(self._run(), name=f"mcp {self.spec.name}")

    async def wait_ready(self, timeout_seconds: float) -> bool:
        """Wait until it is ready, and return whether it was in time."""
        self.wake()
        try:
            async with asyncio.timeout(timeout_seconds):
                while self._live is None:
                    if self._status.state in ("closed", "disabled"):
                        return False
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def wait_for_outcome(self, timeout_seconds: float) -> ConnectionStatus:
        """Wait until it is ready or an attempt has failed, and return the status then."""
        failed_before = self._status.fail_count
        self.wake()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while not self._has_outcome(failed_before):
                    await self._changed.wait()
        return self._status

    def _has_outcome(self, failed_before: int) -> bool:
        status = self._status
        has_failed = status.state in _FAILING_STATES and status.fail_count != failed_before
        return has_failed or status.state in _FINAL_STATES

    async def is_answering(self) -> bool:
        """Probe the server now; if it does not answer, the session is checked."""
        live = self._live
        if live is None:
            return False
        try:
            async with asyncio.timeout(self._rules.health.probe_seconds):
                await live.session.probe()
        except (CallFailed, TimeoutError):
            live.signals.note_suspect()
            return False
        live.health.record_response()
        return True

    def wake(self) -> None:
        """Reconnect if idle; retry early if failing, at most once per `early_seconds`."""
        now = time.monotonic()
        if self._status.state == "idle":
            self.last_used = now  # or it would be idle again as soon as it is connected
            self._wanted.set()
        elif self._live is None and now - self._early_try_at >= self._rules.backoff.early_seconds:
            self._early_try_at = now
            self._wanted.set()

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,
        on_elicit: OnElicit | None = None,
        on_slot: Callable[[], None] | None = None,
        trace_id: str = "",
    ) -> RemoteResult:
        """Call a tool. The deadline is suspended while the server asks the user something.

        The `trace_id` is sent with the call.

        Raises:
            CallFailed: there is no result.
        """
        timer = CallTimer(timeout_seconds)
        self.last_used = time.monotonic()
        if self._status.state == "idle":
            await self.wait_ready(timer.left())
        live = self._live
        if live is None:
            self.wake()
            raise unavailable(self.spec.name, self._status.reason, was_sent=False)
        pending = PendingCall(name, arguments, timer, on_progress, on_elicit, on_slot, trace_id)
        try:
            result = await run_call(live, pending)
        except CallFailed as error:
            raise self._scrubbed(error) from None
        finally:
            self.last_used = time.monotonic()
        live.health.record_response()
        return result

    async def finish_calls(self, hurry: asyncio.Event) -> None:
        """Wait until running calls have ended or timed out, or `hurry` is set."""
        if self._live is None or not self._live.is_busy:
            return
        waits = {
            asyncio.create_task(self._live.wait_for_calls()),
            asyncio.create_task(hurry.wait()),
        }
        seconds = self.spec.call_timeout_seconds
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    async def aclose(self) -> None:
        """Close the connection. May be called from any task; the owner does the work."""
        self._stop.set()
        self._wanted.set()
        if self._live is not None:
            self._live.signals.wake()
        if self._owner is None:
            self._publish("closed")
            return
        if self._is_connecting:
            self._owner.cancel()
        await asyncio.wait({self._owner})

    # -- the owner ------------------------------------------------------------------------------

    async def _run(self) -> None:
        """Open and reopen sessions until stopped."""
        try:
            while not self._stop.is_set():
                failure = await self._run_session()
                if self._stop.is_set():
                    return
                if failure is None:
                    await self._wanted.wait()
                else:
                    await self._pause(failure)
        finally:
            self._publish("closed")

    async def _run_session(self) -> CallFailure | None:
        """Run one session, and return why it ended; None if it was idle."""
        try:
            return await self._open_session()
        except asyncio.CancelledError:
            if self._is_cancelled():
                raise
            return SESSION_BROKEN
        except Exception as error:  # whatever a transport or the catalogue does ends one session
            return failure_of(innermost(error), self.spec)
        finally:
            self._is_connecting = False

    def _is_cancelled(self) -> bool:
        """Whether the owner itself was cancelled, rather than a scope of the transport."""
        task = asyncio.current_task()
        return self._stop.is_set() or (task is not None and task.cancelling() > 0)

    async def _open_session(self) -> CallFailure | None:
        self._is_connecting = True
        self._publish("connecting", self._status.reason)
        signals = SessionSignals()
        # nested rather than an AsyncExitStack, which loops for ever over the contexts of the errors
        # that the library raises when its task is cancelled twice
        deadline = asyncio.get_running_loop().time() + self.spec.connect_timeout_seconds
        async with (
            asyncio.timeout_at(deadline) as connecting,
            open_session(
                self.spec,
                hosts=self._hosts,
                signals=signals,
                stderr=self.stderr,
                limits=self._rules.wire,
                confined=self._confine(),
            ) as session,
        ):
            connecting.reschedule(None)
            async with asyncio.timeout_at(deadline):
                tools = await session.list_tools()
            await self._on_tools(self.spec, tools)
            self._is_connecting = False
            live = LiveSession(session, signals, Health(self._rules.health), self.spec)
            try:
                return await self._serve_calls(live, tools)
            finally:
                await live.drain()

    def _confine(self) -> ConfinedCommand | None:
        """Return the confined command; a configuration file's own programs are not confined."""
        wall = self._rules.confinement
        if wall is None or self.spec.command is None or self.spec.scope == "file":
            return None
        return wall.confine(self.spec, self.key)

    async def _serve_calls(
        self, live: LiveSession, tools: tuple[RemoteTool, ...]
    ) -> CallFailure | None:
        """Accept calls while the session lasts, and release all callers at its end."""
        failure: CallFailure | None = SESSION_BROKEN
        self._wanted.clear()
        self._live, self._tools = live, tools
        self._publish(
            "ready",
            generation=self._status.generation + 1,
            protocol_version=live.session.protocol_version,
            server_info=live.session.server_info,
            fail_count=0,
            last_ok_at=datetime.now(UTC),
        )
        try:
            failure = await self._follow_session(live)
        finally:
            self._live = None
            live.end(failure.message if failure else "it was idle")
            if not self._stop.is_set():
                self._publish(state_after(failure), failure.message if failure else "")
        return failure

    async def _follow_session(self, live: LiveSession) -> CallFailure | None:
        """Follow a live session until it is lost, idle or stopped."""
        signals = live.signals
        while not self._stop.is_set() and not self._is_idle(live):
            if signals.lost is not None:
                return CallFailure("MCP_SERVER_UNAVAILABLE", signals.lost)
            if signals.is_suspect or live.health.due_in() <= 0:
                signals.is_suspect = False
                failure = await live.health.check(live.session)
                if failure is not None:
                    return failure
            elif signals.has_new_tools:
                signals.has_new_tools = False
                await self._refresh(live)
            else:
                await self._wait_for_event(live)
        return None

    async def _wait_for_event(self, live: LiveSession) -> None:
        seconds = live.health.due_in()
        if self._rules.idle_seconds is not None:
            rest = self.last_used + self._rules.idle_seconds - time.monotonic()
            seconds = min(seconds, max(rest, 0.01))
        try:
            async with asyncio.timeout(seconds):
                await live.signals.wait()
        except TimeoutError:
            return

    def _is_idle(self, live: LiveSession) -> bool:
        idle = self._rules.idle_seconds
        if idle is None or live.is_busy:
            return False
        return time.monotonic() - self.last_used >= idle

    async def _refresh(self, live: LiveSession) -> None:
        """List the tools again after the server said they changed."""
        tools = await live.session.list_tools()
        if tools != self._tools:
            await self._on_tools(self.spec, tools)
            self._tools = tools
            self._wake_waiters()

    async def _pause(self, failure: CallFailure) -> None:
        """Wait before the next attempt, or until a caller needs the server."""
        fail_count = self._status.fail_count + 1
        seconds = self._rules.backoff.pause(fail_count)
        self._publish(
            state_after(failure),
            failure.message,
            fail_count=fail_count,
            next_retry_at=datetime.now(UTC) + timedelta(seconds=seconds),
        )
        self._wanted.clear()
        if self._stop.is_set():
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        except TimeoutError:
            return

    # -- telling ---------------------------------------------------------------------------------

    def _publish(self, state: ServerState, reason: str = "", **changes: Any) -> None:
        """Change the status, and notify waiters and the listener."""
        status = replace(
            self._status,
            state=state,
            reason=self._scrubber.text(reason)[:_MOST_REASON],
            **{"next_retry_at": None, **changes},
        )
        if status == self._status:
            return
        self._status = status
        self._wake_waiters()
        self._on_status(self.key, self.spec, status)

    def _wake_waiters(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _scrubbed(self, error: CallFailed) -> CallFailed:
        message = self._scrubber.text(error.failure.message)
        return CallFailed(replace(error.failure, message=message), was_sent=error.was_sent)
