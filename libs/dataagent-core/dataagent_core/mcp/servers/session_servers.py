"""Which MCP servers a session in progress has: those there were when it began.

A user's own are kept as they were then, sealed like their registration, so that what their user
changes holds from the next session on, whichever process a session goes on in. Shared servers are
as administrators have them now. A server that is removed or disabled is gone at once. A session
that rested begins anew. Above: `caller_context.py`. Below: `servers.py`, `storage/`.
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
"""A process writes down that a session is used so often in the time after which it has rested."""
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
"""When something was last said in a session before the present run; None if nothing was."""


@dataclass(frozen=True, slots=True)
class _CachedSession:
    """What this process knows of a session."""

    initial: InitialServers
    looked_at: float


class SessionServers:
    """The servers of sessions in progress."""

    def __init__(
        self,
        database: Database,
        servers: ServerStore,
        *,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A session has rested when it was not used for `idle_seconds`."""
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
        """The servers of a run that begins, out of those there are for its user, the nearest last.

        The first run of a session begins it, with the servers of this moment. If something was said
        in it lately all the same, its user had no server then: it has none that came later.

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
        """The same servers as at the run's beginning, but for those that are gone since.

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
        """The session rests in this process; what it began with is read when it goes on."""
        self._known.pop(session_id, None)

    def _cache(self, session_id: str, initial: InitialServers) -> None:
        self._known[session_id] = _CachedSession(initial, self._clock())
        self._known.move_to_end(session_id)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    # -- what is stored -------------------------------------------------------------------------

    async def _load_active(self, session_id: str) -> InitialServers | None:
        """What a session began with, which is used now; None if it has rested or never began."""
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
        """Store what a session begins with."""
        now = datetime.now(UTC)
        said_at = None if last_message_at is None else await last_message_at()
        is_in_progress = said_at is not None and said_at >= self._idle_since(now)
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
        wanted = {"wanted": [*initial], "up_to": said_at if is_in_progress else now}

        def unit(connection: Connection) -> set[str]:
            connection.execute(_FORGET_RESTED, {"not_before": self._idle_since(now)})
            connection.execute(insert(mcp_sessions), {"session_id": session_id, "used_at": now})
            found = (
                set(connection.execute(_REGISTERED, wanted).scalars()) if initial else set[str]()
            )
            if kept := [row for row in rows if row["server_id"] in found]:
                connection.execute(insert(mcp_session_servers), kept)
            return found

        try:
            stored = await self._db.write(unit, is_durable=False)
        except IntegrityError:  # it was begun at this moment elsewhere, or a server was removed
            return await self._load_active(session_id) or {}
        return {server_id: initial[server_id] for server_id in stored}

    def _idle_since(self, now: datetime) -> datetime:
        """Sessions that were last used before it have rested."""
        return now - timedelta(seconds=self._idle_seconds)


def usable_servers(available: Sequence[ServerSpec]) -> tuple[ServerSpec, ...]:
    """Of servers with one name the nearest, which is the last; disabled ones left out."""
    nearest = {spec.name: spec for spec in available}
    return tuple(spec for spec in nearest.values() if not spec.disabled)


def servers_in_session(
    initial: InitialServers, available: Sequence[ServerSpec]
) -> tuple[ServerSpec, ...]:
    """Of the servers a session began with those there still are, and a file's as it is now."""
    found: dict[str, ServerSpec] = {}
    for spec in available:
        if spec.scope != "file" and spec.server_id not in initial:
            continue
        kept = initial.get(spec.server_id) or spec
        if spec.disabled:
            found.pop(kept.name, None)
        else:
            found[kept.name] = kept
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
