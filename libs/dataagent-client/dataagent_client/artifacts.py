"""Stored results and charts as `client.artifacts`: pages, files, pandas and Arrow.

pandas and Arrow are extras of this package (`dataagent-client[pandas]`, `[arrow]`); columns have
their types, because they are sent as Parquet.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal

from dataagent_client.data import (
    ArtifactDetail,
    ArtifactInfo,
    RowsPage,
    parse_artifact,
    parse_detail,
)
from dataagent_client.errors import NotInstalled, ProtocolError
from dataagent_client.files import save
from dataagent_client.http import Http, child_path
from dataagent_client.models import Page, parse_page

_ALL = "artifacts"
ArtifactFormat = Literal["csv", "xlsx", "parquet", "json", "png", "svg"]
ArrowTable = Any  # pyarrow's `Table`: an extra, and without types
DataFrame = Any  # pandas' `DataFrame`: the same


class ArtifactCalls:
    """The caller's artefacts."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(
        self, *, session_id: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[ArtifactInfo]:
        """The caller's artefacts, the newest first; of one session if it is named."""
        params = {"session_id": session_id, "limit": limit, "offset": offset}
        return parse_page(await self._http.request("GET", _ALL, params=params), parse_artifact)

    async def get(self, artifact_id: str) -> ArtifactDetail:
        """What it is and rests on; of a chart its Vega-Lite `spec` too."""
        return parse_detail(await self._http.request("GET", child_path(_ALL, artifact_id)))

    async def page(
        self, artifact_id: str, *, limit: int = 100, offset: int = 0, sort: Sequence[str] = ()
    ) -> RowsPage:
        """Some rows of a table, sorted by columns; `-name` from the greatest."""
        params = {"limit": limit, "offset": offset, "sort": [*sort] or None}
        found = await self._http.request("GET", child_path(_ALL, artifact_id), params=params)
        page = parse_detail(found).page
        if page is None:
            raise ProtocolError("The server's artefact has no rows.")
        return page

    async def stream(
        self, artifact_id: str, fmt: ArtifactFormat, *, has_bom: bool = False
    ) -> AsyncGenerator[bytes]:
        """A file of it as it arrives: tables as csv, xlsx, parquet or json, charts as png or svg.

        `has_bom` begins CSV with a byte-order mark, for Excel.
        """
        params = {"format": fmt, "bom": "true" if has_bom else None}
        async with self._http.stream(child_path(_ALL, artifact_id), params=params) as chunks:
            async for chunk in chunks:
                yield chunk

    async def read(self, artifact_id: str, fmt: ArtifactFormat, *, has_bom: bool = False) -> bytes:
        """A file of it, all at once."""
        async with aclosing(self.stream(artifact_id, fmt, has_bom=has_bom)) as chunks:
            return b"".join([chunk async for chunk in chunks])

    async def download(
        self, artifact_id: str, target: Path, fmt: ArtifactFormat, *, has_bom: bool = False
    ) -> Path:
        """Save a file of it; if that fails, what was at `target` is still there."""
        return await save(self.stream(artifact_id, fmt, has_bom=has_bom), target)

    async def to_arrow(self, artifact_id: str) -> ArrowTable:
        """A table as Arrow. `NotInstalled` without the extra `arrow`."""
        parquet = _extra("pyarrow.parquet", "arrow")
        content = await self.read(artifact_id, "parquet")
        return parquet.read_table(io.BytesIO(content))

    async def to_pandas(self, artifact_id: str) -> DataFrame:
        """A table as a data frame. `NotInstalled` without the extra `pandas`."""
        _extra("pandas", "pandas")
        return (await self.to_arrow(artifact_id)).to_pandas()

    async def delete(self, artifact_id: str) -> None:
        """Delete one, with the charts made from it."""
        await self._http.request("DELETE", child_path(_ALL, artifact_id))


def _extra(module: str, extra: str) -> Any:  # a module that may not be there
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotInstalled(
            f"{module} is not installed. Install it with: pip install 'dataagent-client[{extra}]'"
        ) from error
