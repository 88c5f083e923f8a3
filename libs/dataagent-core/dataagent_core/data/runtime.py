"""Opens the data part of a process: its sources, and what may be done with them.

`open_runtime` is for a process that has more than data and passes in what the parts share;
`open_standalone_runtime` is for one that needs data alone (`dataagent sql`), without agents or
LangChain. `tools/sql.py` makes tools for agents from a runtime.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import SecretStr

from dataagent_core.audit import AuditLog
from dataagent_core.config import Settings
from dataagent_core.config.settings import environment
from dataagent_core.data.catalogue import CatalogueCache, CatalogueStore, Comments
from dataagent_core.data.chart_service import ChartService
from dataagent_core.data.figure_checks import FigureChecks
from dataagent_core.data.policy import policy_from_dict
from dataagent_core.data.query_observer import QueryObserver
from dataagent_core.data.results import ArtifactStore
from dataagent_core.data.sample import SAMPLE_COMMENTS, create_sample
from dataagent_core.data.service import DataService
from dataagent_core.data.source_engines import SourceEngines
from dataagent_core.data.sources import (
    EVERYONE,
    NewSource,
    Source,
    SourceStore,
    apply_sources,
    load_sources,
)
from dataagent_core.errors import Conflict
from dataagent_core.processes import shared_pool
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.background_tasks import cancel_all
from dataagent_core.storage.migrate import migrate
from dataagent_core.telemetry import Scrubber, known_secrets
from dataagent_core.workspace.quota import QuotaLedger, SqlQuotaLedger

logger = logging.getLogger(__name__)
SAMPLE_NAME = "chinook"
_SAMPLE_ID = "sample-chinook"
_SWEEP_SECONDS = 3600.0

QuotaOf = Callable[[str], int]
"""How many bytes a user may keep."""


@dataclass(frozen=True, slots=True)
class DataRuntime:
    """The open data part of a process."""

    service: DataService
    charts: ChartService
    checks: FigureChecks


@asynccontextmanager
async def open_standalone_runtime(settings: Settings) -> AsyncGenerator[DataRuntime]:
    """A data runtime with a database of its own; both are closed at the end.

    Raises:
        Misconfigured: a setting or the file of data sources makes no sense.
        StorageUnavailable: the database does not answer.
    """
    async with AsyncExitStack() as stack:
        settings.ensure_home()
        database = open_database(settings.sql_url())
        stack.push_async_callback(database.close)
        await migrate(database)
        audit = AuditLog(database, Scrubber(known_secrets(settings)))
        audit.start()
        stack.push_async_callback(audit.aclose)
        quota = SqlQuotaLedger(database)
        yield await open_runtime(
            settings,
            database,
            quota,
            lambda _: settings.workspace_quota,
            stack,
            watch=QueryObserver(audit),
        )


async def open_runtime(
    settings: Settings,
    database: Database,
    quota: QuotaLedger,
    quota_of: QuotaOf,
    stack: AsyncExitStack,
    *,
    watch: QueryObserver | None = None,
) -> DataRuntime:
    """Open it; the stack closes it.

    Raises:
        Misconfigured: the file of data sources is wrong, or missing where the setting names it.
    """
    home = settings.home_dir
    sources = SourceStore(database, secret_key=settings.secret_key)
    artifacts = ArtifactStore(database, home / "artifacts", quota, quota_of)
    engines = SourceEngines(sources, home / "sources")
    catalogues = CatalogueCache(
        CatalogueStore(database),
        engine_of=engines.engine_of,
        list_sources=sources.list,
        comments_of=_comments_of,
    )
    processes = shared_pool()
    service = DataService(sources, engines, catalogues, artifacts, processes, watch)
    stack.push_async_callback(service.aclose)
    charts = ChartService(artifacts)
    stack.push_async_callback(charts.aclose)
    await _register(settings, service)
    catalogues.start()
    sweeping = asyncio.create_task(sweep_expired_artifacts(artifacts), name="artifacts")
    stack.push_async_callback(cancel_all, [sweeping])
    return DataRuntime(service, charts, FigureChecks(artifacts, processes))


async def sweep_expired_artifacts(
    artifacts: ArtifactStore, *, interval_seconds: float = _SWEEP_SECONDS
) -> None:
    """Remove artefacts whose time is over, now and then, for ever."""
    while True:
        try:
            if gone := await artifacts.delete_expired():
                logger.info("%d artefacts had expired", gone)
        except Exception:
            logger.exception("expired artefacts could not be removed; trying again later")
        await asyncio.sleep(interval_seconds)


async def _register(settings: Settings, service: DataService) -> None:
    """The sample database, and what the configuration file names."""
    sources = service.sources
    if await _is_sample_wanted(settings, sources):
        await _register_sample(settings.home_dir / "sample" / "chinook.sqlite", sources)
    path = settings.sources_path
    if path is not None:
        load = partial(load_sources, path, environment=environment(), check_policy=policy_from_dict)
        remove = partial(service.forget, by_config=True)
        await apply_sources(sources, path, await asyncio.to_thread(load), remove=remove)


async def _is_sample_wanted(settings: Settings, sources: SourceStore) -> bool:
    """Unless it is switched off, or was deleted and is not requested explicitly."""
    is_asked_for = "sample_data" in settings.model_fields_set
    return settings.sample_data and (is_asked_for or not await sources.was_removed(_SAMPLE_ID))


async def _register_sample(path: Path, sources: SourceStore) -> None:
    if not await asyncio.to_thread(path.exists):
        await asyncio.to_thread(create_sample, path)
    if await sources.get(_SAMPLE_ID) is not None:
        return
    new = NewSource(
        SAMPLE_NAME,
        url=SecretStr(f"sqlite:///{path}"),
        description="A music shop's invented data: customers, invoices, tracks.",
        grants=(EVERYONE,),
    )
    try:
        await sources.create(new, source_id=_SAMPLE_ID, is_sample=True)
    except Conflict:  # another process was quicker, or a source has the name
        return


def _comments_of(source: Source) -> Comments | None:
    return SAMPLE_COMMENTS if source.is_sample else None
