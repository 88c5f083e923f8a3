"""The sync twin of `artifacts.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from dataagent_client.artifacts import ArrowTable, ArtifactCalls, ArtifactFormat, DataFrame
from dataagent_client.data import ArtifactDetail, ArtifactInfo, RowsPage
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal, Stream


class SyncArtifactCalls:
    """The caller's artefacts."""

    def __init__(self, portal: Portal, calls: ArtifactCalls) -> None:
        self._portal = portal
        self._calls = calls

    def list(
        self, *, session_id: str | None = None, limit: int = 100, offset: int = 0
    ) -> Page[ArtifactInfo]:
        """The caller's artefacts, the newest first; of one session if it is named."""
        return self._portal.call(
            self._calls.list(session_id=session_id, limit=limit, offset=offset)
        )

    def get(self, artifact_id: str) -> ArtifactDetail:
        """What it is and rests on; of a chart its Vega-Lite `spec` too."""
        return self._portal.call(self._calls.get(artifact_id))

    def page(
        self, artifact_id: str, *, limit: int = 100, offset: int = 0, sort: Sequence[str] = ()
    ) -> RowsPage:
        """Some rows of a table, sorted by columns; `-name` from the greatest."""
        return self._portal.call(
            self._calls.page(artifact_id, limit=limit, offset=offset, sort=sort)
        )

    def stream(
        self, artifact_id: str, fmt: ArtifactFormat, *, has_bom: bool = False
    ) -> Generator[bytes]:
        """A file of it as it arrives: tables as csv, xlsx, parquet or json, charts as png or svg.

        `has_bom` begins CSV with a byte-order mark, for Excel.
        """
        stream = Stream[bytes](self._portal)
        return stream.read(self._calls.stream(artifact_id, fmt, has_bom=has_bom))

    def read(self, artifact_id: str, fmt: ArtifactFormat, *, has_bom: bool = False) -> bytes:
        """A file of it, all at once."""
        return self._portal.call(self._calls.read(artifact_id, fmt, has_bom=has_bom))

    def download(
        self, artifact_id: str, target: Path, fmt: ArtifactFormat, *, has_bom: bool = False
    ) -> Path:
        """Save a file of it; if that fails, what was at `target` is still there."""
        return self._portal.call(self._calls.download(artifact_id, target, fmt, has_bom=has_bom))

    def to_arrow(self, artifact_id: str) -> ArrowTable:
        """A table as Arrow. `NotInstalled` without the extra `arrow`."""
        return self._portal.call(self._calls.to_arrow(artifact_id))

    def to_pandas(self, artifact_id: str) -> DataFrame:
        """A table as a data frame. `NotInstalled` without the extra `pandas`."""
        return self._portal.call(self._calls.to_pandas(artifact_id))

    def delete(self, artifact_id: str) -> None:
        """Delete one, with the charts made from it."""
        return self._portal.call(self._calls.delete(artifact_id))
