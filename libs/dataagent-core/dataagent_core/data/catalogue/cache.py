"""Gives the catalogue of a source, builds it once however many callers ask, and keeps it fresh.

A catalogue comes from memory, else from the database, else from the source itself in a worker
thread. `start` refreshes all of them on an interval and logs what changed. A source that does not
answer keeps the catalogue it had: `refreshed_at` says how old it is, and `state` says why.
A stored catalogue that cannot be read is built again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import bindparam, delete, select
from sqlalchemy.exc import IntegrityError

from dataagent_core.data.catalogue.build import Comments, build
from dataagent_core.data.engines.base import Engine
from dataagent_core.data.policy import OPEN, PolicySet
from dataagent_core.data.sources.rows import load_catalogue, policies_of, save_catalogue
from dataagent_core.data.sources.types import Source, now
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table
from dataagent_core.errors import DataAgentError, NotFound, SourceNotFound, SourceUnavailable
from dataagent_core.storage import Database
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.storage.tables import catalogues


def drift(old: Catalogue, new: Catalogue) -> list[str]:
    """One sentence a change; empty if the structure is the same."""
    before = {table.key: table for table in old.tables}
    after = {table.key: table for table in new.tables}
    sentences: list[str] = []
    if old.dialect != new.dialect:
        sentences.append(f"The source speaks {new.dialect} now, not {old.dialect}.")
    for key in sorted(after.keys() - before.keys()):
        table = after[key]
        sentences.append(f"{_table_kind(table)} {key} was added ({len(table.columns)} columns).")
    sentences += [
        f"{_table_kind(before[key])} {key} is gone." for key in sorted(before.keys() - after)
    ]
    for key in sorted(before.keys() & after.keys()):
        sentences += _table_drift(before[key], after[key])
    return sentences


def _table_kind(table: Table) -> str:
    return "View" if table.is_view else "Table"


def _table_drift(old: Table, new: Table) -> Iterator[str]:
    if old.is_view != new.is_view:
        yield f"{old.key} is a {_table_kind(new).lower()} now."
    before = {column.name: column for column in old.columns}
    after = {column.name: column for column in new.columns}
    added, gone = after.keys() - before.keys(), before.keys() - after.keys()
    yield from (f"Column {new.key}.{c.name} was added ({c.type})." for c in _in_order(new, added))
    yield from (f"Column {old.key}.{c.name} is gone." for c in _in_order(old, gone))
    for column in new.columns:
        if column.name in before:
            yield from _column_drift(new.key, before[column.name], column)
    if not added and not gone and [*before] != [*after]:
        yield f"The columns of {new.key} stand in another order."
    if old.primary_key != new.primary_key:
        yield f"The primary key of {new.key} is {_listed(new.primary_key)} now."
    yield from _key_drift(old, new)


def _in_order(table: Table, names: set[str]) -> list[Column]:
    return [column for column in table.columns if column.name in names]


def _column_drift(key: str, old: Column, new: Column) -> Iterator[str]:
    if old.type != new.type:
        yield f"Column {key}.{new.name} is {new.type} now, not {old.type}."
    if old.is_nullable != new.is_nullable:
        yield f"Column {key}.{new.name} may {'now' if new.is_nullable else 'no longer'} be NULL."


def _key_drift(old: Table, new: Table) -> Iterator[str]:
    before, after = set(old.foreign_keys), set(new.foreign_keys)
    yield from sorted(f"{new.key} now points from {_pointing(key)}." for key in after - before)
    yield from sorted(
        f"{new.key} no longer points from {_pointing(key)}." for key in before - after
    )


def _pointing(key: ForeignKey) -> str:
    return f"{_listed(key.columns)} to {key.target_table} {_listed(key.target_columns)}"


def _listed(columns: tuple[str, ...]) -> str:
    return f"({', '.join(columns)})"


_OF_SOURCE = catalogues.c.source_id == bindparam("wanted")
_SELECT_REFRESHED_AT = select(catalogues.c.refreshed_at).where(_OF_SOURCE)
_DELETE_CATALOGUE = delete(catalogues).where(_OF_SOURCE)


class CatalogueStore:
    """The last catalogue of each source."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, source_id: str) -> Catalogue | None:
        """The catalogue as it was last built, by whichever process; None if never."""
        return await self._db.read(lambda connection: load_catalogue(connection, source_id))

    async def refreshed_at(self, source_id: str) -> datetime | None:
        """When the stored catalogue was built; None if there is none."""
        return await self._db.read(
            lambda c: c.execute(_SELECT_REFRESHED_AT, {"wanted": source_id}).scalar()
        )

    async def policies_of(self, source_id: str) -> PolicySet:
        """The policies that decide which values of the source are stored.

        Raises:
            SourceNotFound: the source is gone.
        """
        return await self._db.read(lambda connection: policies_of(connection, source_id))

    async def put(self, catalogue: Catalogue) -> Catalogue:
        """Store a catalogue in place of the one before; return what was stored of it.

        Raises:
            SourceNotFound: the source is gone.
        """
        for _attempt in range(2):  # twice: two processes may both be the first
            try:
                return await self._db.write(
                    lambda connection: save_catalogue(connection, catalogue)
                )
            except IntegrityError:
                continue
        raise SourceNotFound("The data source of this catalogue is gone.")

    async def delete(self, source_id: str) -> None:
        """Forget a source's catalogue."""
        await self._db.write(lambda c: c.execute(_DELETE_CATALOGUE, {"wanted": source_id}).rowcount)


