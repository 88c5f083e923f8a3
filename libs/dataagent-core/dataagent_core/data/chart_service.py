"""Makes charts over stored results, for the browser and as pictures.

A chart is a specification without data beside the table it draws; its values are read from that
table each time it is shown.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from dataagent_core.data.arrow import pa, pq
from dataagent_core.data.charts import (
    ChartFormat,
    RenderedChart,
    Renderer,
    check_spec,
    default_spec,
    for_browser,
)
from dataagent_core.data.results import (
    ArtifactDraft,
    ArtifactStore,
    StoredResult,
    load_stored_result,
    translate_missing_file,
)
from dataagent_core.data.results.cells import with_shown_floats
from dataagent_core.data.types import Artifact
from dataagent_core.errors import BadInput

_MOST_ROWS = 50_000  # read for drawing; the drawing says when there are more


class ChartService:
    """The charts of all users."""

    def __init__(self, artifacts: ArtifactStore, renderer: Renderer | None = None) -> None:
        self._artifacts = artifacts
        self._renderer = renderer or Renderer()

    async def aclose(self) -> None:
        """End the process that draws."""
        await self._renderer.aclose()

    async def make(
        self, artifact_id: str, draft: ArtifactDraft, *, spec: dict[str, Any] | None = None
    ) -> Artifact:
        """A chart of one of the user's tables: as specified, or as its columns suggest.

        Raises:
            ArtifactNotFound: there is no such table of the user's.
            BadChart: the specification does not fit the table, or a table says it better.
        """
        table = await self._artifacts.get(artifact_id, owner=draft.user_id)
        if table.kind != "table":
            raise BadInput(f"Artefact {artifact_id} is a {table.kind}; a chart draws a table.")
        path = self._artifacts.path_of(table)
        with translate_missing_file(artifact_id):
            stored = await asyncio.to_thread(load_stored_result, path)
        checked = (
            default_spec(
                stored.columns,
                row_count=stored.row_count,
                statistics=_statistics(stored),
                title=draft.title or None,
            )
            if spec is None
            else check_spec(spec, stored.columns)
        )
        with translate_missing_file(artifact_id):
            await asyncio.to_thread(
                _shown, checked, path, stored.row_count
            )  # it can be drawn at all
        return await self._artifacts.create_chart(draft, checked, parent=table)

    async def shown(self, chart: Artifact) -> dict[str, Any]:
        """The specification with its values, as vega-embed takes it.

        Raises:
            ArtifactNotFound: its table is gone.
        """
        table = await self._table_of(chart)
        path = self._artifacts.path_of(table)
        with translate_missing_file(table.artifact_id):
            return await asyncio.to_thread(_shown, chart.spec or {}, path, table.row_count)

    async def picture(
        self, chart: Artifact, fmt: ChartFormat, *, scale: float = 2.0
    ) -> RenderedChart:
        """The chart as PNG or SVG.

        Raises:
            ArtifactNotFound: its table is gone.
            BadChart: it cannot be drawn.
        """
        table = await self._table_of(chart)
        with translate_missing_file(table.artifact_id):
            rows = await asyncio.to_thread(_rows, self._artifacts.path_of(table))
        return await self._renderer.render(
            chart.spec or {}, rows, fmt, scale=scale, total_rows=table.row_count
        )

    async def _table_of(self, chart: Artifact) -> Artifact:
        return await self._artifacts.get(chart.parent_id or "", owner=chart.user_id)


def _shown(spec: dict[str, Any], path: Path, row_count: int) -> dict[str, Any]:
    return for_browser(spec, _rows(path), total_rows=row_count)


def _rows(path: Path) -> Any:  # an Arrow table; pyarrow is untyped
    """The table's first rows."""
    batches: list[Any] = []
    count = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=10_000):
            batches.append(with_shown_floats(batch))
            count += batch.num_rows
            if count >= _MOST_ROWS:
                break
        schema = batches[0].schema if batches else file.schema_arrow
    return pa.Table.from_batches(batches, schema=schema)


def _statistics(stored: StoredResult) -> dict[str, dict[str, Any]]:
    return {
        column.name: {"distinct": known.distinct}
        for column, known in zip(stored.columns, stored.statistics, strict=True)
        if isinstance(known.distinct, int)
    }
