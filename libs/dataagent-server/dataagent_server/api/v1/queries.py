"""`/api/v1/data-sources/{source_id}/…`: a source's catalogue, and statements over it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from dataagent_core.data.catalogue import Hit, find_table, search
from dataagent_core.data.service import QueryContext
from dataagent_core.data.types import Catalogue, Table
from dataagent_server.api.deps import (
    AdminUser,
    ContainerDep,
    DataDep,
    DataViewerDep,
    ReaderDep,
    SourceDep,
    ViewedSourceDep,
)
from dataagent_server.api.route import PrivateRoute
from dataagent_server.api.streaming import run_while_connected
from dataagent_server.models.common import ErrorResponse
from dataagent_server.models.fields import Page, SafeText
from dataagent_server.models.queries import (
    CatalogueInfo,
    CatalogueSummary,
    CheckRequest,
    CheckResponse,
    QueryRequest,
    QueryResponse,
    TableName,
)

router = APIRouter(prefix="/data-sources/{source_id}", tags=["queries"], route_class=PrivateRoute)
SearchText = Annotated[SafeText | None, Query(min_length=1, max_length=500)]
_TIMED_OUT: dict[int | str, dict[str, Any]] = {
    504: {"model": ErrorResponse, "description": "The statement took longer than the source allows"}
}


@router.get("/catalogue", operation_id="get_catalogue")
async def get_catalogue(
    source: ViewedSourceDep,
    viewer: DataViewerDep,
    data: DataDep,
    table: SearchText = None,
    search: SearchText = None,
) -> CatalogueInfo:
    """The tables of a source that the caller may read: all, one, or those that match a search."""
    state = await data.catalogue_state(source, viewer.reader)
    tables, hits = await _select_tables(state.catalogue, table, search)
    return CatalogueInfo.showing(state, tables, hits)


@router.get("/tables", operation_id="list_tables")
async def list_tables(
    source: ViewedSourceDep, viewer: DataViewerDep, data: DataDep
) -> Page[TableName]:
    """The tables of a source that the caller may read, by name and without columns."""
    tables = (await data.catalogue(source, viewer.reader)).tables
    items = [TableName.model_validate(each, from_attributes=True) for each in tables]
    return Page[TableName](items=items, total=len(items))


@router.post("/refresh", operation_id="refresh_catalogue")
async def refresh_catalogue(
    _: AdminUser, source: SourceDep, reader: ReaderDep, data: DataDep
) -> CatalogueSummary:
    """Read a source's catalogue now. If it is down, `problem` says so. For administrators."""
    return CatalogueSummary.of(await data.catalogue_state(source, reader, is_fresh=True))


@router.post("/check", operation_id="check_query")
async def check_query(
    source: ViewedSourceDep, body: CheckRequest, viewer: DataViewerDep, data: DataDep
) -> CheckResponse:
    """The statement as it would run, without running it; an error if it may not run."""
    return CheckResponse.of(await data.check(source, body.sql, viewer.reader))


@router.post("/query", operation_id="run_query", responses=_TIMED_OUT)
async def run_query(
    *,
    source: ViewedSourceDep,
    body: QueryRequest,
    viewer: DataViewerDep,
    data: DataDep,
    container: ContainerDep,
    request: Request,
) -> QueryResponse:
    """Run a statement and store its result. A caller that disconnects cancels it."""
    limits = None if body.limit is None else replace(source.limits, max_rows=body.limit)
    context = QueryContext(
        viewer.reader, title=body.title, limits=limits, impersonator_id=viewer.impersonator_id
    )
    with container.capacity.slot(viewer.impersonator_id or viewer.reader.user_id):
        work = data.query(source, body.sql, context)
        return QueryResponse.of(await run_while_connected(request.receive, work))


async def _select_tables(
    catalogue: Catalogue, table: str | None, words: str | None
) -> tuple[Sequence[Table], Sequence[Hit] | None]:
    """The requested tables, and the hits of a search."""
    if table is not None:
        catalogue = replace(catalogue, tables=(find_table(catalogue, table),))
    if words is None:
        return catalogue.tables, None
    hits = await asyncio.to_thread(search, catalogue, words)
    by_key = {each.key: each for each in catalogue.tables}
    return [by_key[hit.table_key] for hit in hits], hits
