"""Data sources for administrators, as `client.admin.data`: who may read what of which.

Each method is one request and one parser. Reading a source is `client.data`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from dataagent_client.data_models import (
    CatalogueSummary,
    Grant,
    PolicyInfo,
    SourceInfo,
    SourceSettings,
    UserAttributes,
    parse_attributes,
    parse_policy,
    parse_source,
    parse_summary,
)
from dataagent_client.http import Http, child_path
from dataagent_client.models import Page, parse_page

_ALL = "data-sources"


class AdminData:
    """Sources, grants, policies, and what row filters ask about users."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def create(
        self,
        name: str,
        *,
        grants: Iterable[Grant] = (),
        is_checked: bool = True,
        **settings: Unpack[SourceSettings],
    ) -> SourceInfo:
        """Register a database by its `url`, or a `folder` of files on the server.

        Raises:
            UnavailableError: it does not answer, and is not kept, unless it is not checked.
            ConflictError: there is one of that name.
        """
        body = {"name": name, "grants": _grants_body(grants), **settings}
        params = {"check": _json_ready(is_checked)}
        found = await self._http.request("POST", _ALL, body=body, params=params, has_time=True)
        return parse_source(found)

    async def update(
        self,
        source_id: str,
        *,
        name: str | None = None,
        is_checked: bool = True,
        **settings: Unpack[SourceSettings],
    ) -> SourceInfo:
        """Change a source; what is not named stays, its credential too."""
        path, params = child_path(_ALL, source_id), {"check": _json_ready(is_checked)}
        body = {"name": name, **settings}
        found = await self._http.request("PUT", path, body=body, params=params, has_time=True)
        return parse_source(found)

    async def set_grants(self, source_id: str, grants: Iterable[Grant]) -> SourceInfo:
        """Say anew who may read a source."""
        path, body = f"{child_path(_ALL, source_id)}/grants", {"grants": _grants_body(grants)}
        return parse_source(await self._http.request("PUT", path, body=body, is_repeatable=True))

    async def refresh(self, source_id: str) -> CatalogueSummary:
        """Look at a source now. If it is down, `problem` says so."""
        path = f"{child_path(_ALL, source_id)}/refresh"
        found = await self._http.request("POST", path, has_time=True, is_repeatable=True)
        return parse_summary(found)

    async def policies(self, source_id: str) -> Page[PolicyInfo]:
        """A source's policies, by name."""
        return parse_page(await self._http.request("GET", _policies(source_id)), parse_policy)

    async def create_policy(
        self, source_id: str, name: str, rules: Mapping[str, Any]
    ) -> PolicyInfo:
        """Add a policy: `rules` say to whom it speaks, and what of which tables.

        Raises:
            InvalidError: it does not fit the source.
        """
        body = {"name": name, "rules": dict(rules)}
        return parse_policy(await self._http.request("POST", _policies(source_id), body=body))

    async def replace_policy(
        self, source_id: str, policy_id: str, name: str, rules: Mapping[str, Any]
    ) -> PolicyInfo:
        """Put another policy in a policy's place."""
        path, body = (
            child_path(_policies(source_id), policy_id),
            {"name": name, "rules": dict(rules)},
        )
        return parse_policy(await self._http.request("PUT", path, body=body, is_repeatable=True))

    async def delete_policy(self, source_id: str, policy_id: str) -> None:
        """Remove a policy."""
        await self._http.request("DELETE", child_path(_policies(source_id), policy_id))

    async def attributes(self, user_id: str) -> UserAttributes:
        """What row filters may ask about a user."""
        return parse_attributes(await self._http.request("GET", _attributes(user_id)))

    async def set_attributes(self, user_id: str, attributes: Mapping[str, Any]) -> UserAttributes:
        """Say all of it anew; what is not named is forgotten."""
        body = {"attributes": dict(attributes)}
        path = _attributes(user_id)
        found = await self._http.request("PUT", path, body=body, is_repeatable=True)
        return parse_attributes(found)


def _policies(source_id: str) -> str:
    return f"{child_path(_ALL, source_id)}/policies"


def _attributes(user_id: str) -> str:
    return f"{child_path('users', user_id)}/attributes"


def _grants_body(grants: Iterable[Grant]) -> list[dict[str, str]]:
    return [{"subject_kind": each.subject_kind, "subject_id": each.subject_id} for each in grants]


def _json_ready(value: bool) -> str:
    return "true" if value else "false"