logger = logging.getLogger(__name__)

EngineOf = Callable[[Source], Awaitable[Engine]]
CommentsOf = Callable[[Source], Comments | None]
ListSources = Callable[[], Awaitable[Sequence[Source]]]

_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """A catalogue with its news. `problem` is why the last attempt to refresh it failed.

    `left_out` has a sentence for each file that could not be read, and for rows of files that only
    sum up others.
    """

    catalogue: Catalogue
    drift: tuple[str, ...] = ()
    drifted_at: datetime | None = None
    problem: str | None = None
    left_out: tuple[str, ...] = ()


_Work = Callable[[Source], Awaitable[CatalogueState]]


@dataclass(frozen=True, slots=True)
class _Build:
    """A build under way: callers who need the same one wait for it together."""

    address_changed_at: datetime
    task: asyncio.Task[CatalogueState]


class CatalogueCache:
    """The catalogues of all sources of a process. Close it at the end."""

    def __init__(
        self,
        store: CatalogueStore,
        *,
        engine_of: EngineOf,
        list_sources: ListSources,
        comments_of: CommentsOf | None = None,
        interval_seconds: float = 900.0,
        threads: int = 2,
    ) -> None:
        self._store = store
        self._engine_of = engine_of
        self._list_sources = list_sources
        self._comments_of = comments_of
        self._interval = timedelta(seconds=interval_seconds)
        self._workers = ThreadPoolExecutor(threads, thread_name_prefix="catalogue")
        self._states: dict[str, CatalogueState] = {}
        self._builds: dict[str, _Build] = {}
        self._loop_task: asyncio.Task[None] | None = None
        self._is_closed = False

    # -- asking -----------------------------------------------------------------------------

    async def get(self, source: Source) -> Catalogue:
        """The source's catalogue, built now if there is none of its present address.

        Raises:
            SourceUnavailable: the source cannot be read, and no catalogue of it is known.
        """
        return (await self.state(source)).catalogue

    async def state(self, source: Source) -> CatalogueState:
        """As `get`, with what changed last and what keeps it from being refreshed.

        Raises:
            SourceUnavailable: the source cannot be read, and no catalogue of it is known.
        """
        known = self._in_memory(source)
        return (
            known if known is not None else await self._join_or_start(source, self._load_or_build)
        )

    async def refresh(self, source: Source) -> CatalogueState:
        """The catalogue as the source is now; the old one with its `problem` if it is down.

        A build already under way may have missed what the caller knows of, so it is waited for
        and another made; callers who wait together share that one.

        Raises:
            SourceUnavailable: the source cannot be read, and no catalogue of it is known.
        """
        under_way = self._builds.get(source.source_id)
        if under_way is not None:
            await asyncio.wait([under_way.task])
        return await self._join_or_start(source, self._build)

    def forget(self, source_id: str) -> None:
        """Drop what memory holds of a source that was removed."""
        self._states.pop(source_id, None)

    # -- in the background ------------------------------------------------------------------

    def start(self) -> None:
        """Begin to refresh all catalogues on the interval."""
        if self._loop_task is None and not self._is_closed:
            self._loop_task = asyncio.create_task(self._keep_fresh(), name="catalogues")

    async def refresh_due(self) -> None:
        """Refresh the catalogues that are older than the interval, a few at a time."""
        sources = await self._list_sources()
        for gone in self._states.keys() - {source.source_id for source in sources}:
            self.forget(gone)
        await asyncio.gather(*(self._refresh_if_due(source) for source in sources))

    async def aclose(self) -> None:
        """Stop refreshing; running builds get a moment to end, then are abandoned."""
        self._is_closed = True
        await cancel_all([self._loop_task])
        builds = [build.task for build in self._builds.values()]
        if builds:
            await asyncio.wait(builds, timeout=_GRACE_SECONDS)
        await cancel_all(builds)
        self._workers.shutdown(wait=False, cancel_futures=True)

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(self._interval.total_seconds())
            try:
                await self.refresh_due()
            except Exception:
                logger.exception("catalogues could not be refreshed; trying again later")

    async def _refresh_if_due(self, source: Source) -> None:
        with suppress(DataAgentError):  # recorded and logged where it happened
            await self._sync_from_store(source.source_id)
            known = self._in_memory(source)
            if known is None or known.catalogue.refreshed_at <= now() - self._interval:
                await self._join_or_start(source, self._build)

    # -- inside -----------------------------------------------------------------------------

    def _in_memory(self, source: Source) -> CatalogueState | None:
        """What memory has of the source at its present address."""
        state = self._states.get(source.source_id)
        if state is None or state.catalogue.refreshed_at < source.address_changed_at:
            return None
        return state

    async def _sync_from_store(self, source_id: str) -> None:
        """Load the stored catalogue if another process has built a newer one."""
        mine = self._states.get(source_id)
        kept_at = await self._store.refreshed_at(source_id)
        if kept_at is None or (mine is not None and mine.catalogue.refreshed_at >= kept_at):
            return
        stored = await self._store.get(source_id)
        if stored is not None:
            self._use_stored(stored)

    def _use_stored(self, stored: Catalogue) -> None:
        mine = self._states.get(stored.source_id)
        self._states[stored.source_id] = (
            CatalogueState(stored) if mine is None else _next_state(mine, stored)
        )

    async def _join_or_start(self, source: Source, work: _Work) -> CatalogueState:
        """The result of the task that runs for this source, or of this one, started now."""
        if self._is_closed:
            raise SourceUnavailable("The catalogues are closed; the program is ending.")
        under_way = self._builds.get(source.source_id)
        if under_way is None or under_way.address_changed_at != source.address_changed_at:
            task = asyncio.create_task(
                self._start_build(source, work), name=f"catalogue-{source.name}"
            )
            under_way = _Build(source.address_changed_at, task)
            self._builds[source.source_id] = under_way
        return await asyncio.shield(under_way.task)  # a caller who leaves does not end it

    async def _start_build(self, source: Source, work: _Work) -> CatalogueState:
        try:
            return await work(source)
        finally:
            mine = self._builds.get(source.source_id)
            if mine is not None and mine.task is asyncio.current_task():
                del self._builds[source.source_id]

    async def _load_or_build(self, source: Source) -> CatalogueState:
        await self._sync_from_store(source.source_id)
        return self._in_memory(source) or await self._build(source)

    async def _build(self, source: Source) -> CatalogueState:
        await self._sync_from_store(source.source_id)  # to tell what changed, and to fall back on
        try:
            return await self._keep(source, await self._introspect(source))
        except Exception as error:
            problem = _translated(source, error)
        return self._after_failure(source, problem)

    async def _introspect(self, source: Source) -> Catalogue:
        engine = await self._engine_of(source)
        comments = self._comments_of(source) if self._comments_of else None
        policies = OPEN if source.is_temporary else await self._store.policies_of(source.source_id)
        work = partial(build, engine, source, comments=comments, policies=policies)
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)

    async def _keep(self, source: Source, built: Catalogue) -> CatalogueState:
        before = self._states.get(source.source_id)
        if not source.is_temporary:
            built = await self._store.put(built)
        state = CatalogueState(built) if before is None else _next_state(before, built)
        self._states[source.source_id] = state
        if before is not None and state.drifted_at == built.refreshed_at:
            logger.info("data source %s changed: %s", source.name, " ".join(state.drift))
        return state

    def _after_failure(self, source: Source, error: DataAgentError) -> CatalogueState:
        logger.warning("no catalogue of data source %s: %s", source.name, error.message)
        old = self._in_memory(source)
        if isinstance(error, NotFound) or old is None:
            raise error
        state = CatalogueState(old.catalogue, old.drift, old.drifted_at, problem=error.message)
        self._states[source.source_id] = state
        return state


def _next_state(before: CatalogueState, built: Catalogue) -> CatalogueState:
    """The state after a build: with what it changed, else with what an earlier one had."""
    if before.catalogue.hash == built.hash:
        return CatalogueState(built, before.drift, before.drifted_at)
    changes = tuple(drift(before.catalogue, built))
    return CatalogueState(built, changes, built.refreshed_at)


def _translated(source: Source, error: Exception) -> DataAgentError:
    if isinstance(error, DataAgentError):
        return error
    # the text of a driver's error may quote the source's address, so only its kind is passed on
    kind = type(error).__name__
    return SourceUnavailable(f"The data source {source.name!r} cannot be read ({kind}).")
