"""The engines of the sources in use: opened on first use, shared, replaced when a source moves.

Files are loaded into a DuckDB database first, and again when they change. An engine that was
replaced is closed once no statement on it can still be running.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import monotonic, time

from dataagent_core.data.engines.base import Engine, EngineOptions
from dataagent_core.data.engines.duckdb_process import DuckdbProcesses
from dataagent_core.data.engines.open import open_engine
from dataagent_core.data.files import (
    FileLimits,
    LoadResult,
    find_files,
    load_files,
    load_folder,
    signature,
)
from dataagent_core.data.sources.store import PREFIX, SourceStore
from dataagent_core.data.sources.types import Source
from dataagent_core.errors import SourceUnavailable

logger = logging.getLogger(__name__)
_LEFT_OUT = ".left-out.json"
_LOOK_SECONDS = 2.0
_PROCESSES = 8  # of DuckDB's, for all sources and stored results together
_RETIREMENT_SECONDS = 600.0
_LEFT_BEHIND_SECONDS = 7 * 24 * 3600.0


@dataclass(slots=True)
class _OpenEngine:
    engine: Engine
    address_changed_at: datetime
    files: str = ""  # signature of what was loaded
    checked_at: float = 0.0
    max_statement_seconds: float = _RETIREMENT_SECONDS  # that a statement on it may take


class SourceEngines:
    """Engines by source. Close it at the end."""

    def __init__(
        self,
        store: SourceStore,
        folder: Path,
        *,
        options: EngineOptions | None = None,
        file_limits: FileLimits | None = None,
    ) -> None:
        """Databases made of files are stored in `folder`."""
        self._store = store
        self._folder = folder
        self._options = options or EngineOptions()
        self._file_limits = file_limits or FileLimits()
        self.processes = DuckdbProcesses(replace(self._options, max_connections=_PROCESSES))
        self._open: dict[str, _OpenEngine] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._retired: list[Engine] = []

    @property
    def max_connections(self) -> int:
        """How many statements run at once on a source."""
        return self._options.max_connections

    async def engine_of(self, source: Source) -> Engine:
        """The source's engine, as the source is now.

        Raises:
            SourceUnavailable: it cannot be reached.
            BadInput, LimitReached: a file of it cannot be a table.
        """
        async with self._locks.setdefault(source.source_id, asyncio.Lock()):
            held = self._open.get(source.source_id)
            if held is not None and held.address_changed_at != source.address_changed_at:
                self._retire(source.source_id)
                held = None
            if source.kind == "files":
                held = await self._of_files(source, held)
            elif held is None:
                held = await self._of_url(source)
            longest = 2 * source.limits.timeout_seconds  # it may wait as long for a connection
            held.max_statement_seconds = max(held.max_statement_seconds, longest)
            self._open[source.source_id] = held
            return held.engine

    async def forget(self, source_id: str) -> None:
        """Close the engine of a source that was removed, and remove what was loaded for it."""
        async with self._locks.setdefault(source_id, asyncio.Lock()):
            if source_id in self._open:
                self._retire(source_id)
            await asyncio.to_thread(self._unload, source_id)
        self._locks.pop(source_id, None)

    def _unload(self, source_id: str) -> None:
        for loaded in self._folder.glob(f"{source_id}-*"):
            loaded.unlink(missing_ok=True)  # statements that run keep what they have open

    async def left_out(self, source: Source) -> tuple[str, ...]:
        """A sentence for each file that could not be read, and for rows that are not in a table."""
        if source.kind != "files":
            return ()
        return await asyncio.to_thread(self._left_out, source.source_id)

    def _left_out(self, source_id: str) -> tuple[str, ...]:
        for path in self._folder.glob(f"{source_id}-*{_LEFT_OUT}"):
            with suppress(OSError, ValueError):  # replaced at this moment
                return tuple(json.loads(path.read_text(encoding="utf-8")))
        return ()

    async def aclose(self) -> None:
        """Close all engines."""
        engines = [held.engine for held in self._open.values()] + self._retired
        self._open, self._retired = {}, []
        for engine in engines:
            await asyncio.to_thread(engine.close)
        await asyncio.to_thread(self.processes.close)

    async def _of_url(self, source: Source) -> _OpenEngine:
        url = await self._store.url_of(source.source_id)
        if url is None:
            raise SourceUnavailable(f"The data source {source.name!r} has no address.")
        engine = await asyncio.to_thread(
            open_engine,
            url.get_secret_value(),
            options=self._options,
            processes=self.processes,
        )
        if source.dialect != engine.dialect:
            await self._store.note_dialect(source.source_id, engine.dialect)
        return _OpenEngine(engine, source.address_changed_at)

    async def _of_files(self, source: Source, held: _OpenEngine | None) -> _OpenEngine:
        if held is not None and monotonic() < held.checked_at + _LOOK_SECONDS:
            return held
        paths, now = await asyncio.to_thread(self._files, source)
        if held is not None and held.files == now:
            held.checked_at = monotonic()
            return held
        database = self._folder / f"{source.source_id}-{now[:16]}.duckdb"
        if not database.exists():
            await asyncio.to_thread(self._load, source, paths, database)
        engine = await asyncio.to_thread(
            open_engine,
            f"duckdb:///{database}",
            options=self._options,
            processes=self.processes,
        )
        if held is not None:
            self._retire(source.source_id)
        elif source.dialect != engine.dialect:
            await self._store.note_dialect(source.source_id, engine.dialect)
        return _OpenEngine(engine, source.address_changed_at, now, monotonic())

    def _files(self, source: Source) -> tuple[list[Path], str]:
        if source.folder is not None:
            paths = find_files(Path(source.folder), limits=self._file_limits)
        else:
            paths = [Path(name) for name in source.files]
        return paths, signature(paths)

    def _load(self, source: Source, paths: list[Path], database: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._clear_left_behind()
        limits, notes = self._file_limits, database.with_suffix(_LEFT_OUT)
        if source.folder is None:
            loaded = LoadResult(tuple(load_files(paths, database, limits=limits)))
        else:
            loaded = load_folder(paths, database, limits=limits, folder=Path(source.folder))
        left_out = [*loaded.left_out, *(one for table in loaded.tables for one in table.left_out)]
        if left_out:
            notes.write_text(json.dumps(left_out), encoding="utf-8")
        for outdated in self._folder.glob(f"{source.source_id}-*"):
            if outdated not in (database, notes):
                outdated.unlink(missing_ok=True)  # open engines keep what they have open
        logger.info("data source %s: %d tables loaded", source.name, len(loaded.tables))
        for problem in loaded.left_out:
            logger.warning("data source %s: left out: %s", source.name, problem)

    def _clear_left_behind(self) -> None:
        """Remove what was loaded for sources of processes that were killed long ago."""
        for left in self._folder.glob(f"{PREFIX}*"):
            with suppress(OSError):  # another process was quicker
                if time() - left.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                    left.unlink()

    def _retire(self, source_id: str) -> None:
        held = self._open.pop(source_id)
        self._retired.append(held.engine)
        loop = asyncio.get_running_loop()
        loop.call_later(held.max_statement_seconds, self._close_retired, held.engine)

    def _close_retired(self, engine: Engine) -> None:
        if engine in self._retired:
            self._retired.remove(engine)
            asyncio.get_running_loop().run_in_executor(None, engine.close)
