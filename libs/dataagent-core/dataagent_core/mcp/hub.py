"""All of MCP in one process: servers, catalogue, connections and calls.

The hub synchronises them: after a change here or in another process it reads again, closes the
connections to changed servers and notifies listeners. Processes that execute runs connect to shared
servers as soon as they are registered, and to a user's own when one of their sessions needs them.
Nothing waits for a server longer than its timeout.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import uuid
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dataagent_core.errors import ServerNotFound, Unavailable
from dataagent_core.mcp.caller_context import HasFeature, HubCallerContext, McpStores, always
from dataagent_core.mcp.catalogue.validation import Validators
from dataagent_core.mcp.changes import ChangeKind, Listener, Listeners, McpChange, PeerMessage
from dataagent_core.mcp.connections.pool import ConnectionPool, PoolLimits, key_of
from dataagent_core.mcp.gateway.gateway import ToolGateway
from dataagent_core.mcp.gateway.tool_access import BindingOf, RunTools
from dataagent_core.mcp.servers.policy import ServerPolicy
from dataagent_core.mcp.servers.server_store import ServerDirectory, StatusWriter
from dataagent_core.mcp.servers.session_servers import LastMessageAt
from dataagent_core.mcp.types import (
    Caller,
    ConnectionKey,
    ConnectionStatus,
    RemoteTool,
    ServerSpec,
)
from dataagent_core.network import HostPolicy
from dataagent_core.processes.concurrency import KeyedRate
from dataagent_core.storage.background_tasks import ChangePoller, cancel_all
from dataagent_core.telemetry import Traces

logger = logging.getLogger(__name__)
WAIT_SECONDS = 3.0
Publish = Callable[[bytes], None]
_WIRE_MODULE = "dataagent_core.mcp.wire.connect"


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """The differences between two versions of a configuration file, by server name."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRules:
    """How a process uses servers."""

    is_executing: bool = True
    """Whether runs are executed here, so that shared servers are worth being connected to."""
    wait_seconds: float = WAIT_SECONDS
    """How long a run waits, at most, for servers that may come."""
    calls_per_minute: int = 0
    """Of one user on one server; 0 is no limit."""


