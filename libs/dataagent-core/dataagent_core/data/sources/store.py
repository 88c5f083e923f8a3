"""The store of registered data sources, with their grants.

A source's URL goes in and never comes back, except through `url_of`, for opening the engine.
Sources from this process's configuration file are changed there alone.

Grants add up: one that fits is enough. A grant to an agent lets everyone who speaks through that
agent read the source there, and nowhere else. Administrators read all sources, because they could
grant themselves any; policies bind them all the same. Through an agent they have their own and
those granted to them, so that an answer does not rest on another user's upload.

A process may have sources of its own (a file named on the command line, piped data): they are
listed and queried like all others, but not stored, and visible to that process alone.
"""

from __future__ import annotations

import builtins
import hmac
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar, assert_never
from uuid import uuid4

from pydantic import SecretStr
from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.data.sources.checks import validate_grants, validate_new_source
from dataagent_core.data.sources.policies import AttributeStore, PolicyStore
from dataagent_core.data.sources.rows import (
    changed_settings,
    changes_address,
    display_address,
    remove_protected_values,
    settings_of,
    source_from,
    with_changes,
)
from dataagent_core.data.sources.secrets import has_password
from dataagent_core.data.sources.types import Grant, NewSource, Source, SourceChanges, now
from dataagent_core.data.types import Reader
from dataagent_core.errors import Conflict, SourceNotFound
from dataagent_core.identity.sealing import SecretBox, secret_box, shared_secret
from dataagent_core.storage import Database, Unit
from dataagent_core.storage.database import is_storable
from dataagent_core.storage.tables import data_grants, data_sources, removed_sources


def visible_to(source: Source, reader: Reader) -> bool:
    """Whether the reader may know of the source and query it."""
    is_administering = reader.is_admin and reader.agent_id is None
    if is_administering or (source.owner_id is not None and source.owner_id == reader.user_id):
        return True
    return any(_grant_fits(grant, reader) for grant in source.grants)


def _grant_fits(grant: Grant, reader: Reader) -> bool:
    match grant.subject_kind:
        case "everyone":
            return True
        case "user":
            return grant.subject_id == reader.user_id
        case "tenant":
            return grant.subject_id == reader.tenant_id
        case "agent":
            return grant.subject_id == reader.agent_id
        case _:
            assert_never(grant.subject_kind)


PREFIX = "temporary-"
"""How the ids of such sources begin, and with them the names of what is loaded for them."""


class TemporarySources:
    """The sources that were lent to this process, in the order in which they came."""

    def __init__(self) -> None:
        self._held: dict[str, Source] = {}
        self._urls: dict[str, SecretStr] = {}

    def add(self, new: NewSource, *, owner_id: str) -> Source:
        """Add a source that was checked and has a free name."""
        moment, source_id = now(), f"{PREFIX}{uuid4().hex}"
        source = Source(
            source_id=source_id,
            name=new.name,
            kind="files" if new.url is None else "database",
            description=new.description,
            dialect=None,
            owner_id=owner_id,
            is_sample=False,
            is_from_config=False,
            default_policy=new.default_policy,
            time_zone=new.time_zone,
            limits=new.limits,
            grants=(),
            has_credentials=new.url is not None and has_password(new.url),
            address=display_address(new),
            folder=new.folder,
            files=new.files,
            address_changed_at=moment,
            created_at=moment,
            updated_at=moment,
            is_temporary=True,
        )
        self._held[source_id] = source
        if new.url is not None:
            self._urls[source_id] = new.url
        return source

    def all(self) -> list[Source]:
        """Every one."""
        return list(self._held.values())

    def find(self, source_id_or_name: str) -> Source | None:
        """The one of that id or name."""
        for source in self._held.values():
            if source_id_or_name in (source.source_id, source.name):
                return source
        return None

    def url_of(self, source_id: str) -> SecretStr | None:
        """Where it is; None if it is made of files."""
        return self._urls.get(source_id)

    def note_dialect(self, source_id: str, dialect: str) -> None:
        """Remember which dialect it speaks."""
        self._held[source_id] = replace(self._held[source_id], dialect=dialect)

    def remove(self, source_id: str) -> None:
        """Forget it."""
        self._held.pop(source_id, None)
        self._urls.pop(source_id, None)


