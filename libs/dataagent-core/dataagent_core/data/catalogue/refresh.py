"""Gives the catalogue of a source, builds it once however many ask, and keeps it fresh.

A catalogue comes from memory, else from the database, else from the source itself in a worker
thread. `start` refreshes all of them on an interval. A source that is down keeps the catalogue it
had, whose `refreshed_at` says how old it is, and `state` says why. Above: `data/service.py`. Below:
`build.py`, `store.py`, `drift.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from dataagent_core.data.catalogue.build import Comments, build
from dataagent_core.data.catalogue.drift import drift
from dataagent_core.data.catalogue.store import CatalogueStore
from dataagent_core.data.engines.base import Engine
from dataagent_core.data.policy import OPEN
from dataagent_core.data.sources.types import Source, now
from dataagent_core.data.types import Catalogue
from dataagent_core.errors import DataAgentError, NotFound, SourceUnavailable
from dataagent_core.storage.tasks import cancel_all

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
        """Stop refreshing; builds under way get a moment to end, then nobody waits for them."""
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
        """Bring memory up to what is kept, if another process has built a newer one."""
        mine = self._states.get(source_id)
        kept_at = await self._store.refreshed_at(source_id)
        if kept_at is None or (mine is not None and mine.catalogue.refreshed_at >= kept_at):
            return
        kept = await self._store.get(source_id)
        if kept is not None:
            self._use_stored(kept)

    def _use_stored(self, kept: Catalogue) -> None:
        mine = self._states.get(kept.source_id)
        self._states[kept.source_id] = (
            CatalogueState(kept) if mine is None else _next_state(mine, kept)
        )

    async def _join_or_start(self, source: Source, work: _Work) -> CatalogueState:
        """What comes of the work under way for this source, or of this work, begun now."""
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
