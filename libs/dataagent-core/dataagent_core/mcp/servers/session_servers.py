"""The MCP servers of a session: those its user had when it began.

A user's own servers are stored as they were, sealed like the registration, so that a change applies
from the next session on, in whichever process the session continues. Shared servers are as
administrators have configured them now. A server that is removed or disabled leaves at once. A
session that was idle too long begins anew.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from pydantic import SecretStr
from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import Misconfigured
from dataagent_core.identity.sealing import SecretBox
from dataagent_core.mcp.servers.server_store import ServerStore
from dataagent_core.mcp.types import ServerSpec
from dataagent_core.storage import Database
from dataagent_core.storage.agent_tables import mcp_servers, mcp_session_servers, mcp_sessions

logger = logging.getLogger(__name__)
IDLE_SECONDS = 3600.0
_REFRESHES_PER_IDLE_PERIOD = 10
"""How often per idle period a process stores that a session is used."""
_MOST_KNOWN = 10_000
_OF_SESSION = mcp_sessions.c.session_id == bindparam("of_session")
_USED = select(mcp_sessions.c.session_id).where(
    _OF_SESSION, mcp_sessions.c.used_at >= bindparam("not_before")
)
_USE = update(mcp_sessions).where(_OF_SESSION).values(used_at=bindparam("at"))
_SERVERS = select(mcp_session_servers.c.server_id, mcp_session_servers.c.config).where(
    mcp_session_servers.c.session_id == bindparam("of_session")
)
_FORGET_RESTED = delete(mcp_sessions).where(mcp_sessions.c.used_at < bindparam("not_before"))
_REGISTERED = select(mcp_servers.c.server_id).where(
    mcp_servers.c.server_id.in_(bindparam("wanted", expanding=True)),
    mcp_servers.c.created_at <= bindparam("up_to"),
)

InitialServers = Mapping[str, ServerSpec | None]
"""The servers a session began with, by id; None: as it is registered now."""
LastMessageAt = Callable[[], Awaitable[datetime | None]]
"""When the session's last message before the present run was sent; None if there was none."""


@dataclass(frozen=True, slots=True)
class _CachedSession:
    """What this process has read of a session."""

    initial: InitialServers
    looked_at: float


