"""Registered MCP servers in the database: the store, a cache by user, and the last statuses.

Secrets are passed only inside a `ServerSpec`; rows hold them sealed. Every change increments one
version, which makes processes read again. `ServerDirectory` caches the shared servers and which
users have their own, so a run of a user without servers costs one look-up in a set. `StatusWriter`
stores statuses in the background, for processes and people without the connection.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pydantic import SecretStr
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import (
    BadInput,
    Conflict,
    DataAgentError,
    Misconfigured,
    ServerNotFound,
    TooManyServers,
    Unavailable,
)
from dataagent_core.identity.sealing import SecretBox, secret_box
from dataagent_core.mcp.catalogue.tool_rows import delete_tools, expose_anew
from dataagent_core.mcp.changes import count_up, hold, hold_agents, version_of
from dataagent_core.mcp.servers.registration import (
    NewServer,
    ServerChanges,
    alias_for,
    check,
    spec_of,
)
from dataagent_core.mcp.servers.server_rows import (
    SECRETS_OF,
    STATUS,
    SecretKind,
    StoredServer,
    changed_columns,
    new_columns,
    put_secrets,
    read_effective,
    read_one,
    read_where,
    spec_from,
    status_columns,
    status_from,
    template_columns,
    unconnected_columns,
    unseal,
)
from dataagent_core.mcp.types import ConnectionKey, ConnectionStatus, Scope, ServerSpec
from dataagent_core.storage import Database
from dataagent_core.storage.agent_tables import mcp_server_secrets, mcp_servers
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.storage.database import is_storable

_IS_SERVER = mcp_servers.c.server_id == bindparam("wanted")
_OWNERS = (
    select(mcp_servers.c.user_id)
    .where(mcp_servers.c.user_id != "")
    .union(
        select(mcp_server_secrets.c.owner_user_id).where(mcp_server_secrets.c.owner_user_id != "")
    )
)


class ServerStore:
    """All servers of an installation except those of configuration files."""

    def __init__(self, database: Database, *, secret_key: SecretStr | None = None) -> None:
        self._db = database
        self._secret_key = secret_key
        self._box: SecretBox | None = None

    # -- reading --------------------------------------------------------------------------------

    async def version(self) -> int:
        """Return the version: how often servers, credentials, tools or keys' lists changed."""
        return await self._db.read(version_of)

    async def owners(self) -> frozenset[str]:
        """Return the users with servers of their own, or own credentials for a shared one."""
        return await self._db.read(lambda c: frozenset(c.execute(_OWNERS).scalars()))

    async def get(self, server_id: str) -> ServerSpec:
        """Return the server with the id.

        Raises:
            ServerNotFound: there is none.
        """
        if not server_id or len(server_id) > 64 or not is_storable(server_id):
            raise server_not_found(server_id)
        stored = await self._db.read(lambda c: read_one(c, server_id))
        if stored is None:
            raise server_not_found(server_id)
        return spec_from(stored, await self.secret_box())

    async def find(
        self, *, scope: Scope, name: str, user_id: str = "", tenant_id: str = ""
    ) -> ServerSpec:
        """Return the server with the name in its scope.

        Raises:
            ServerNotFound: there is none.
        """
        for spec in await self.list(scope=scope, user_id=user_id, tenant_id=tenant_id):
            if spec.name == name:
                return spec
        raise server_not_found(name)

    async def list(
        self,
        *,
        scope: Scope | None = None,
        tenant_id: str | None = None,
        user_id: str | None = None,
    ) -> builtins.list[ServerSpec]:
        """Return the matching servers, by scope and name."""
        wanted = {"scope": scope, "tenant_id": tenant_id, "user_id": user_id}
        given = {name: value for name, value in wanted.items() if value is not None}
        found = await self._db.read(lambda c: read_where(c, given))
        return self._specs(found, await self.secret_box())

    async def count(self, *, user_id: str) -> int:
        """Return how many servers the user has registered."""
        return await self._db.read(lambda c: _count(c, user_id))

    async def all_for(self, user_id: str, tenant_id: str | None) -> builtins.list[ServerSpec]:
        """Return the shared servers, the tenant's and the user's own, the nearest last.

        The user's own credentials are filled in. Disabled servers are included.
        """
        found = await self._db.read(lambda c: read_effective(c, user_id, tenant_id or ""))
        box = await self.secret_box()
        return [spec_from(stored, box, user_id=user_id) for stored in found]

    async def effective(self, *, user_id: str, tenant_id: str | None) -> builtins.list[ServerSpec]:
        """As `all_for`, sorted by name: of equal names the server nearest to the user."""
        by_name = {spec.name: spec for spec in await self.all_for(user_id, tenant_id)}
        return [by_name[name] for name in sorted(by_name)]

    async def credentials(
        self, server_id: str, *, user_id: str
    ) -> tuple[Mapping[str, SecretStr], Mapping[str, SecretStr]]:
        """Return the user's own headers and environment for a shared server."""
        wanted = {"wanted": server_id, "owner": user_id}
        rows = await self._db.read(lambda c: c.execute(SECRETS_OF, wanted).all())
        with suppress(Misconfigured):  # sealed with another key: to be entered again
            env, headers = unseal(await self.secret_box(), rows)
            return headers, env
        return {}, {}

    # -- writing --------------------------------------------------------------------------------

    async def create(self, new: NewServer, *, by: str, most: int | None = None) -> ServerSpec:
        """Register a server; `most` is how many of their own a user may have.

        Raises:
            BadInput: a value does not do; the message says which.
            Conflict: the name, the alias or the id is taken.
            TooManyServers: the user has as many as they may.
        """
        if new.scope == "file":
            raise BadInput("A configuration file's servers are not registered.")
        spec = spec_of(new, server_id=new.server_id or uuid4().hex, alias=new.alias or "x")
        box, at = await self.secret_box(), _now()

        def unit(connection: Connection) -> str:
            hold(connection)
            _check_id(connection, spec.server_id)
            if most is not None and spec.user_id:
                _check_room(connection, spec.user_id, most)
            made = replace(spec, alias=_free_alias(connection, spec, new.alias))
            values = new_columns(made, by=by, at=at) | template_columns(connection, made)
            connection.execute(insert(mcp_servers), values)
            secrets: dict[SecretKind, Any] = {"env": spec.env, "header": spec.headers}
            put_secrets(connection, box, spec.server_id, "", secrets, at=at)
            count_up(connection)
            return made.alias

        try:
            alias = await self._db.write(unit)
        except IntegrityError:
            raise _name_taken(spec.name) from None
        return replace(spec, alias=alias)

    async def update(self, server_id: str, changes: ServerChanges, *, by: str) -> ServerSpec:
        """Change a server; omitted fields stay, secrets too.

        Raises:
            ServerNotFound: there is none.
            BadInput: a value does not do; the message says which.
            Conflict: the name or the alias is taken.
        """
        box, at = await self.secret_box(), _now()

        def unit(connection: Connection) -> ServerSpec:
            version = hold(connection)
            stored = read_one(connection, server_id)
            if stored is None:
                raise server_not_found(server_id)
            spec = _apply_changes(spec_from(stored, box), stored, changes)
            if "alias" in changes:
                _free_alias(connection, spec, spec.alias)
            values = {**changed_columns(spec), "updated_by": by, "updated_at": at}
            if spec.scope == "user":  # sessions in progress go on with it as it was
                values |= unconnected_columns(spec)
            if "template_id" in changes or "command" in changes:
                values |= template_columns(connection, spec)
            connection.execute(
                update(mcp_servers).where(_IS_SERVER).values(values), {"wanted": server_id}
            )
            put_secrets(connection, box, server_id, "", _secret_changes(changes), at=at)
            count_up(connection)
            if spec.alias != stored.row.alias:
                expose_anew(connection, spec, version)
            return spec

        try:
            return await self._db.write(unit)
        except IntegrityError:
            raise _name_taken(changes.get("name", "")) from None

    async def delete(self, server_id: str) -> None:
        """Delete a server with its secrets and its tools; the call log stays.

        Raises:
            ServerNotFound: there is none.
        """

        def unit(connection: Connection) -> None:
            hold(connection)
            _delete(connection, server_id)
            count_up(connection)

        await self._db.write(unit)

    async def delete_of_user(self, user_id: str) -> int:
        """Delete all servers and credentials of a user, and return how many servers."""
        servers = select(mcp_servers.c.server_id).where(mcp_servers.c.user_id == user_id)
        own = delete(mcp_server_secrets).where(mcp_server_secrets.c.owner_user_id == user_id)

        def unit(connection: Connection) -> int:
            hold(connection)
            found = connection.execute(servers).scalars().all() if user_id else ()
            for server_id in found:
                _delete(connection, server_id)
            if user_id:
                connection.execute(own)
            count_up(connection)
            return len(found)

        return await self._db.write(unit)

    async def set_credentials(
        self,
        server_id: str,
        *,
        user_id: str,
        headers: Mapping[str, SecretStr],
        env: Mapping[str, SecretStr],
    ) -> None:
        """Replace the user's own credentials for a shared server.

        Raises:
            ServerNotFound: there is no such shared server.
            BadInput: a value does not do; the message says which.
        """
        box, at = await self.secret_box(), _now()

        def unit(connection: Connection) -> None:
            hold(connection)
            stored = read_one(connection, server_id)
            if stored is None or stored.row.scope == "user" or not user_id:
                raise server_not_found(server_id)
            check(replace(spec_from(stored, box), headers=headers, env=env))
            secrets: dict[SecretKind, Any] = {"env": env, "header": headers}
            put_secrets(connection, box, server_id, user_id, secrets, at=at)
            count_up(connection)

        await self._db.write(unit)

    # -- how connections are --------------------------------------------------------------------

    async def note_status(
        self, server_id: str, status: ConnectionStatus, *, version: int | None = None
    ) -> None:
        """Store the status of a server's connection.

        Nothing if the server is gone, or if it is not registered in that version any more.
        """
        values = status_columns(status)
        statement = update(mcp_servers).where(mcp_servers.c.server_id == server_id).values(values)
        if version is not None:
            statement = statement.where(mcp_servers.c.config_version == version)
        await self._db.write(lambda c: c.execute(statement).rowcount, is_durable=False)

    async def last_status(self, server_id: str) -> ConnectionStatus | None:
        """Return the last status any process stored; None if there is no such server."""
        row = await self._db.read(lambda c: c.execute(STATUS, {"wanted": server_id}).first())
        return None if row is None else status_from(row)

    # -- inside ---------------------------------------------------------------------------------

    async def secret_box(self) -> SecretBox:
        """Return the box that seals the servers' secrets."""
        if self._box is None:
            self._box = await secret_box(self._db, purpose="mcp servers", key=self._secret_key)
        return self._box

    def _specs(
        self, found: builtins.list[StoredServer], box: SecretBox
    ) -> builtins.list[ServerSpec]:
        specs = [spec_from(stored, box) for stored in found]
        return sorted(specs, key=lambda s: (s.scope, s.tenant_id, s.user_id, s.name))


