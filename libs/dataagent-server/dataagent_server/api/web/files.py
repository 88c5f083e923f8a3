"""`/api/files`: the caller's files, uploaded or made by tools.

A file is never rendered as a page: it is downloaded, or its text is quoted in JSON.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dataagent_server.api.deps import ContainerDep, CurrentUser, FilesDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import Download, iterate_in_threads, named_headers
from dataagent_server.deps.container import Container
from dataagent_server.deps.uploads import receive_file
from dataagent_server.models.fields import Limit, Offset, Page, PathId
from dataagent_server.models.files import FILE_FORM, FileInfo, FilePreview, UploadedFile

router = APIRouter(prefix="/files", tags=["files"], route_class=PrivateRoute)
_SAVED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file, with its own content type",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}
FileName = Annotated[str, Path(min_length=1, max_length=255)]


@router.post("/upload", operation_id="upload_file", status_code=201, openapi_extra=FILE_FORM)
async def upload_file(request: Request, user: CurrentUser, files: FilesDep) -> UploadedFile:
    """Upload a file: text, CSV, JSON, Parquet, PDF, an Office file or a picture."""
    return UploadedFile.of(await receive_file(request, files.store, owner=user.user_id))


@router.get("", operation_id="list_files")
async def list_files(
    user: CurrentUser, files: FilesDep, limit: Limit = 100, offset: Offset = 0
) -> Page[FileInfo]:
    """The caller's files, the newest first."""
    found, total = await files.store.list(user.user_id, limit=limit, offset=offset)
    return Page[FileInfo](items=[FileInfo.of(each) for each in found], total=total)


@router.get(
    "/{file_id}/download",
    operation_id="download_file",
    response_class=Response,
    responses=_SAVED,
)
async def download_file(file_id: PathId, user: CurrentUser, container: ContainerDep) -> Download:
    """One of the caller's files, as a download."""
    return await _download(container, file_id, owner=user.user_id)


@router.get("/{file_id}/content", operation_id="preview_file")
async def preview_file(file_id: PathId, user: CurrentUser, files: FilesDep) -> FilePreview:
    """The beginning of one of the caller's text files."""
    return FilePreview.of(await files.store.preview(file_id, owner=user.user_id))


@router.get(
    "/{file_id}/{filename}",
    operation_id="download_named_file",
    response_class=Response,
    responses=_SAVED,
)
async def download_named_file(
    file_id: PathId, filename: FileName, user: CurrentUser, container: ContainerDep
) -> Download:
    """As `download`, with a URL that ends in the file's name, as in links of tools."""
    return await _download(container, file_id, owner=user.user_id, filename=filename)


@router.delete("/{file_id}", operation_id="delete_file", status_code=204)
async def delete_file(file_id: PathId, user: CurrentUser, files: FilesDep) -> None:
    """Delete one of the caller's files."""
    await files.store.delete(file_id, owner=user.user_id)


async def _download(
    container: Container, file_id: str, *, owner: str, filename: str | None = None
) -> Download:
    file, make = await container.core.files.store.open(file_id, owner=owner, filename=filename)
    return Download(
        iterate_in_threads(make),
        capacity=container.capacity,
        headers=named_headers(file.filename),
        media_type=file.content_type,
    )
