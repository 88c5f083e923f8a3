"""The one path of a query, from a caller to stored rows.

Agent, terminal and API all call this. Sources and tables a reader may not see do not exist here for
that reader: they are missing from lists, catalogues, errors and hints alike.

A statement runs in a worker thread. Its caller is a task that may be cancelled at any moment; the
engine and the thread then stop before the cancellation goes on, so that nothing writes to a folder
that is being cleared.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from dataagent_core.data import policy
from dataagent_core.data.catalogue import CatalogueCache, CatalogueState
from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.engines.base import Engine, Statement, StatementInterrupted
from dataagent_core.data.planner import Planner, QueryPlan
from dataagent_core.data.query_observer import ObservedQuery, QueryObserver
from dataagent_core.data.results import (
    ArtifactDraft,
    ArtifactSlot,
    ArtifactStore,
    StoredResult,
    open_artifacts,
    write_result,
)
from dataagent_core.data.source_engines import SourceEngines
from dataagent_core.data.sources import NewSource, Source, SourceChanges, SourceStore, StoredPolicy
from dataagent_core.data.types import (
    Artifact,
    Catalogue,
    QueryLimits,
    Reader,
    Receipt,
    SourceWarnings,
)
from dataagent_core.errors import (
    BadInput,
    DataDenied,
    Invalid,
    LimitReached,
    Misconfigured,
    QueryFailed,
    SourceNotFound,
    SourceUnavailable,
)
from dataagent_core.processes import ProcessPool
from dataagent_core.processes.concurrency import KeyedLimiter, run_in_thread
from dataagent_core.workspace.workers import run_to_completion

_CUT = "The source cut a value that was too long."
_QUERY_THREADS = 32
_MAX_WAITING = 50  # statements of one user for one source
_OF_SOURCES = (Invalid, DataDenied, LimitReached, QueryFailed, SourceUnavailable, Misconfigured)


@contextmanager
def errors_naming(source: Source) -> Generator[None]:
    """Put the source's name into the details of errors of its statements and connections."""
    try:
        yield
    except _OF_SOURCES as error:
        error.details = {**(error.details or {}), "source": source.name}
        raise


@dataclass(frozen=True, slots=True)
class QueryContext:
    """Who reads, and what the result belongs to.

    `impersonator_id` is set where another user looks at what the reader would see: the reader's
    rights decide what is read, the result and the audit entry belong to the impersonator.
    """

    reader: Reader
    session_id: str | None = None
    run_id: str | None = None
    title: str | None = None
    limits: QueryLimits | None = None  # tighter than the source's own
    impersonator_id: str | None = None

    @property
    def owner_id(self) -> str:
        """The user the result belongs to."""
        return self.impersonator_id or self.reader.user_id


@dataclass(frozen=True, slots=True)
class ExecutedQuery:
    """A statement that ran: its artefact with the receipt, and the stored result."""

    artifact: Artifact
    receipt: Receipt
    result: StoredResult