def server_not_found(wanted: str) -> ServerNotFound:
    """Return the error for an unknown server."""
    return ServerNotFound(f"There is no MCP server {wanted[:80]!r}. List the servers to see them.")


def _name_taken(name: str) -> Conflict:
    return Conflict(f"Server already exists: {name!r}. Choose another name.")


def _check_id(connection: Connection, server_id: str) -> None:
    known = select(mcp_servers.c.server_id).where(_IS_SERVER)
    if connection.execute(known, {"wanted": server_id}).first() is not None:
        raise Conflict(f"There is an MCP server with the id {server_id!r} already. Choose another.")


def _count(connection: Connection, user_id: str) -> int:
    counted = select(func.count()).where(mcp_servers.c.user_id == user_id)
    return connection.execute(counted).scalar() or 0


def _check_room(connection: Connection, user_id: str, most: int) -> None:
    used = _count(connection, user_id)
    if used >= most:
        details: dict[str, object] = {"what": "mcp_servers", "limit": most, "used": used}
        raise TooManyServers(
            f"You have {used} MCP servers and may have {most}. Remove one first.", details=details
        )


def _free_alias(connection: Connection, spec: ServerSpec, wanted: str | None) -> str:
    """Return an alias that no other server of the same owner has.

    Raises:
        Conflict: the requested one is taken.
    """
    others = select(mcp_servers.c.alias).where(
        mcp_servers.c.scope == spec.scope,
        mcp_servers.c.tenant_id == spec.tenant_id,
        mcp_servers.c.user_id == spec.user_id,
        mcp_servers.c.server_id != spec.server_id,
    )
    taken = set(connection.execute(others).scalars())
    if wanted is None:
        return alias_for(spec.name, taken)
    if wanted in taken:
        raise Conflict(f"Another MCP server has the alias {wanted!r}. Choose another.")
    return wanted