T = TypeVar("T")
_ID = data_sources.c.source_id == bindparam("wanted")
_ALL = select(data_sources).order_by(data_sources.c.name)
_BY_ID = select(data_sources).where(_ID)
_BY_NAME = select(data_sources).where(data_sources.c.name == bindparam("wanted"))
_GRANTS = select(data_grants)
_GRANTS_OF = select(data_grants).where(data_grants.c.source_id == bindparam("wanted"))
_DELETE = delete(data_sources).where(_ID)
_REMOVED = select(removed_sources).where(removed_sources.c.source_id == bindparam("wanted"))
_DELETE_GRANTS = delete(data_grants).where(data_grants.c.source_id == bindparam("wanted"))
_UPDATE = (
    update(data_sources)
    .where(_ID)
    .values(
        name=bindparam("new_name"),
        kind=bindparam("new_kind"),
        secret_url=bindparam("new_url"),
        settings=bindparam("new_settings"),
        updated_at=bindparam("at"),
    )
)
_SET_SETTINGS = update(data_sources).where(_ID).values(settings=bindparam("new_settings"))


class SourceStore:
    """All data sources of an installation."""

    def __init__(self, database: Database, *, secret_key: SecretStr | None = None) -> None:
        self._db = database
        self._secret_key = secret_key
        self._box: SecretBox | None = None
        self._mask_key: SecretStr | None = None
        self.config_file: str | None = None  # the one that was applied; `config_file.py` sets it
        self.policies = PolicyStore(database)
        self.attributes = AttributeStore(database)
        self.temporary = TemporarySources()

    # -- reading ----------------------------------------------------------------------------

    async def list(self) -> builtins.list[Source]:
        """All sources by name, for every reader, temporary ones included."""
        stored = await self._db.read(lambda connection: _read_all(connection, self.config_file))
        found = [*stored, *self.temporary.all()]
        return sorted(found, key=lambda source: source.name)  # databases collate each in their way

    async def get(self, source_id: str) -> Source | None:
        """The source of that id, or None."""
        return self.temporary.find(source_id) or await self._find(_BY_ID, source_id)

    async def by_name(self, name: str) -> Source | None:
        """The source of that name, or None."""
        return self.temporary.find(name) or await self._find(_BY_NAME, name)

    async def require(self, source_id: str) -> Source:
        """The source of that id.

        Raises:
            SourceNotFound: it does not exist.
        """
        source = await self.get(source_id)
        if source is None:
            raise _not_found(source_id)
        return source

    async def list_for(self, reader: Reader) -> builtins.list[Source]:
        """The sources the reader may query, by name."""
        return [source for source in await self.list() if visible_to(source, reader)]

    async def get_for(self, source_id_or_name: str, reader: Reader) -> Source:
        """One of the reader's sources, by id or name.

        Raises:
            SourceNotFound: it does not exist, or the reader may not see it.
        """
        for find in (self.get, self.by_name):
            source = await find(source_id_or_name)
            if source is not None and visible_to(source, reader):
                return source
        raise _not_found(source_id_or_name)

    async def url_of(self, source_id: str) -> SecretStr | None:
        """The URL with its password, for opening the source; None if it is made of files.

        Raises:
            SourceNotFound: it does not exist.
            Misconfigured: the URL was entered under another key.
        """
        if self.temporary.find(source_id):
            return self.temporary.url_of(source_id)
        row = await self._db.read(lambda c: c.execute(_BY_ID, {"wanted": source_id}).first())
        if row is None:
            raise _not_found(source_id)
        if row.secret_url is None:
            return None
        what = f"The address of data source {source_id}"
        return (await self._secrets()).open(row.secret_url, bound_to=source_id, what=what)

    # -- writing ----------------------------------------------------------------------------

    async def add_temporary(self, new: NewSource, *, owner_id: str) -> Source:
        """Hold a source for this process alone; a name that is taken gets a number.

        Raises:
            BadInput: a value does not do; the message says which.
        """
        new, number = validate_new_source(new), 2
        name = new.name
        while await self.by_name(name) is not None:
            name, number = f"{new.name[:60]}-{number}", number + 1
        return self.temporary.add(replace(new, name=name), owner_id=owner_id)

    async def create(
        self,
        new: NewSource,
        *,
        owner_id: str | None = None,
        source_id: str | None = None,
        is_sample: bool = False,
        by_config: bool = False,
    ) -> Source:
        """Register a source. It is not opened: whether it answers is for the caller to try.

        `by_config` records that the configuration file defines it.

        Raises:
            BadInput: a value does not do; the message says which.
            Conflict: the name is taken.
        """
        new, moment = validate_new_source(new), now()
        key = source_id or str(uuid4())
        row: dict[str, Any] = {
            "source_id": key,
            "name": new.name,
            "kind": _kind(new),
            "owner_id": owner_id,
            "secret_url": await self._sealed(new.url, key),
            "settings": settings_of(
                new,
                at=moment,
                is_sample=is_sample,
                config_file=self.config_file if by_config else None,
            ),
            "created_at": moment,
            "updated_at": moment,
        }

        def unit(connection: Connection) -> None:
            connection.execute(insert(data_sources), row)
            _put_grants(connection, key, new.grants)

        await self._unique(unit, new.name)
        return await self.require(key)

    async def update(
        self, source_id: str, changes: SourceChanges, *, by_config: bool = False
    ) -> Source:
        """Change a source; what `changes` leaves out stays, its credential too.

        `by_config` records that the configuration file defines it now.

        Raises:
            SourceNotFound: it does not exist.
            BadInput: a value does not do; the message says which.
            Conflict: the name is taken, or the configuration file defines the source.
        """
        moves = changes_address(changes)
        sealed = await self._sealed(changes.url, source_id)

        def unit(connection: Connection) -> bool:
            row = _locked(connection, source_id)
            source = source_from(row, _read_grants(connection, source_id), self.config_file)
            _refuse_if_configured(source, by_config=by_config)
            new = validate_new_source(with_changes(source, changes), has_place=moves)
            moment = now()
            settings = changed_settings(row.settings, new, at=moment, changes_address=moves)
            if by_config:
                settings["config_file"] = self.config_file
            values = {
                "wanted": source_id,
                "new_name": new.name,
                "new_kind": _kind(new) if moves else row.kind,
                "new_url": sealed if moves else row.secret_url,
                "new_settings": settings,
                "at": moment,
            }
            connection.execute(_UPDATE, values)
            if changes.grants is not None:
                _put_grants(connection, source_id, new.grants)
            return new.default_policy == "deny" and remove_protected_values(connection, source_id)

        if await self._unique(unit, changes.name or ""):
            await self._db.scrub()
        return await self.require(source_id)

    async def set_grants(self, source_id: str, grants: Iterable[Grant]) -> Source:
        """Say anew who may read a source.

        Raises:
            SourceNotFound: it does not exist.
            BadInput: a grant names no one.
            Conflict: the configuration file defines the source.
        """
        return await self.update(source_id, SourceChanges(grants=validate_grants(tuple(grants))))

    async def note_dialect(self, source_id: str, dialect: str) -> None:
        """Keep which dialect a source speaks, once it has been opened.

        Raises:
            SourceNotFound: it does not exist.
        """
        if self.temporary.find(source_id):
            self.temporary.note_dialect(source_id, dialect)
            return

        def unit(connection: Connection) -> None:
            stored = {**_locked(connection, source_id).settings, "dialect": dialect}
            connection.execute(_SET_SETTINGS, {"wanted": source_id, "new_settings": stored})

        await self._db.write(unit)

    async def delete(self, source_id: str, *, by_config: bool = False) -> None:
        """Forget a source with its credential, grants, policies and catalogue.

        That the sample was deleted is remembered: it does not come back by itself.

        Raises:
            SourceNotFound: it does not exist.
            Conflict: the configuration file defines the source.
        """
        if self.temporary.find(source_id):
            self.temporary.remove(source_id)
            return
        source = await self.require(source_id)
        _refuse_if_configured(source, by_config=by_config)
        await self._db.write(lambda connection: _delete(connection, source))

    async def was_removed(self, source_id: str) -> bool:
        """Whether the sample of that id was there and someone deleted it."""
        found = await self._db.read(lambda c: c.execute(_REMOVED, {"wanted": source_id}).first())
        return found is not None

    # -- inside -----------------------------------------------------------------------------

    async def _find(self, statement: Any, wanted: str) -> Source | None:
        if not wanted or len(wanted) > 100 or not is_storable(wanted):
            return None
        return await self._db.read(
            lambda connection: _read_one(connection, statement, wanted, self.config_file)
        )

    async def _unique(self, unit: Unit[T], name: str) -> T:
        try:
            return await self._db.write(unit)
        except IntegrityError as error:
            if await self.by_name(name) is None:
                raise
            raise Conflict(f"A data source is named {name!r} already. Choose another.") from error

    async def _sealed(self, url: SecretStr | None, source_id: str) -> str | None:
        return None if url is None else (await self._secrets()).seal(url, bound_to=source_id)

    async def mask_key(self, source_id: str) -> bytes:
        """The source's secret for values that a policy shows hashed."""
        key = self._mask_key or self._secret_key
        if key is None:
            key = self._mask_key = SecretStr(await shared_secret(self._db, "data-source-masks"))
        secret = key.get_secret_value().encode()
        return hmac.digest(secret, f"mask {source_id}".encode(), "sha256")

    async def _secrets(self) -> SecretBox:
        if self._box is None:
            self._box = await secret_box(self._db, purpose="data sources", key=self._secret_key)
        return self._box