class DataService:
    """Everything a reader can do with data."""

    def __init__(
        self,
        sources: SourceStore,
        engines: SourceEngines,
        catalogues: CatalogueCache,
        artifacts: ArtifactStore,
        processes: ProcessPool,
        watch: QueryObserver | None = None,
    ) -> None:
        self.sources = sources
        self.artifacts = artifacts
        self.catalogues = catalogues
        self._engines = engines
        self._planner = Planner(sources, processes)
        self._watch = watch or QueryObserver()
        self._pool = ThreadPoolExecutor(_QUERY_THREADS, thread_name_prefix="query")
        share = max(1, engines.max_connections - 1)  # each user leaves one to the others
        self._turns = KeyedLimiter("statements", at_once=share, waiting=_MAX_WAITING)

    async def aclose(self) -> None:
        """Close engines and catalogues, and remove temporary sources. No statement may run."""
        for temporary in self.sources.temporary.all():
            await self.forget(temporary.source_id)
        await self.catalogues.aclose()
        await self._engines.aclose()
        self._pool.shutdown(wait=False, cancel_futures=True)

    # -- sources and catalogues --------------------------------------------------------------------

    async def reader(
        self,
        user_id: str,
        *,
        role: str = "user",
        tenant_id: str | None = None,
        agent_id: str | None = None,
    ) -> Reader:
        """The reader with the attributes that row filters may name."""
        attributes = await self.sources.attributes.get(user_id)
        return Reader(user_id, role, tenant_id, agent_id, attributes)

    async def source(self, reader: Reader, name: str | None = None) -> Source:
        """One of the reader's sources: by name or id, or the default one when none is named.

        The default is a temporary source of this process, else the first that was registered beside
        the sample; it stays when more are added. If all are files that an agent read, it is the
        last of them.

        Raises:
            SourceNotFound: it does not exist; the message lists those that do.
        """
        visible = await self.sources.list_for(reader)
        if name:
            for source in visible:
                if name in (source.source_id, source.name):
                    return source
            raise _source_not_found(name, visible)
        if not visible:
            raise SourceNotFound("There is no data source yet. Register one first.")
        for temporary in self.sources.temporary.all():
            if temporary in visible:
                return temporary
        own = [source for source in visible if not source.is_sample]
        lasting = [source for source in own if not source.upload_id]
        if own and not lasting:
            return max(own, key=lambda source: source.created_at)
        return min(lasting or visible, key=lambda source: (source.created_at, source.name))

    async def catalogue(self, source: Source, reader: Reader) -> Catalogue:
        """What the reader may see of a source.

        Raises:
            SourceUnavailable: it cannot be read, and no catalogue is stored.
        """
        return (await self.catalogue_state(source, reader)).catalogue

    async def catalogue_state(
        self, source: Source, reader: Reader, *, is_fresh: bool = False
    ) -> CatalogueState:
        """As `catalogue`, with its latest changes; `is_fresh` reads the source now.

        Raises:
            SourceUnavailable: as `catalogue`.
        """
        cache = self.catalogues
        with errors_naming(source):
            state = await (cache.refresh(source) if is_fresh else cache.state(source))
        view = await self._planner.view(source, state.catalogue, reader)
        if view.seen is view.full:
            left_out = await self._engines.left_out(source)
            return replace(state, catalogue=view.full, left_out=left_out)
        return replace(state, catalogue=view.seen, drift=())  # a change could name what is hidden

    # -- administration ----------------------------------------------------------------------------

    async def register(
        self, new: NewSource, *, owner_id: str | None = None, must_connect: bool = True
    ) -> Source:
        """Register a source. With `must_connect`, one that does not answer is removed again.

        Raises:
            BadInput: a value is not valid, no engine takes the address, or a file is no table.
            Conflict: the name is taken.
            SourceUnavailable: the source does not answer.
        """
        source = await self.sources.create(new, owner_id=owner_id)
        return await self._test_connection(source) if must_connect else source

    async def add_temporary(self, new: NewSource, *, owner_id: str) -> Source:
        """Open a source for this process alone. Nothing is stored.

        Raises:
            BadInput, LimitReached: no engine takes the address, or a file is no table.
            SourceUnavailable: the source does not answer.
        """
        return await self._test_connection(await self.sources.add_temporary(new, owner_id=owner_id))

    async def _test_connection(self, source: Source) -> Source:
        """Open a new source once; remove it if it does not answer."""
        try:
            await self._try_out(source)
        except BaseException:
            await run_to_completion(self.forget(source.source_id))
            raise
        return await self.sources.require(source.source_id)

    async def change(
        self, source: Source, changes: SourceChanges, *, must_connect: bool = True
    ) -> Source:
        """Change a source. A new address is opened once; if it does not answer, nothing changes.

        Raises:
            SourceNotFound: it was deleted.
            Others: as `register`, and `Conflict` if the configuration file defines it.
        """
        old_url = await self.sources.url_of(source.source_id)
        changed = await self.sources.update(source.source_id, changes)
        try:
            if must_connect and changed.address_changed_at != source.address_changed_at:
                await self._try_out(changed)
        except BaseException:
            undo = _revert_changes(source, old_url)
            await run_to_completion(self.sources.update(source.source_id, undo))
            raise
        return await self.sources.require(source.source_id)

    async def put_policy(
        self, source: Source, name: str, rules: Mapping[str, Any], *, policy_id: str | None = None
    ) -> StoredPolicy:
        """Add a policy that fits the source, or with `policy_id` replace that one.

        Raises:
            BadInput: it is no policy, or names what the source does not have.
            NotFound, Conflict: as `PolicyStore.put`.
            SourceUnavailable: as `catalogue`.
        """
        stated = {**rules, "name": name.strip()}
        if rules.get("name", stated["name"]) != stated["name"]:
            raise BadInput("The rules have another name than the policy. Leave it out of them.")
        parsed = policy.policy_from_dict(stated)
        policy.check_policy(parsed, await self.catalogues.get(source))
        stored = policy.policy_to_dict(parsed)
        return await self.sources.policies.put(source.source_id, name, stored, policy_id=policy_id)

    async def _try_out(self, source: Source) -> None:
        with errors_naming(source):
            try:
                engine = await self._engines.engine_of(source)
                await asyncio.get_running_loop().run_in_executor(self._pool, engine.ping)
            except Misconfigured as error:  # the caller entered the address and can correct it
                raise BadInput(error.message) from error

    async def forget(self, source_id: str, *, by_config: bool = False) -> None:
        """Delete a source with everything of it, except stored results.

        Raises:
            SourceNotFound: it does not exist.
            Conflict: the configuration file defines it, and `by_config` is false.
        """
        await self.sources.delete(source_id, by_config=by_config)
        await self._engines.forget(source_id)
        self.catalogues.forget(source_id)

    # -- queries -----------------------------------------------------------------------------------

    async def check(self, source: Source, sql: str, reader: Reader) -> QueryPlan:
        """Check a statement and return what would run.

        Raises:
            QueryRefused, UnknownName, DataDenied: why it would not.
            SourceUnavailable: as `catalogue`.
        """
        with errors_naming(source):
            return await self._planner.plan(source, await self.catalogues.get(source), sql, reader)

    async def explain(self, source: Source, sql: str, reader: Reader) -> list[str]:
        """How the engine would run a statement for this reader, line by line. Nothing is read.

        Raises:
            QueryRefused, UnknownName, DataDenied: it would not be run.
            QueryFailed, SourceUnavailable: the engine says so.
        """
        plan = await self.check(source, sql, reader)
        if plan.has_policy:  # the engine's plan would quote the policy
            raise DataDenied("A policy is part of this statement: its plan is not shown.")
        limit = source.limits.timeout_seconds
        with errors_naming(source):
            engine = await self._engines.engine_of(source)
            work = partial(engine.explain, plan.sql_sent, timeout_seconds=limit)
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def query(self, source: Source, sql: str, context: QueryContext) -> ExecutedQuery:
        """Run a statement and store its result as an artefact of `context.owner_id`.

        Cancelling the caller stops the statement in the engine before this returns.

        Raises:
            QueryRefused, UnknownName, DataDenied: it was not run.
            QueryFailed, QueryTimedOut: the engine says so.
            QuotaExceeded: the result does not fit the reader's quota.
            SourceUnavailable: the source cannot be reached.
            UserLimit: too many statements of the reader wait for the source.
        """
        with errors_naming(source), self._observe(source.name, sql, context) as watched:
            plan = await self.check(source, sql, context.reader)
            watched.statement = plan.sql_executed
            engine = await self._engines.engine_of(source)
            limits = _effective_limits(source.limits, context.limits)
            executed = await self._run(engine, plan, context, limits, source.time_zone, plan.notes)
            watched.row_count = executed.receipt.row_count
            return executed

    def _observe(
        self, name: str, sql: str, context: QueryContext
    ) -> AbstractContextManager[ObservedQuery]:
        ids = {"session_id": context.session_id, "run_id": context.run_id}
        return self._watch.query(
            name, sql, context.reader, impersonator_id=context.impersonator_id, **ids
        )

    async def query_results(
        self,
        sql: str,
        artifact_ids: Sequence[str],
        context: QueryContext,
        *,
        time_zone: str = "UTC",
    ) -> ExecutedQuery:
        """Run a statement over earlier results, each a table named `r1`, `r2`, … in this order.

        Raises:
            ArtifactNotFound: one is not the reader's, or has expired.
            Others: as `query`.
        """
        if not artifact_ids:
            raise BadInput("Name at least one artefact to query.")
        owner = context.owner_id
        tables = {
            f"r{number}": _table(await self.artifacts.get(artifact_id, owner=owner))
            for number, artifact_id in enumerate(artifact_ids, 1)
        }
        with self._observe("results", sql, context) as watched:
            plan = await self._planner.plan_over_results(sql, tables, context.reader)
            watched.statement = plan.sql_executed
            paths: dict[str, Path] = {
                name: self.artifacts.path_of(artifact) for name, artifact in tables.items()
            }
            engine = await asyncio.to_thread(open_artifacts, paths, self._engines.processes)
            warnings = [w for one in tables.values() if one.receipt for w in one.receipt.warnings]
            limits = context.limits or QueryLimits()
            executed = await self._run(engine, plan, context, limits, time_zone, warnings)
            watched.row_count = executed.receipt.row_count
            return executed

    async def _run(
        self,
        engine: Engine,
        plan: QueryPlan,
        context: QueryContext,
        limits: QueryLimits,
        time_zone: str,
        warnings: Sequence[str],  # of the statement, or of the results that it reads
    ) -> ExecutedQuery:
        execution = QueryExecution(
            engine, plan, limits=limits, time_zone=time_zone, earlier=warnings
        )
        user_id = context.owner_id
        is_shared = dialect_of(plan.dialect).shares_processes
        connections = plan.dialect if is_shared else plan.source_id
        async with (
            self._turns.turn((user_id, connections)),
            self.artifacts.new_slot(user_id) as slot,
        ):
            started, executed_at = time.perf_counter(), datetime.now(UTC)
            result = await run_in_thread(
                self._pool, lambda: execution.write_to(slot), interrupt=execution.interrupt
            )
            receipt = Receipt(
                source_id=plan.source_id,
                source_name=plan.source_name,
                dialect=plan.dialect,
                sql=plan.sql,
                sql_executed=plan.sql_executed,
                row_count=result.row_count,
                is_truncated=result.is_truncated,
                truncated_by=result.truncated_by,
                duration_ms=round((time.perf_counter() - started) * 1000, 1),
                policy=plan.policy,
                time_zone=time_zone,
                executed_at=executed_at,
                warnings=result.warnings,
            )
            draft = ArtifactDraft(
                user_id, context.title or _title(plan.sql), context.session_id, context.run_id
            )
            artifact = await self.artifacts.create_table(draft, slot, result, receipt=receipt)
        return ExecutedQuery(artifact, receipt, result)