def _apply_changes(spec: ServerSpec, stored: StoredServer, changes: ServerChanges) -> ServerSpec:
    """Return the changed server. Secrets that cannot be opened are neither used nor lost."""
    values: dict[str, Any] = dict(changes)
    values.setdefault("disabled", stored.row.disabled)
    new = replace(spec, **values, config_version=stored.row.config_version + 1)
    if new.command is not None and new.transport == "auto":
        new = replace(new, transport="stdio")
    check(new)
    return new


def _secret_changes(changes: ServerChanges) -> dict[SecretKind, Any]:
    given: dict[SecretKind, Any] = {}
    if "env" in changes:
        given["env"] = changes["env"]
    if "headers" in changes:
        given["header"] = changes["headers"]
    return given


def _delete(connection: Connection, server_id: str) -> None:
    shared = select(mcp_servers.c.scope).where(_IS_SERVER)
    scope = connection.execute(shared, {"wanted": server_id}).scalar()
    if scope is None:
        raise server_not_found(server_id)
    if scope != "user":
        hold_agents(connection)
    delete_tools(connection, server_id)
    connection.execute(delete(mcp_servers).where(_IS_SERVER), {"wanted": server_id})


def _now() -> datetime:
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


_CACHED_USERS = 1_000
Specs = tuple[ServerSpec, ...]


