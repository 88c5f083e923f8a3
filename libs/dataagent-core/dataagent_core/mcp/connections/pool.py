"""All connections of this process: one per server and principal, held by sessions.

Nothing here waits for the network: a connection is created at once, and its owner task connects. A
connection that no session holds lingers for a while and is closed in the background.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dataagent_core.errors import TooManyServers
from dataagent_core.mcp.connections.connection import (
    ConnectionRules,
    OnStatus,
    OnTools,
    ServerConnection,
)
from dataagent_core.mcp.types import ConnectionKey, ConnectionStatus, ServerSpec
from dataagent_core.mcp.wire.process import kill_orphans
from dataagent_core.network import HostPolicy

__all__ = ["ConnectionPool", "OnStatus", "OnTools", "PoolLimits"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """How many connections there may be, and how long unused ones remain."""

    max_per_user: int = 5
    """Servers of a user's own that are connected at once."""
    max_processes: int = 64
    """Servers that run as processes of ours."""
    linger_seconds: float = 60.0
    close_seconds: float = 5.0
    """All are closed within it when the program ends."""
    connection: ConnectionRules = field(default_factory=ConnectionRules)


@dataclass(slots=True)
class _Entry:
    connection: ServerConnection
    holders: set[str] = field(default_factory=set[str])
    is_pinned: bool = False
    """Held until it is dropped, by no session."""
    timer: asyncio.TimerHandle | None = None

    @property
    def is_free(self) -> bool:
        return not self.holders and not self.is_pinned