def _kind(new: NewSource) -> str:
    return "files" if new.url is None else "database"


def _not_found(wanted: str) -> SourceNotFound:
    return SourceNotFound(f"There is no data source {wanted[:80]!r}. List the sources to see them.")


def _refuse_if_configured(source: Source, *, by_config: bool) -> None:
    if source.is_from_config and not by_config:
        raise Conflict(
            f"Data source {source.name!r} is defined in the configuration file "
            f"{source.config_file}. Change it there."
        )


def _locked(connection: Connection, source_id: str) -> Row[Any]:
    """The row, held until the transaction ends."""
    row = connection.execute(_BY_ID.with_for_update(), {"wanted": source_id}).first()
    if row is None:
        raise _not_found(source_id)
    return row


def _delete(connection: Connection, source: Source) -> None:
    connection.execute(_DELETE, {"wanted": source.source_id})
    if not source.is_sample or connection.execute(_REMOVED, {"wanted": source.source_id}).first():
        return
    row = {"source_id": source.source_id, "removed_at": now()}
    connection.execute(insert(removed_sources), row)


def _put_grants(connection: Connection, source_id: str, grants: Iterable[Grant]) -> None:
    connection.execute(_DELETE_GRANTS, {"wanted": source_id})
    rows = [
        {
            "source_id": source_id,
            "subject_kind": grant.subject_kind,
            "subject_id": grant.subject_id,
        }
        for grant in grants
    ]
    if rows:
        connection.execute(insert(data_grants), rows)


def _read_all(connection: Connection, config_file: str | None) -> builtins.list[Source]:
    grants: dict[str, builtins.list[Grant]] = defaultdict(builtins.list)
    for row in connection.execute(_GRANTS):
        grants[row.source_id].append(Grant(row.subject_kind, row.subject_id))
    rows = connection.execute(_ALL)
    return [source_from(row, grants[row.source_id], config_file) for row in rows]


def _read_one(
    connection: Connection, statement: Any, wanted: str, config_file: str | None
) -> Source | None:
    row = connection.execute(statement, {"wanted": wanted}).first()
    if row is None:
        return None
    return source_from(row, _read_grants(connection, row.source_id), config_file)


def _read_grants(connection: Connection, source_id: str) -> builtins.list[Grant]:
    rows = connection.execute(_GRANTS_OF, {"wanted": source_id})
    return [Grant(row.subject_kind, row.subject_id) for row in rows]