class ServerDirectory:
    """The servers of an installation by user, cached."""

    def __init__(self, store: ServerStore) -> None:
        self._store = store
        self._version = -1
        self._shared: Specs = ()
        self._defaults: Specs = ()
        self._files: Specs = ()
        self._owners: frozenset[str] = frozenset()
        self._of_users: OrderedDict[tuple[str, str | None], Specs] = OrderedDict()
        self._reading = asyncio.Lock()

    @property
    def shared(self) -> Specs:
        """Servers of the installation and then of tenants, disabled ones included."""
        return self._shared

    @property
    def files(self) -> Specs:
        """Servers of configuration files; the user's own file overrides the installation's."""
        found = {spec.name: spec for spec in (*self._defaults, *self._files)}
        return tuple(found.values())

    @property
    def is_empty(self) -> bool:
        """Whether no user has any server."""
        return not (self._shared or self._owners or self._defaults or self._files)

    def put_defaults(self, specs: Sequence[ServerSpec]) -> None:
        """Set the servers of the installation's file."""
        self._defaults = tuple(specs)
        self._of_users = OrderedDict()

    def put_files(self, specs: Sequence[ServerSpec]) -> None:
        """Replace the servers of the user's own files."""
        self._files = tuple(specs)
        self._of_users = OrderedDict()

    async def refresh(self) -> bool:
        """Read again if anything changed, and return whether it did.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        async with self._reading:
            version = await self._store.version()
            if version == self._version:
                return False
            wide = await self._store.list(scope="global")
            near = await self._store.list(scope="tenant")
            owners = await self._store.owners()
            self._shared = (*wide, *near)
            self._owners, self._version = owners, version
            self._of_users = OrderedDict()
            return True

    def has_none(self, user_id: str, tenant_id: str | None) -> bool:
        """Whether the user certainly has no server."""
        if self._files or self._defaults or user_id in self._owners:
            return False
        return not any(_is_for(spec, tenant_id) for spec in self._shared)

    async def all_for(self, user_id: str, tenant_id: str | None) -> Specs:
        """Return all of the user's servers, disabled ones included, the nearest last.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        key = (user_id, tenant_id)
        cache = self._of_users  # of this version, also if another is read meanwhile
        known = cache.get(key)
        if known is None:
            known = await self._read(user_id, tenant_id)
            cache[key] = known
            while len(cache) > _CACHED_USERS:
                cache.popitem(last=False)
        cache.move_to_end(key)
        return known

    async def _read(self, user_id: str, tenant_id: str | None) -> Specs:
        if user_id in self._owners:
            return (*self.files, *await self._store.all_for(user_id, tenant_id))
        theirs = (spec for spec in self._shared if _is_for(spec, tenant_id))
        return (*self.files, *theirs)


