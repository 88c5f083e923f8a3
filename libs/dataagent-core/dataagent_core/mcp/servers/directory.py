"""Which servers each user has, known without asking the database.

A process keeps the shared servers and who has any of their own, and reads again when the version in
the database has grown. So a run of someone who has no server costs a look into a set. A user's own
servers, with their secrets, are read when they are first needed and forgotten with the next
version. Servers of configuration files stand below all others. Above: `hub.py`. Below:
`servers.py`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from dataagent_core.mcp.servers.servers import ServerStore
from dataagent_core.mcp.types import ServerSpec

_KEPT_USERS = 1_000
Specs = tuple[ServerSpec, ...]


class ServerDirectory:
    """The servers of an installation, by who may use them."""

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
        """Servers of the installation and then of tenants, disabled ones too."""
        return self._shared

    @property
    def files(self) -> Specs:
        """Servers of configuration files: the installation's, and above them the person's."""
        found = {spec.name: spec for spec in (*self._defaults, *self._files)}
        return tuple(found.values())

    @property
    def is_empty(self) -> bool:
        """Whether nobody has any server."""
        return not (self._shared or self._owners or self._defaults or self._files)

    def put_defaults(self, specs: Sequence[ServerSpec]) -> None:
        """Put in place what the installation's file has."""
        self._defaults = tuple(specs)
        self._of_users = OrderedDict()

    def put_files(self, specs: Sequence[ServerSpec]) -> None:
        """Put a person's files' servers in place of those there were."""
        self._files = tuple(specs)
        self._of_users = OrderedDict()

    async def refresh(self) -> bool:
        """Read again if anything has changed; whether it has.

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
        """Whether the user surely has no server at all."""
        if self._files or self._defaults or user_id in self._owners:
            return False
        return not any(_is_for(spec, tenant_id) for spec in self._shared)

    async def all_for(self, user_id: str, tenant_id: str | None) -> Specs:
        """All servers there are for the user, disabled ones too, the nearest to them last.

        Raises:
            StorageUnavailable: the database does not answer.
        """
        key = (user_id, tenant_id)
        kept = self._of_users  # of this version: what is read now is not kept for a later one
        known = kept.get(key)
        if known is None:
            known = await self._read(user_id, tenant_id)
            kept[key] = known
            while len(kept) > _KEPT_USERS:
                kept.popitem(last=False)
        kept.move_to_end(key)
        return known

    async def _read(self, user_id: str, tenant_id: str | None) -> Specs:
        if user_id in self._owners:
            return (*self.files, *await self._store.all_for(user_id, tenant_id))
        theirs = (spec for spec in self._shared if _is_for(spec, tenant_id))
        return (*self.files, *theirs)


def _is_for(spec: ServerSpec, tenant_id: str | None) -> bool:
    return spec.scope == "global" or spec.tenant_id == (tenant_id or "")