class McpHub:
    """All of MCP in one process. Used from the event loop only."""

    def __init__(
        self,
        stores: McpStores,
        policy: ServerPolicy,
        hosts: HostPolicy,
        *,
        binding_of: BindingOf,
        has_feature: HasFeature = always,
        limits: PoolLimits | None = None,
        rules: HubRules | None = None,
        traces: Traces | None = None,
    ) -> None:
        """`binding_of` returns an agent's tools, `has_feature` whether a user's tenant has MCP."""
        self.servers = stores.servers
        self.templates = stores.templates
        self.catalogue = stores.catalogue
        self.calls = stores.calls
        self.keys = stores.keys
        self._sessions = stores.sessions
        self.policy = policy
        self._rules = rules or HubRules()
        self.pool = ConnectionPool(
            hosts,
            on_tools=self._on_tools_listed,
            on_status=self._on_connection_status,
            limits=limits or PoolLimits(),
        )
        self._directory = ServerDirectory(self.servers)
        self._caller_context = HubCallerContext(
            self._directory, self.pool, stores, binding_of=binding_of, has_feature=has_feature
        )
        self.gateway = ToolGateway(
            self.catalogue,
            self._caller_context,
            Validators(),
            self.calls,
            rate=KeyedRate(self._rules.calls_per_minute),
            traces=traces,
        )
        self._status_writer = StatusWriter(self.servers)
        self._listeners = Listeners()
        self._held: dict[str, ServerSpec] = {}
        self._origin = uuid.uuid4().hex
        self._publish: Publish | None = None
        self._poller = ChangePoller("MCP servers", self.refresh)
        self._keeping = asyncio.Lock()
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_warm = False

    # -- life -----------------------------------------------------------------------------------

    async def open(self, defaults: Sequence[ServerSpec] = ()) -> None:
        """Read the registered servers, connect to shared ones and watch for changes.

        `defaults` are servers of the installation's own file, which everyone has.
        Connecting goes on after this returns: no server can hold it up.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        await self.catalogue.open()
        self.calls.start()
        self._status_writer.start()
        self._directory.put_defaults(defaults)
        await self.refresh()
        self._poller.start()

    async def aclose(self) -> None:
        """Close all connections and write pending rows."""
        await self._poller.aclose()
        await cancel_all(self._tasks)
        await self.pool.aclose()
        await self._status_writer.aclose()
        await self.calls.aclose()

    async def refresh(self) -> None:
        """Read again if anything was changed, here or elsewhere.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        await self.catalogue.refresh()
        if await self._directory.refresh():
            self._warm_up()
            await self._keep_connected()

    def _warm_up(self) -> None:
        """Import the SDK before the first run needs it, if there are servers."""
        if self._rules.is_executing and not self._is_warm and not self._directory.is_empty:
            self._is_warm = True
            self._spawn(asyncio.to_thread(importlib.import_module, _WIRE_MODULE))

    async def _keep_connected(self) -> None:
        """Hold connections to the shared servers as they are registered now."""
        async with self._keeping:
            found = (*self._directory.shared, *self._directory.files)
            wanted = {
                spec.server_id: spec
                for spec in found
                if self._rules.is_executing and not spec.disabled and spec.session_scope == "shared"
            }
            for server_id in [each for each in self._held if self._held[each] != wanted.get(each)]:
                del self._held[server_id]
                await self.pool.drop(server_id)
            for server_id, spec in wanted.items():
                if server_id not in self._held:
                    self._held[server_id] = spec
                    self.pool.hold(spec)

    # -- runs -----------------------------------------------------------------------------------

    def prepare_run_tools(
        self,
        *,
        user_id: str,
        tenant_id: str | None,
        session_id: str,
        run_id: str = "",
        api_key_id: str | None = None,
        trace_id: str = "",
        last_message_at: LastMessageAt | None = None,
    ) -> RunTools | None:
        """Return the MCP tools of a run, not listed yet; None if its user has no server.

        They are of the servers the session began with (`session_servers.py`).
        """
        caller = Caller(
            user_id=user_id,
            agent_id="",
            session_id=session_id,
            run_id=run_id,
            tenant_id=tenant_id,
            api_key_id=api_key_id,
            trace_id=trace_id,
        )
        return self._caller_context.prepare_run_tools(
            caller, wait_seconds=self._rules.wait_seconds, last_message_at=last_message_at
        )

    async def tools_for(
        self,
        *,
        user_id: str,
        tenant_id: str | None = None,
        session_id: str,
        api_key_id: str | None = None,
        wait_seconds: float | None = None,
    ) -> RunTools:
        """As `prepare_run_tools`, with connections leased and tools listed; may be empty."""
        caller = Caller(
            user_id=user_id,
            agent_id="",
            session_id=session_id,
            tenant_id=tenant_id,
            api_key_id=api_key_id,
        )
        wait = self._rules.wait_seconds if wait_seconds is None else wait_seconds
        return await self._caller_context.tools_for(caller, wait_seconds=wait)

    def release(self, session_id: str) -> None:
        """Release the connections of a session that has ended, in all processes."""
        self._release(session_id)
        self._send(PeerMessage(self._origin, session_id=session_id))

    def _release(self, session_id: str) -> None:
        self._sessions.forget(session_id)
        self.pool.release(session_id)

    # -- changes --------------------------------------------------------------------------------

    async def changed(self, spec: ServerSpec, what: Literal["added", "updated", "removed"]) -> None:
        """Close the connections of a registration changed here, and notify everyone.

        A user's own server that was changed stays connected as it was, for sessions that hold it.
        For a shared server with a `user_id`, that user's credentials were changed.
        """
        await self.refresh()
        await self._close_connections(_change(spec, what), is_shared=spec.scope != "user")
        self._publish_change(_change(spec, what))

    async def restart(self, spec: ServerSpec) -> None:
        """Reconnect to a server whose registration has not changed."""
        await self._drop(spec.server_id)
        self._publish_change(_change(spec, "updated"))

    async def publish_tools_change(self, server_id: str) -> None:
        """Notify everyone that an administrator changed a server's tools."""
        self._publish_change(_change(await self.servers.get(server_id), "tools"))

    async def _close_connections(self, change: McpChange, *, is_shared: bool) -> None:
        """Close connections to a changed server, and reconnect if it is shared."""
        if change.what == "added":
            return
        if change.what == "removed":
            self.catalogue.forget(change.server_id)
        elif not is_shared and await self._is_usable(change.server_id):
            return
        principal = f"user:{change.user_id}" if is_shared and change.user_id else None
        await self._drop(change.server_id, principal)

    async def _drop(self, server_id: str, principal: str | None = None) -> None:
        await self.pool.drop(server_id, principal=principal)
        if principal is None:
            self._held.pop(server_id, None)
            await self._keep_connected()

    async def _is_usable(self, server_id: str) -> bool:
        """Whether a server is registered and enabled."""
        try:
            return not (await self.servers.get(server_id)).disabled
        except ServerNotFound:
            return False

    @property
    def files(self) -> tuple[ServerSpec, ...]:
        """The servers of configuration files, which every user here has."""
        return self._directory.files

    def listen(self, handler: Listener) -> Callable[[], None]:
        """Call the handler for each change, until the returned function is called."""
        return self._listeners.add(handler)

    async def status_of(self, spec: ServerSpec, *, user_id: str) -> ConnectionStatus:
        """Return a server's status for a user: as this process sees it, or as last stored."""
        if spec.disabled:
            return ConnectionStatus("disabled", "It is disabled.")
        known = self.pool.statuses()
        found = known.get(key_of(spec, user_id, ""))
        if found is None and spec.session_scope == "session":
            found = next((s for key, s in known.items() if key.server_id == spec.server_id), None)
        if found is None and spec.scope != "file":
            found = await self.servers.last_status(spec.server_id)
        return found or ConnectionStatus("idle")

    async def reload(self, specs: Sequence[ServerSpec]) -> ReloadReport:
        """Replace the servers of a configuration file; only changed ones reconnect."""
        before = {spec.name: spec for spec in self._directory.files}
        self._directory.put_files(specs)
        after = {spec.name: spec for spec in self._directory.files}
        await self._keep_connected()
        report = ReloadReport(
            added=tuple(name for name in after if name not in before),
            changed=tuple(n for n in after if n in before and after[n] != before[n]),
            removed=tuple(name for name in before if name not in after),
            unchanged=tuple(n for n in after if after[n] == before.get(n)),
        )
        changes = [_change(after[name], "added") for name in report.added]
        changes += [_change(after[name], "updated") for name in report.changed]
        changes += [_change(before[name], "removed") for name in report.removed]
        for change in changes:
            self._listeners.tell(change)
        return report

    async def _on_tools_listed(self, spec: ServerSpec, tools: tuple[RemoteTool, ...]) -> None:
        """Store the tools a server listed."""
        report = await self.catalogue.sync(spec, tools)
        if report.is_changed:
            self._publish_change(_change(spec, "tools"))

    def _on_connection_status(
        self, key: ConnectionKey, spec: ServerSpec, status: ConnectionStatus
    ) -> None:
        """Store and publish a connection's status."""
        self._caller_context.on_status(spec, status)
        self._status_writer.note(key, spec, status)
        user = key.principal.removeprefix("user:") if key.principal.startswith("user:") else None
        self._publish_change(
            McpChange(
                user or spec.user_id or None,
                spec.tenant_id or None,
                spec.server_id,
                spec.name,
                "status",
            )
        )

    # -- other processes ------------------------------------------------------------------------

    def set_publisher(self, publish: Publish) -> None:
        """Set how messages reach other processes."""
        self._publish = publish

    def on_peer_message(self, payload: bytes | None) -> None:
        """Handle a message from another process; None means messages may have been missed."""
        message = None if payload is None else PeerMessage.from_bytes(payload)
        if message is not None and message.origin == self._origin:
            return
        self._poller.tell()
        if message is None:
            return
        if message.session_id:
            self._release(message.session_id)
        if message.change is not None:
            self._spawn(self._apply_peer_change(message.change))

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Run work in the background."""
        task = asyncio.create_task(work, name="mcp-change")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _apply_peer_change(self, change: McpChange) -> None:
        """Apply a change made in another process."""
        try:
            await self.refresh()
            if change.what in ("updated", "removed"):
                shared = {spec.server_id for spec in self._directory.shared}
                await self._close_connections(change, is_shared=change.server_id in shared)
        except Unavailable:
            self._poller.tell()
        self._listeners.tell(change)

    def _publish_change(self, change: McpChange) -> None:
        self._listeners.tell(change)
        self._send(PeerMessage(self._origin, change))

    def _send(self, message: PeerMessage) -> None:
        if self._publish is not None:
            self._publish(message.to_bytes())


def _change(spec: ServerSpec, what: ChangeKind) -> McpChange:
    return McpChange(spec.user_id or None, spec.tenant_id or None, spec.server_id, spec.name, what)