def _is_for(spec: ServerSpec, tenant_id: str | None) -> bool:
    return spec.scope == "global" or spec.tenant_id == (tenant_id or "")


logger = logging.getLogger(__name__)
_SHARED = "shared"
_PAUSE_SECONDS = 1.0


class StatusWriter:
    """Writes the last status of each server to the database."""

    def __init__(self, store: ServerStore) -> None:
        self._store = store
        self._waiting: dict[str, tuple[ConnectionStatus, int | None]] = {}
        self._has_waiting = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start writing."""
        self._writer = asyncio.create_task(self._write(), name="mcp-statuses")

    async def aclose(self) -> None:
        """Stop; unwritten statuses are known again after the next connection."""
        await cancel_all([self._writer])

    def note(self, key: ConnectionKey, spec: ServerSpec, status: ConnectionStatus) -> None:
        """Record a status, unless it is a user's own connection to a shared server."""
        log_failure(spec, status)
        if spec.scope == "file" or (key.principal != _SHARED and spec.scope != "user"):
            return
        self._waiting[spec.server_id] = status, key.version or None
        self._has_waiting.set()

    async def _write(self) -> None:
        while True:
            await self._has_waiting.wait()
            self._has_waiting.clear()
            waiting, self._waiting = self._waiting, {}
            for server_id, (status, version) in waiting.items():
                await self._write_one(server_id, status, version)

    async def _write_one(
        self, server_id: str, status: ConnectionStatus, version: int | None
    ) -> None:
        try:
            await self._store.note_status(server_id, status, version=version)
        except Unavailable:
            self._waiting.setdefault(server_id, (status, version))
            self._has_waiting.set()
            await asyncio.sleep(_PAUSE_SECONDS)
        except DataAgentError:  # it was removed at this moment
            return
        except Exception:
            logger.exception("the status of an MCP server could not be written")


def log_failure(spec: ServerSpec, status: ConnectionStatus) -> None:
    """Log a server that cannot be reached; the first failure in a row is a warning."""
    if status.status == "error":
        level = logging.INFO if status.fail_count > 1 else logging.WARNING
        logger.log(level, "MCP server %s is not reached: %s", spec.label, status.reason)
