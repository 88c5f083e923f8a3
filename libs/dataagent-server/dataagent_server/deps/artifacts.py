"""Kept results, read for whoever asks over HTTP: a page of rows, a file in some format.

An artefact may go while it is being asked for; its file is then as absent as the artefact.
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
    """The rows that are asked for.

    Raises:
        BadInput: the artefact has no rows, or there is no such column to sort by.
        ArtifactNotFound: it went this moment.
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
    """What makes the file, piece by piece. It blocks, so call it and its pieces in a thread.

    Its first piece raises `BadInput` if the format cannot hold the table, and `ArtifactNotFound` if
    the artefact went this moment.
    """
    path = artifacts.path_of(artifact)

    def pieces() -> Generator[bytes]:
        with translate_missing_file(artifact.artifact_id):
            path.stat()  # some formats begin before they open it
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
    """The format, if a table can have it.

    Raises:
        BadInput: it cannot.
    """
    if fmt in _PICTURES:
        raise BadInput(f"A table has no format {fmt!r}. Choose csv, xlsx, parquet or json.")
    return fmt


def chart_format(artifact: Artifact, fmt: ArtifactFormat) -> ChartFormat:
    """The format, if a chart can have it.

    Raises:
        BadInput: it cannot.
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
