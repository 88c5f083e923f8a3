"""`/api/v1/data-sources/upload`: a data source from a caller's own files."""

from __future__ import annotations

from fastapi import APIRouter, Request

from dataagent_server.api.deps import DataDep, FilesDep, ReaderDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.uploads import receive_source
from dataagent_server.models.data import UploadedSourceInfo
from dataagent_server.models.files import SOURCE_FORM

router = APIRouter(prefix="/data-sources", tags=["data sources"], route_class=PrivateRoute)


@router.post(
    "/upload", operation_id="upload_data_source", status_code=201, openapi_extra=SOURCE_FORM
)
async def upload_data_source(
    request: Request, reader: ReaderDep, files: FilesDep, data: DataDep
) -> UploadedSourceInfo:
    """Create a source from a form's files, and earlier uploads it names, for the caller alone."""
    source = await receive_source(request, files, reader)
    left_out = (await data.catalogue_state(source, reader)).left_out
    info = UploadedSourceInfo.of(source, reader)
    return info.model_copy(update={"left_out": left_out})