class ConnectionPool:
    """Connections by key."""

    def __init__(
        self, hosts: HostPolicy, *, on_tools: OnTools, on_status: OnStatus, limits: PoolLimits
    ) -> None:
        self._hosts = hosts
        self._own_hosts: HostPolicy | None = None
        self._on_tools = on_tools
        self._on_status = on_status
        self._limits = limits
        self._entries: dict[ConnectionKey, _Entry] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._hurry = asyncio.Event()
        self._is_closed = False
        swept = kill_orphans()
        if swept:
            _log.warning("processes of an earlier run were ended", extra={"count": swept})

    def lease(self, spec: ServerSpec, *, user_id: str, session_id: str) -> ServerConnection:
        """Return the connection for a session, which holds it from now on. Does not wait.

        Raises:
            TooManyServers: the user, or the machine, has as many as allowed.
        """
        entry = self._entry(spec, key_of(spec, user_id, session_id), is_pinned=False)
        entry.holders.add(session_id)
        return entry.connection

    def hold(self, spec: ServerSpec) -> ServerConnection:
        """Return a shared connection that stays until it is dropped. Does not wait."""
        entry = self._entry(spec, ConnectionKey(spec.server_id, "shared"), is_pinned=True)
        entry.is_pinned = True
        return entry.connection

    def find(self, spec: ServerSpec, *, user_id: str, session_id: str) -> ServerConnection | None:
        """Return the existing connection, if it is for this very registration."""
        entry = self._entries.get(key_of(spec, user_id, session_id))
        if entry is None:
            return None
        known = entry.connection.spec
        return entry.connection if known is spec or known == spec else None

    def release(self, session_id: str) -> None:
        """Release what the session holds; connections without a holder linger for a while."""
        for entry in list(self._entries.values()):
            if session_id in entry.holders:
                entry.holders.discard(session_id)
                self._linger(entry)

    async def end(self, session_id: str) -> None:
        """Release what the session holds, and wait until unused connections are closed."""
        closing: list[asyncio.Task[None]] = []
        for key, entry in list(self._entries.items()):
            if session_id in entry.holders:
                entry.holders.discard(session_id)
                if entry.is_free:
                    closing.append(self._remove(key))
        if closing:
            await asyncio.wait(closing)

    async def drop(self, server_id: str, *, principal: str | None = None) -> None:
        """Remove a server's connections after it changed or was removed. Running calls may finish;
        closing happens in the background.

        With a `principal` only of theirs: a user's credentials changed.
        """
        for key in [key for key in self._entries if key.server_id == server_id]:
            if principal in (None, key.principal):
                self._remove(key, waits_for_calls=True)

    def statuses(self) -> Mapping[ConnectionKey, ConnectionStatus]:
        """Return the status of all connections."""
        return {key: entry.connection.status for key, entry in self._entries.items()}

    async def aclose(self) -> None:
        """Close all connections at the same time, within `close_seconds`."""
        self._is_closed = True
        self._hurry.set()
        for key in list(self._entries):
            self._remove(key)
        if self._closing:
            _, late = await asyncio.wait(set(self._closing), timeout=self._limits.close_seconds)
            if late:
                _log.warning("MCP connections did not close in time", extra={"count": len(late)})
        if self._own_hosts is not None:
            self._own_hosts.close()

    # -- inside ----------------------------------------------------------------------------------

    def _entry(self, spec: ServerSpec, key: ConnectionKey, *, is_pinned: bool) -> _Entry:
        """Return the entry of a key, replaced if the registration has changed."""
        entry = self._entries.get(key)
        if entry is not None and entry.connection.spec == spec:
            self._stop_timer(entry)
            return entry
        holders: set[str] = set()
        if entry is not None:
            holders, is_pinned = entry.holders, is_pinned or entry.is_pinned
            self._remove(key, waits_for_calls=True)
        self._make_room(spec, key)
        connection = self._connection(spec, key, is_pinned=is_pinned)
        entry = _Entry(connection, holders, is_pinned)
        self._entries[key] = entry
        connection.start()
        return entry

    def _connection(
        self, spec: ServerSpec, key: ConnectionKey, *, is_pinned: bool
    ) -> ServerConnection:
        rules = self._limits.connection
        if is_pinned:
            rules = replace(rules, idle_seconds=None)
        return ServerConnection(
            key,
            spec,
            self._hosts_of(spec),
            on_tools=self._on_tools,
            on_status=self._on_connection_status,
            rules=rules,
        )

    def _on_connection_status(
        self, key: ConnectionKey, spec: ServerSpec, status: ConnectionStatus
    ) -> None:
        """Report a status, unless a newer connection has replaced this one."""
        entry = self._entries.get(key)
        is_current = entry is None or entry.connection.spec is spec
        if is_current and not any(_is_newer(each, key) for each in self._entries):
            self._on_status(key, spec, status)

    def _hosts_of(self, spec: ServerSpec) -> HostPolicy:
        """Return the host policy: servers of a user's own configuration file may be anywhere."""
        if spec.scope != "file":
            return self._hosts
        if self._own_hosts is None:
            self._own_hosts = HostPolicy(allow_all=True)
        return self._own_hosts

    def _make_room(self, spec: ServerSpec, key: ConnectionKey) -> None:
        """Close lingering connections for a new one; refuse if the limit is reached."""
        if spec.scope == "user":
            self._bounded(
                [
                    other
                    for other, entry in self._entries.items()
                    if _is_own(entry, spec.user_id) and other.server_id != spec.server_id
                ],
                self._limits.max_per_user,
                "mcp_connections",
            )
        if spec.command is not None:
            self._bounded(
                [k for k, e in self._entries.items() if e.connection.spec.command is not None],
                self._limits.max_processes,
                "mcp_processes",
            )

    def _bounded(self, keys: list[ConnectionKey], most: int, what: str) -> None:
        used = len(keys)
        for key in sorted(keys, key=self._last_used):
            if used < most:
                return
            if self._entries[key].is_free:
                self._remove(key)
                used -= 1
        if used >= most:
            raise TooManyServers(
                f"There are {used} connections to MCP servers, as many as allowed.",
                details={"what": what, "limit": most, "used": used},
            )

    def _last_used(self, key: ConnectionKey) -> float:
        return self._entries[key].connection.last_used

    def _linger(self, entry: _Entry) -> None:
        if entry.is_free and not self._is_closed:
            self._stop_timer(entry)
            loop = asyncio.get_running_loop()
            entry.timer = loop.call_later(self._limits.linger_seconds, self._expire, entry)

    def _expire(self, entry: _Entry) -> None:
        key = entry.connection.key
        if entry.is_free and self._entries.get(key) is entry:
            self._remove(key)

    def _stop_timer(self, entry: _Entry) -> None:
        if entry.timer is not None:
            entry.timer.cancel()
            entry.timer = None

    def _remove(self, key: ConnectionKey, *, waits_for_calls: bool = False) -> asyncio.Task[None]:
        """Remove an entry now and close its connection in the background."""
        entry = self._entries.pop(key)
        self._stop_timer(entry)
        task = asyncio.create_task(self._end(entry.connection, waits_for_calls=waits_for_calls))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task

    async def _end(self, connection: ServerConnection, *, waits_for_calls: bool) -> None:
        if waits_for_calls:
            await connection.finish_calls(self._hurry)
        await connection.aclose()


def key_of(spec: ServerSpec, user_id: str, session_id: str) -> ConnectionKey:
    """Return the connection's key, by `session_scope`; a user's own server is never shared.

    Sessions in progress go on with their user's own servers as they were: beside a connection to
    one as it is now there may be others.
    """
    version = spec.config_version if spec.scope == "user" else 0
    if spec.session_scope == "session":
        return ConnectionKey(spec.server_id, f"session:{session_id}", version)
    if spec.session_scope == "user" or spec.scope == "user":
        return ConnectionKey(spec.server_id, f"user:{user_id}", version)
    return ConnectionKey(spec.server_id, "shared", version)


def _is_newer(key: ConnectionKey, than: ConnectionKey) -> bool:
    """Whether a key is a later version of the same server and principal."""
    is_same = (key.server_id, key.principal) == (than.server_id, than.principal)
    return is_same and key.version > than.version


def _is_own(entry: _Entry, user_id: str) -> bool:
    spec = entry.connection.spec
    return spec.scope == "user" and spec.user_id == user_id