class QueryExecution:
    """One statement in a worker thread; `interrupt` may come before, during or after it runs."""

    def __init__(
        self,
        engine: Engine,
        plan: QueryPlan,
        *,
        limits: QueryLimits,
        time_zone: str,
        earlier: Sequence[str] = (),
    ) -> None:
        """`earlier` are warnings of the results that are read."""
        self._engine = engine
        self._plan = plan
        self._limits = limits
        self._time_zone = time_zone
        self._earlier = tuple(earlier)
        self._lock = threading.Lock()
        self._statement: Statement | None = None
        self._is_interrupted = False

    def write_to(self, slot: ArtifactSlot) -> StoredResult:
        """Run it and write the rows to a slot. Blocks.

        Raises:
            StatementInterrupted: `interrupt` was called.
            QueryFailed, QueryTimedOut, SourceUnavailable, QuotaExceeded: as they say.
        """
        try:
            return self._write_to(slot)
        except QueryFailed as error:
            shown = self._plan.without_policy(error.message)
            if shown == error.message:
                raise
            raise QueryFailed(shown, details=error.details) from error

    def _write_to(self, slot: ArtifactSlot) -> StoredResult:
        with self._engine.statement(
            self._plan.sql_sent,
            timeout_seconds=self._limits.timeout_seconds,
            time_zone=self._time_zone,
        ) as statement:
            self._begin(statement)
            # Arrow's batches have no types
            return statement.read(  # pyright: ignore[reportUnknownMemberType]
                partial(self._write_rows, statement, statement.labels, slot)
            )

    def _write_rows(
        self, statement: Statement, labels: Sequence[str], slot: ArtifactSlot, batches: Any
    ) -> StoredResult:  # Any: see above
        return write_result(
            batches,
            labels,
            slot.path,
            limits=self._limits,
            on_bytes=slot.on_bytes,
            cut_before=self._plan.truncated_by,
            warnings=lambda: self._warnings(statement),
        )

    def _warnings(self, statement: Statement) -> SourceWarnings:
        warnings = statement.warnings
        sentences = warnings.sentences
        if self._plan.has_policy:  # an engine may warn of hidden rows, and quote them
            sentences = (_CUT,) if warnings.has_cut else ()
        return replace(warnings, sentences=tuple(dict.fromkeys((*self._earlier, *sentences))))

    def interrupt(self) -> None:
        """Stop it in the engine."""
        with self._lock:
            self._is_interrupted = True
            statement = self._statement
        if statement is not None:
            statement.interrupt()

    def _begin(self, statement: Statement) -> None:
        with self._lock:
            self._statement = statement
            if self._is_interrupted:
                raise StatementInterrupted


