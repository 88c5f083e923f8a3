"""Reads stored results for HTTP: a page of rows, a file in some format.

An artefact may be deleted while it is read; its missing file is then `ArtifactNotFound`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import assert_never

from dataagent_core.data.charts import ChartFormat
from dataagent_core.data.results import (
    ArtifactStore,
    ResultPage,
    export,
    page,
    translate_missing_file,
)
from dataagent_core.data.types import Artifact, ExportFormat
from dataagent_core.errors import BadInput
from dataagent_server.models.queries import ArtifactFormat, ArtifactQuery

_PICTURES = ("png", "svg")
_ROWS = 100


async def page_of(artifact: Artifact, artifacts: ArtifactStore, query: ArtifactQuery) -> ResultPage:
    """The rows of a query.

    Raises:
        BadInput: the artefact has no rows, or there is no such column to sort by.
        ArtifactNotFound: it was deleted meanwhile.
    """
    if artifact.kind != "table":
        raise BadInput(f"The artefact is a {artifact.kind}; only a table has rows.")
    path = artifacts.path_of(artifact)
    limit, offset = query.limit or _ROWS, query.offset or 0
    with translate_missing_file(artifact.artifact_id):
        return await asyncio.to_thread(page, path, limit=limit, offset=offset, sort=query.sort)


def export_of(
    artifact: Artifact, artifacts: ArtifactStore, fmt: ExportFormat, query: ArtifactQuery
) -> Callable[[], Generator[bytes]]:
    """A generator of the file's pieces. It blocks: iterate it in a thread.

    The first piece raises `BadInput` if the format cannot hold the table, `ArtifactNotFound` if the
    artefact was deleted meanwhile.
    """
    path = artifacts.path_of(artifact)

    def pieces() -> Generator[bytes]:
        with translate_missing_file(artifact.artifact_id):
            path.stat()  # some formats write before they open it
            yield from export(
                path,
                artifact.columns,
                fmt,
                has_bom=query.bom,
                limit=query.limit,
                offset=query.offset or 0,
            )

    return pieces


def table_format(fmt: ArtifactFormat) -> ExportFormat:
    """Check that a table has the format.

    Raises:
        BadInput: it does not.
    """
    if fmt in _PICTURES:
        raise BadInput(f"A table has no format {fmt!r}. Choose csv, xlsx, parquet or json.")
    return fmt


def chart_format(artifact: Artifact, fmt: ArtifactFormat) -> ChartFormat:
    """Check that a chart has the format.

    Raises:
        BadInput: it does not.
    """
    match fmt:
        case "png" | "svg":
            return fmt
        case "csv" | "xlsx" | "parquet" | "json":
            raise BadInput(
                f"A chart has no format {fmt!r}. Choose png or svg, or take {fmt} of its table.",
                details={"parent_id": artifact.parent_id},
            )
        case _:
            assert_never(fmt)
