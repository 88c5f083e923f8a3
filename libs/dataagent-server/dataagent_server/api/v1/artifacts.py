"""`/api/v1/artifacts`: stored results, and charts made from them."""

from __future__ import annotations

from typing import Annotated, Any, assert_never

from fastapi import APIRouter, Query
from starlette.responses import Response

from dataagent_core.data.results import MEDIA_TYPES
from dataagent_core.data.types import Artifact
from dataagent_core.errors import BadInput
from dataagent_server.api.deps import ArtifactsDep, ContainerDep, CurrentUser
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import Download, file_headers, iterate_in_threads
from dataagent_server.deps.artifacts import chart_format, export_of, page_of, table_format
from dataagent_server.deps.container import Container
from dataagent_server.models.fields import Id, Limit, Offset, Page, PathId
from dataagent_server.models.queries import (
    ArtifactDetail,
    ArtifactFormat,
    ArtifactInfo,
    ArtifactQuery,
)

router = APIRouter(prefix="/artifacts", tags=["artifacts"], route_class=PrivateRoute)
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The artefact, or a file of it",
        "content": {
            media: {"schema": {"type": "string", "format": "binary"}}
            for media in (*MEDIA_TYPES.values(), "image/png", "image/svg+xml")
            if media != "application/json"
        },
    }
}


@router.get("", operation_id="list_artifacts")
async def list_artifacts(
    user: CurrentUser,
    artifacts: ArtifactsDep,
    session_id: Annotated[Id | None, Query()] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Page[ArtifactInfo]:
    """The caller's artefacts, the newest first."""
    owner = user.user_id
    found = await artifacts.list(owner, session_id=session_id, limit=limit, offset=offset)
    total = await artifacts.count(owner, session_id=session_id)
    return Page[ArtifactInfo](items=[ArtifactInfo.of(each) for each in found], total=total)


@router.get(
    "/{artifact_id}",
    operation_id="get_artifact",
    response_model=ArtifactDetail | list[dict[str, Any]],
    responses=_FILES,
)
async def get_artifact(
    artifact_id: PathId,
    query: Annotated[ArtifactQuery, Query()],
    user: CurrentUser,
    container: ContainerDep,
) -> ArtifactDetail | Response:
    """One of the caller's artefacts, with a page of rows, or as a file."""
    data = container.core.data
    artifact = await data.service.artifacts.get(artifact_id, owner=user.user_id)
    if query.format is not None:
        return await _file(artifact, query.format, query, container)
    page = await page_of(artifact, data.service.artifacts, query) if query.is_for_rows else None
    spec = await data.charts.shown(artifact) if artifact.kind == "chart" else None
    return ArtifactDetail.showing(artifact, page=page, spec=spec)


@router.delete("/{artifact_id}", operation_id="delete_artifact", status_code=204)
async def delete_artifact(artifact_id: PathId, user: CurrentUser, artifacts: ArtifactsDep) -> None:
    """Delete one of the caller's artefacts, with the charts made from it."""
    await artifacts.delete(artifact_id, owner=user.user_id)


async def _file(
    artifact: Artifact, fmt: ArtifactFormat, query: ArtifactQuery, container: Container
) -> Response:
    """A table's file is made while it is sent, a chart's before."""
    headers, data = file_headers(artifact.title, fmt), container.core.data
    match artifact.kind:
        case "table":
            chosen = table_format(fmt)
            make = export_of(artifact, data.service.artifacts, chosen, query)
            media_type, capacity = MEDIA_TYPES[chosen], container.capacity
            return Download(
                iterate_in_threads(make), capacity=capacity, headers=headers, media_type=media_type
            )
        case "chart" if query.is_for_rows:
            raise BadInput("The artefact is a chart; only a table has rows.")
        case "chart":
            picture = await data.charts.picture(artifact, chart_format(artifact, fmt))
            return Response(picture.content, headers=headers, media_type=picture.media_type)
        case "file":
            raise BadInput("The artefact is a file already; it has no other format.")
        case _:
            assert_never(artifact.kind)
