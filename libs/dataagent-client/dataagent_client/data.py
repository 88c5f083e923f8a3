"""Data sources, their tables, and statements over them, as `client.data`.

Statements are not repeated: a lost answer is an error, and the statement may have run. `as_user`
shows an administrator what that user would see. A cell is a JSON value; decimals and integers
beyond 2^53 are text.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from dataagent_client.errors import ProtocolError
from dataagent_client.files import Content, open_content
from dataagent_client.http import Http, child_path
from dataagent_client.models import Page, parse_page
from dataagent_client.parsing import JsonDict, json_field, make_parser

Cell = Any  # a JSON value, of any kind


# -- sources ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """When a read of the source stops."""

    max_rows: int
    max_bytes: int
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Grant:
    """Who may read a source: `everyone`, a `user`, a `tenant` or an `agent`."""

    subject_kind: str
    subject_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInfo:
    """A data source. From `owner_id` on, what is None for who is no administrator."""

    source_id: str
    name: str
    kind: str
    """`database` or `files`."""
    description: str
    dialect: str | None
    is_sample: bool
    is_from_config: bool
    default_policy: str
    time_zone: str
    limits: SourceLimits
    created_at: datetime
    updated_at: datetime
    is_own: bool
    owner_id: str | None = None
    address: str | None = None
    folder: str | None = None
    files: tuple[str, ...] | None = None
    has_credentials: bool | None = None
    grants: tuple[Grant, ...] | None = None


class SourceSettings(TypedDict, total=False):
    """What can be said of a source; what is left out stays as it is, or is the default."""

    url: str
    """SQLAlchemy's form with the password; it is stored encrypted and never returned."""
    folder: str
    """Of files on the server, in place of an address."""
    description: str
    time_zone: str
    default_policy: str
    """What holds for tables that no policy names: `allow` or `deny`."""
    limits: dict[str, float]
    """Any of `max_rows`, `max_bytes`, `timeout_seconds`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInfo:
    """What of a source some readers may see."""

    policy_id: str
    source_id: str
    name: str
    rules: JsonDict
    is_from_config: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class UserAttributes:
    """What row filters may ask about a user, as `:user.NAME`."""

    user_id: str
    attributes: JsonDict


# -- what they hold -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableName:
    """A table, in short."""

    key: str
    comment: str | None
    row_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a table, with some of its values if they may be seen."""

    name: str
    type: str
    is_nullable: bool
    comment: str | None
    samples: tuple[str, ...]
    are_samples_truncated: bool


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Which columns point to which of another table."""

    columns: tuple[str, ...]
    target_table: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo:
    """A table as the caller may see it; `key` is what statements call it."""

    key: str
    name: str
    schema: str | None
    is_view: bool
    comment: str | None
    row_count: int | None
    primary_key: tuple[str, ...]
    foreign_keys: tuple[ForeignKey, ...]
    columns: tuple[TableColumn, ...]


@dataclass(frozen=True, slots=True)
class CatalogueHit:
    """Why a table fits the words that were searched for."""

    table_key: str
    columns: tuple[str, ...]
    score: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueSummary:
    """When a source was looked at, and what was different. `problem`: it does not answer."""

    source_id: str
    dialect: str
    hash: str
    refreshed_at: datetime
    table_count: int
    drift: tuple[str, ...]
    drifted_at: datetime | None
    left_out: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueInfo(CatalogueSummary):
    """What a source holds; with `hits` if words were searched for."""

    tables: tuple[TableInfo, ...]
    hits: tuple[CatalogueHit, ...] | None = None


# -- results ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result. `name` is unique in it; `label` is what the engine called it."""

    name: str
    label: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a result rests on."""

    source_id: str
    source_name: str
    dialect: str
    sql: str
    sql_executed: str
    row_count: int
    is_truncated: bool = json_field("truncated")
    truncated_by: str | None
    duration_ms: float
    policy: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    time_zone: str
    executed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactInfo:
    """A stored result, or a chart made from one."""

    artifact_id: str
    kind: str
    """`table`, `chart` or `file`."""
    title: str
    row_count: int
    byte_size: int
    session_id: str | None
    run_id: str | None
    parent_id: str | None
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsPage:
    """Some rows, cells in the order of `columns`; `next_offset` is None on the last page."""

    columns: tuple[str, ...]
    rows: list[list[Cell]]
    total: int
    offset: int
    next_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactDetail(ArtifactInfo):
    """An artefact with its receipt; `page` if rows were requested, `spec` of a chart."""

    columns: tuple[ResultColumn, ...]
    receipt: Receipt | None
    page: RowsPage | None = None
    spec: JsonDict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """What the values of a column have in common."""

    name: str
    nulls: int
    min: Cell
    max: Cell
    distinct: Cell
    sum: Cell
    mean: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What came of a statement; `preview` has the first rows, the artefact has all."""

    artifact: ArtifactInfo
    columns: tuple[ResultColumn, ...]
    row_count: int
    is_truncated: bool = json_field("truncated")
    truncated_by: str | None
    preview: list[list[Cell]]
    statistics: tuple[ColumnStatistics, ...]
    sql_executed: str
    policy: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    duration_ms: float
    time_zone: str

    @property
    def artifact_id(self) -> str:
        """By which the rows are fetched."""
        return self.artifact.artifact_id


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What would run, and which rules change it."""

    sql_executed: str
    policy: tuple[str, ...]


parse_source = make_parser(SourceInfo, "data source")
parse_policy = make_parser(PolicyInfo, "policy")
parse_attributes = make_parser(UserAttributes, "attributes")
parse_table_name = make_parser(TableName, "table")
parse_catalogue = make_parser(CatalogueInfo, "catalogue")
parse_summary = make_parser(CatalogueSummary, "catalogue")
parse_artifact = make_parser(ArtifactInfo, "artefact")
parse_detail = make_parser(ArtifactDetail, "artefact")
parse_query = make_parser(QueryResult, "result")
parse_check = make_parser(CheckResult, "verdict")


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
            ApiError: the statement is refused, or names something unknown.
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
        """The rows of a stored table; at most `most`, if it is given.

        Raises:
            NotFoundError: the caller has no such artefact, or it has expired.
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
