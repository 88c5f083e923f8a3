"""Opens a process's data room: the sources it may use, their tools, the checks at a run's end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from langchain_core.tools import BaseTool
from pydantic import SecretStr

from dataagent_core.config import Settings
from dataagent_core.config.settings import environment
from dataagent_core.data.catalogue import CatalogueKeeper, CatalogueStore, Comments
from dataagent_core.data.checking import FigureChecks
from dataagent_core.data.opening import OpenSources
from dataagent_core.data.pictures import Charts
from dataagent_core.data.policy import policy_from_dict
from dataagent_core.data.results import ArtifactStore
from dataagent_core.data.sample import SAMPLE_COMMENTS, create_sample
from dataagent_core.data.service import DataService
from dataagent_core.data.sources import (
    EVERYONE,
    NewSource,
    Source,
    SourceStore,
    apply_sources,
    load_sources,
)
from dataagent_core.errors import Conflict
from dataagent_core.storage import Database
from dataagent_core.tools.sql import (
    CheckQuery,
    ListTables,
    MakeChart,
    Query,
    QueryArtifact,
    Schema,
    SearchCatalogue,
)
from dataagent_core.workspace import QuotaLedger, UserWorkspaceManager

logger = logging.getLogger(__name__)
SAMPLE_NAME = "chinook"
_SAMPLE_ID = "sample-chinook"
_SWEEP_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Data:
    """An open data room."""

    service: DataService
    charts: Charts
    checks: FigureChecks

    @property
    def tools(self) -> list[BaseTool]:
        """What an agent can do with data."""
        service = self.service
        return [
            ListTables(service=service),
            Schema(service=service),
            SearchCatalogue(service=service),
            Query(service=service),
            CheckQuery(service=service),
            QueryArtifact(service=service),
            MakeChart(service=service, charts=self.charts),
        ]


async def open_data(
    settings: Settings,
    database: Database,
    workspaces: UserWorkspaceManager,
    quota: QuotaLedger,
    stack: AsyncExitStack,
) -> Data:
    """Open it; the stack closes it.

    Raises:
        Misconfigured: the file of data sources is wrong.
    """
    home = settings.home_dir
    sources = SourceStore(database, secret_key=settings.secret_key)
    artifacts = ArtifactStore(database, home / "artifacts", quota, workspaces.quota)
    workspaces.count_beside(artifacts.usage)
    engines = OpenSources(sources, home / "sources")
    catalogues = CatalogueKeeper(
        CatalogueStore(database),
        engine_of=engines.engine_of,
        list_sources=sources.list,
        comments_of=_comments_of,
        interval_seconds=settings.catalogue_interval,
    )
    service = DataService(sources, engines, catalogues, artifacts)
    stack.push_async_callback(service.aclose)
    charts = Charts(artifacts)
    stack.push_async_callback(charts.aclose)
    await _register(settings, sources)
    catalogues.start()
    sweeping = asyncio.create_task(keep_swept(artifacts), name="artifacts")
    stack.push_async_callback(_ended, sweeping)
    return Data(service, charts, FigureChecks(artifacts))


async def keep_swept(artifacts: ArtifactStore, *, interval_seconds: float = _SWEEP_SECONDS) -> None:
    """Remove artefacts whose time is over, now and then, for ever."""
    while True:
        try:
            if gone := await artifacts.delete_expired():
                logger.info("%d artefacts had expired", gone)
        except Exception:
            logger.exception("expired artefacts could not be removed; trying again later")
        await asyncio.sleep(interval_seconds)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _register(settings: Settings, sources: SourceStore) -> None:
    """The sample database, and what the configuration file names."""
    if settings.sample_data:
        await _register_sample(settings.home_dir / "sample" / "chinook.sqlite", sources)
    path = settings.sources_path
    if path is not None:
        load = partial(load_sources, path, environment=environment(), check_policy=policy_from_dict)
        await apply_sources(sources, await asyncio.to_thread(load))


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
