"""The sync twin of `data.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Sequence

from dataagent_client.data import (
    CatalogueInfo,
    CheckResult,
    DataCalls,
    QueryResult,
    Rows,
    SourceInfo,
    TableName,
)
from dataagent_client.files import Content
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal


class SyncDataCalls:
    """What a program does with data over REST."""

    def __init__(self, portal: Portal, calls: DataCalls) -> None:
        self._portal = portal
        self._calls = calls

    def sources(self, *, as_user: str | None = None) -> list[SourceInfo]:
        """The sources the caller may read."""
        return self._portal.call(self._calls.sources(as_user=as_user))

    def source(self, source_id: str) -> SourceInfo:
        """One of them, by id or name."""
        return self._portal.call(self._calls.source(source_id))

    def upload(
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
        return self._portal.call(
            self._calls.upload(name, contents, file_ids=file_ids, description=description)
        )

    def delete(self, source_id: str) -> None:
        """Forget a source the caller made of their own files; any for administrators."""
        return self._portal.call(self._calls.delete(source_id))

    def tables(self, source_id: str, *, as_user: str | None = None) -> Page[TableName]:
        """All tables of a source that the caller may see, without their columns."""
        return self._portal.call(self._calls.tables(source_id, as_user=as_user))

    def catalogue(
        self,
        source_id: str,
        *,
        table: str | None = None,
        search: str | None = None,
        as_user: str | None = None,
    ) -> CatalogueInfo:
        """What the caller may see of a source: all tables, one, or those that fit some words."""
        return self._portal.call(
            self._calls.catalogue(source_id, table=table, search=search, as_user=as_user)
        )

    def check(self, source_id: str, sql: str, *, as_user: str | None = None) -> CheckResult:
        """What would run, without running it.

        Raises:
            ApiError: the statement is refused, or names something unknown.
        """
        return self._portal.call(self._calls.check(source_id, sql, as_user=as_user))

    def query(
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
        return self._portal.call(
            self._calls.query(source_id, sql, limit=limit, title=title, as_user=as_user)
        )

    def rows(self, artifact_id: str, *, most: int | None = None) -> Rows:
        """The rows of a stored table; at most `most`, if it is given.

        Raises:
            NotFoundError: the caller has no such artefact, or it has expired.
        """
        return self._portal.call(self._calls.rows(artifact_id, most=most))
