"""Data sources and statements over them, as `client.data`. What administrators do is in `admin`.

Statements are not repeated by themselves: a lost answer is an error, the statement may have run.
`as_user` shows an administrator what that user would see.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from dataagent_client.data_models import (
    CatalogueInfo,
    CheckResult,
    QueryResult,
    SourceInfo,
    TableName,
    parse_catalogue,
    parse_check,
    parse_detail,
    parse_query,
    parse_source,
    parse_table_name,
)
from dataagent_client.errors import ProtocolError
from dataagent_client.files import Content, open_content
from dataagent_client.http import Http, child_path
from dataagent_client.models import Page, parse_page

_PAGE = 1000
_ALL = "data-sources"


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a result, cells in the order of `columns`."""

    columns: tuple[str, ...]
    rows: list[list[Any]]  # JSON values; decimals and integers beyond 2^53 are text


class DataCalls:
    """What a program does with data over REST."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def sources(self, *, as_user: str | None = None) -> list[SourceInfo]:
        """The sources the caller may read."""
        found = await self._http.request("GET", _ALL, params={"as_user": as_user})
        return parse_page(found, parse_source).items

    async def source(self, source_id: str) -> SourceInfo:
        """One of them, by id or name."""
        return parse_source(await self._http.request("GET", child_path(_ALL, source_id)))

    async def upload(
        self,
        name: str,
        contents: Sequence[Content] = (),
        *,
        file_ids: Sequence[str] = (),
        description: str | None = None,
    ) -> SourceInfo:
        """Make a source of the caller's own files, sent now or before (`file_ids`).

        Raises:
            InvalidError: a file cannot be read as tables.
            ConflictError: there is a source of that name.
        """
        async with AsyncExitStack() as files:
            parts = [await files.enter_async_context(open_content(each)) for each in contents]
            fields = {"name": name, "description": description, "file_ids": list(file_ids)}
            return parse_source(await self._http.send_form(f"{_ALL}/upload", parts, fields=fields))

    async def delete(self, source_id: str) -> None:
        """Forget a source the caller made of their own files; any for administrators."""
        await self._http.request("DELETE", child_path(_ALL, source_id))

    async def tables(self, source_id: str, *, as_user: str | None = None) -> Page[TableName]:
        """All tables of a source that the caller may see, without their columns."""
        path = f"{child_path(_ALL, source_id)}/tables"
        found = await self._http.request("GET", path, params={"as_user": as_user})
        return parse_page(found, parse_table_name)

    async def catalogue(
        self,
        source_id: str,
        *,
        table: str | None = None,
        search: str | None = None,
        as_user: str | None = None,
    ) -> CatalogueInfo:
        """What the caller may see of a source: all tables, one, or those that fit some words."""
        path = f"{child_path(_ALL, source_id)}/catalogue"
        params = {"table": table, "search": search, "as_user": as_user}
        return parse_catalogue(await self._http.request("GET", path, params=params))

    async def check(self, source_id: str, sql: str, *, as_user: str | None = None) -> CheckResult:
        """What would run, without running it.

        Raises:
            ApiError: the statement may not run, or names what is not there.
        """
        path, params = f"{child_path(_ALL, source_id)}/check", {"as_user": as_user}
        found = await self._http.request(
            "POST", path, body={"sql": sql}, params=params, is_repeatable=True
        )
        return parse_check(found)

    async def query(
        self,
        source_id: str,
        sql: str,
        *,
        limit: int | None = None,
        title: str | None = None,
        as_user: str | None = None,
    ) -> QueryResult:
        """Run one statement and keep its result. Leaving stops it.

        Raises:
            QueryError: the database refused it, or it took too long.
            ApiError: it may not run.
        """
        body = {"sql": sql, "limit": limit, "title": title}
        path, params = f"{child_path(_ALL, source_id)}/query", {"as_user": as_user}
        found = await self._http.request("POST", path, body=body, params=params, has_time=True)
        return parse_query(found)

    async def rows(self, artifact_id: str, *, most: int | None = None) -> Rows:
        """The rows of a table that was kept; no more than `most`, if that is given.

        Raises:
            NotFoundError: there is no such artefact of the caller's, or no longer.
        """
        columns: tuple[str, ...] = ()
        rows: list[list[Any]] = []
        offset: int | None = 0
        while offset is not None and (most is None or len(rows) < most):
            limit = _PAGE if most is None else min(_PAGE, most - len(rows))
            params = {"limit": limit, "offset": offset}
            path = child_path("artifacts", artifact_id)
            page = parse_detail(await self._http.request("GET", path, params=params)).page
            if page is None:
                raise ProtocolError("The server's artefact has no rows.")
            columns = page.columns
            rows.extend(page.rows)
            offset = page.next_offset
        return Rows(columns, rows)