class SessionServers:
    """The servers of active sessions."""

    def __init__(
        self,
        database: Database,
        servers: ServerStore,
        *,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A session expires when it is not used for `idle_seconds`."""
        self._db = database
        self._servers = servers
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._known: OrderedDict[str, _CachedSession] = OrderedDict()

    async def begin_run(
        self,
        session_id: str,
        available: Sequence[ServerSpec],
        last_message_at: LastMessageAt | None,
    ) -> tuple[ServerSpec, ...]:
        """Return the servers of a run that begins, out of the user's, the nearest last.

        The first run of a session begins it, with the servers of this moment. If it has a recent
        message all the same, its user had no server then: servers registered later are left out.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        known = self._known.get(session_id)
        pause = self._idle_seconds / _REFRESHES_PER_IDLE_PERIOD
        if known is not None and self._clock() - known.looked_at < pause:
            return servers_in_session(known.initial, available)
        initial = await self._load_active(session_id)
        if initial is None:
            initial = await self._begin(session_id, usable_servers(available), last_message_at)
        self._cache(session_id, initial)
        return servers_in_session(initial, available)

    async def during_run(
        self, session_id: str, available: Sequence[ServerSpec]
    ) -> tuple[ServerSpec, ...]:
        """Return the servers of the run that still exist.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        known = self._known.get(session_id)
        if known is not None:
            return servers_in_session(known.initial, available)
        initial = await self._load_active(session_id)  # a run that outlived its session's rest
        return (
            usable_servers(available) if initial is None else servers_in_session(initial, available)
        )

    def forget(self, session_id: str) -> None:
        """Drop a session from memory; it is read again when it continues."""
        self._known.pop(session_id, None)

    def _cache(self, session_id: str, initial: InitialServers) -> None:
        self._known[session_id] = _CachedSession(initial, self._clock())
        self._known.move_to_end(session_id)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    # -- what is stored -------------------------------------------------------------------------

    async def _load_active(self, session_id: str) -> InitialServers | None:
        """Return the session's servers and mark it as used; None if it expired or never began."""
        now = datetime.now(UTC)
        values = {"of_session": session_id, "not_before": self._idle_since(now), "at": now}

        def unit(connection: Connection) -> Mapping[str, str | None] | None:
            if connection.execute(_USED, values).first() is None:
                return None
            connection.execute(_USE, values)
            rows = connection.execute(_SERVERS, values)
            return {row.server_id: row.config for row in rows}

        found = await self._db.write(unit, is_durable=False)
        if found is None:
            return None
        box = await self._servers.secret_box()
        return {
            server_id: None if config is None else _unseal(box, session_id, server_id, config)
            for server_id, config in found.items()
        }

    async def _begin(
        self, session_id: str, specs: Sequence[ServerSpec], last_message_at: LastMessageAt | None
    ) -> InitialServers:
        """Store a session's servers."""
        now = datetime.now(UTC)
        message_at = None if last_message_at is None else await last_message_at()
        is_in_progress = message_at is not None and message_at >= self._idle_since(now)
        initial = {
            spec.server_id: spec if spec.scope == "user" else None
            for spec in specs
            if spec.scope != "file"
        }
        box = await self._servers.secret_box()
        rows = [
            {
                "session_id": session_id,
                "server_id": server_id,
                "config": None if spec is None else _seal(box, session_id, spec),
            }
            for server_id, spec in initial.items()
        ]
        wanted = {"wanted": [*initial], "up_to": message_at if is_in_progress else now}

        def unit(connection: Connection) -> set[str]:
            connection.execute(_FORGET_RESTED, {"not_before": self._idle_since(now)})
            connection.execute(insert(mcp_sessions), {"session_id": session_id, "used_at": now})
            found = (
                set(connection.execute(_REGISTERED, wanted).scalars()) if initial else set[str]()
            )
            if stored := [row for row in rows if row["server_id"] in found]:
                connection.execute(insert(mcp_session_servers), stored)
            return found

        try:
            registered = await self._db.write(unit, is_durable=False)
        except IntegrityError:  # it was begun at this moment elsewhere, or a server was removed
            return await self._load_active(session_id) or {}
        return {server_id: initial[server_id] for server_id in registered}

    def _idle_since(self, now: datetime) -> datetime:
        """Return the time before which a session's last use means it has expired."""
        return now - timedelta(seconds=self._idle_seconds)


def usable_servers(available: Sequence[ServerSpec]) -> tuple[ServerSpec, ...]:
    """Drop disabled servers; of equal names the nearest is used, which is the last."""
    nearest = {spec.name: spec for spec in available}
    return tuple(spec for spec in nearest.values() if not spec.disabled)


def servers_in_session(
    initial: InitialServers, available: Sequence[ServerSpec]
) -> tuple[ServerSpec, ...]:
    """Return the session's servers that still exist, and those of files as they are now."""
    found: dict[str, ServerSpec] = {}
    for spec in available:
        if spec.scope != "file" and spec.server_id not in initial:
            continue
        current = initial.get(spec.server_id) or spec
        if spec.disabled:
            found.pop(current.name, None)
        else:
            found[current.name] = current
    return tuple(found.values())


def _seal(box: SecretBox, session_id: str, spec: ServerSpec) -> str:
    values = {each.name: getattr(spec, each.name) for each in fields(spec)}
    for name in ("env", "headers"):
        values[name] = {key: secret.get_secret_value() for key, secret in values[name].items()}
    text = SecretStr(orjson.dumps(values).decode())
    return box.seal(text, bound_to=_seal_binding(session_id, spec.server_id))


def _unseal(box: SecretBox, session_id: str, server_id: str, config: str) -> ServerSpec | None:
    what = f"MCP server {server_id} of session {session_id}"
    try:
        text = box.open(config, bound_to=_seal_binding(session_id, server_id), what=what)
    except Misconfigured as error:
        logger.warning("%s goes on as it is registered: %s", what, error.message)
        return None
    values: dict[str, Any] = orjson.loads(text.get_secret_value())  # Any: a field of each type
    for name in ("args", "read_only_tools"):
        values[name] = tuple(values[name])
    for name in ("env", "headers"):
        values[name] = {key: SecretStr(secret) for key, secret in values[name].items()}
    return ServerSpec(**values)


def _seal_binding(session_id: str, server_id: str) -> str:
    return f"session:{session_id}:{server_id}"
