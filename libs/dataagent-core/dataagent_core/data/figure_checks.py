"""Looks for every figure of an answer in what its run has read, in a worker process."""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataagent_core.data.arrow import pq
from dataagent_core.data.results import ArtifactStore, load_stored_result
from dataagent_core.data.results.cells import with_shown_floats
from dataagent_core.data.types import Artifact
from dataagent_core.errors import ArtifactNotFound, UserLimit
from dataagent_core.processes import CallTimedOut, ProcessPool, WorkerEnded

if TYPE_CHECKING:
    from dataagent_core.data import figures
    from dataagent_core.data.figures import ResultTable
else:  # its patterns take a while, and most answers rest on no table
    from dataagent_core.config.lazy_modules import LazyModule

    figures = LazyModule("dataagent_core.data.figures")

logger = logging.getLogger(__name__)
_BATCH_ROWS = 2_000
_NOT_CHECKED = {"verified": [], "unbacked": [], "unchecked": 0, "is_complete": False}


class FigureChecks:
    """Checks answers against their runs' results."""

    def __init__(self, artifacts: ArtifactStore, processes: ProcessPool) -> None:
        self._artifacts = artifacts
        self._processes = processes

    async def report(
        self, text: str, question: str, artifact_ids: Sequence[str], *, owner: str
    ) -> dict[str, Any] | None:
        """Which figures of the text the results back, as an event carries it; None if no results.

        A result that is gone backs nothing.
        """
        tables: list[Artifact] = []
        for artifact_id in artifact_ids:
            try:
                tables.append(await self._artifacts.get(artifact_id, owner=owner))
            except ArtifactNotFound:
                continue
        paths = [(one, self._artifacts.path_of(one)) for one in tables if one.kind == "table"]
        if not paths:
            return None
        try:
            return await self._processes.run(owner, _report, text, question, paths)
        except (CallTimedOut, WorkerEnded, UserLimit):
            logger.warning("the figures of an answer could not be checked", exc_info=True)
            return _NOT_CHECKED


def _report(text: str, question: str, tables: list[tuple[Artifact, Path]]) -> dict[str, Any]:
    results: list[ResultTable] = []
    for artifact, path in tables:
        with suppress(FileNotFoundError):  # it went this moment
            results.append(_result(artifact, path))
    return figures.to_metadata(figures.check_figures(text, question, results))


def _result(artifact: Artifact, path: Path) -> ResultTable:
    stored = load_stored_result(path)
    statistics = {
        column.name: {
            "sum": known.total,
            "mean": known.mean,
            "min": known.minimum,
            "max": known.maximum,
            "distinct": known.distinct,
        }
        for column, known in zip(stored.columns, stored.statistics, strict=True)
    }
    found = (artifact.artifact_id, stored.columns, _rows(path), stored.row_count, statistics)
    return figures.ResultTable(*found)


def _rows(path: Path) -> Iterator[Sequence[Any]]:
    with suppress(FileNotFoundError), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            columns = [column.to_pylist() for column in with_shown_floats(batch).columns]
            yield from zip(*columns, strict=True)