def _table(artifact: Artifact) -> Artifact:
    if artifact.kind != "table":
        raise BadInput(f"Artefact {artifact.artifact_id} is a {artifact.kind}, not a table.")
    return artifact


def _revert_changes(source: Source, url: SecretStr | None) -> SourceChanges:
    """The changes that undo a change."""
    return SourceChanges(
        name=source.name,
        url=url,
        folder=source.folder,
        files=source.files if url is None and source.folder is None else None,
        description=source.description,
        default_policy=source.default_policy,
        time_zone=source.time_zone,
        limits=source.limits,
        grants=source.grants,
    )


def _effective_limits(source: QueryLimits, requested: QueryLimits | None) -> QueryLimits:
    if requested is None:
        return source
    return QueryLimits(
        max_rows=min(source.max_rows, requested.max_rows),
        max_bytes=min(source.max_bytes, requested.max_bytes),
        timeout_seconds=min(source.timeout_seconds, requested.timeout_seconds),
    )


def _title(sql: str) -> str:
    return " ".join(sql.split())[:80]


def _source_not_found(name: str, visible: Sequence[Source]) -> SourceNotFound:
    known = ", ".join(repr(source.name) for source in visible[:20]) or "none"
    return SourceNotFound(f"There is no data source {name[:80]!r}. There are: {known}.")
