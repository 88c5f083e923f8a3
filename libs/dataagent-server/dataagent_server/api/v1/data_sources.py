"""`/api/v1/data-sources`: sources and who may read them. Administrators change them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from dataagent_server.api.deps import (
    AdminUser,
    DataDep,
    DataViewerDep,
    FilesDep,
    ReaderDep,
    SourceDep,
)
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.data import GrantsBody, SourceCreate, SourceInfo, SourceUpdate
from dataagent_server.models.fields import Page, check_same

router = APIRouter(prefix="/data-sources", tags=["data sources"], route_class=PrivateRoute)
IsChecked = Annotated[
    bool, Query(alias="check", description="Connect once, to check that the source answers.")
]


@router.get("", operation_id="list_data_sources")
async def list_data_sources(viewer: DataViewerDep, data: DataDep) -> Page[SourceInfo]:
    """The sources the caller may query, by name."""
    found = await data.sources.list_for(viewer.reader)
    items = [SourceInfo.of(each, viewer.reader) for each in found]
    return Page[SourceInfo](items=items, total=len(items))


@router.post("", operation_id="create_data_source", status_code=201)
async def create_data_source(
    body: SourceCreate, admin: AdminUser, reader: ReaderDep, data: DataDep, check: IsChecked = True
) -> SourceInfo:
    """Register a source, unless it does not answer. For administrators."""
    source = await data.register(body.new, owner_id=admin.user_id, must_connect=check)
    return SourceInfo.of(source, reader)


@router.get("/{source_id}", operation_id="get_data_source")
async def get_data_source(source: SourceDep, reader: ReaderDep) -> SourceInfo:
    """One of the sources the caller may query, by id or name."""
    return SourceInfo.of(source, reader)


@router.put("/{source_id}", operation_id="update_data_source")
async def update_data_source(
    *,
    _: AdminUser,
    source: SourceDep,
    body: SourceUpdate,
    reader: ReaderDep,
    data: DataDep,
    check: IsChecked = True,
) -> SourceInfo:
    """Change a source; a new address that does not answer changes nothing. For administrators."""
    check_same("source_id", source.source_id, body.source_id)
    changed = await data.change(source, body.changes(source), must_connect=check)
    return SourceInfo.of(changed, reader)


@router.delete("/{source_id}", operation_id="delete_data_source", status_code=204)
async def delete_data_source(source: SourceDep, reader: ReaderDep, files: FilesDep) -> None:
    """Delete a source with its credential, grants, policies and files; results stay.

    For administrators, and for the user who made it from their own files.

    The sample database comes back at the next start, unless `DATAAGENT_SAMPLE_DATA` is false.
    """
    await files.sources.remove(source, reader)


@router.put("/{source_id}/grants", operation_id="set_data_source_grants")
async def set_data_source_grants(
    _: AdminUser, source: SourceDep, body: GrantsBody, reader: ReaderDep, data: DataDep
) -> SourceInfo:
    """Replace the list of who may read a source. For administrators."""
    check_same("source_id", source.source_id, body.source_id)
    return SourceInfo.of(await data.sources.set_grants(source.source_id, body.all), reader)
