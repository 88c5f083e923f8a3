"""The sync twin of `admin_data.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from dataagent_client.admin_data import AdminData
from dataagent_client.data_models import (
    CatalogueSummary,
    Grant,
    PolicyInfo,
    SourceInfo,
    SourceSettings,
    UserAttributes,
)
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal


class SyncAdminData:
    """Sources, grants, policies, and what row filters ask about users."""

    def __init__(self, portal: Portal, calls: AdminData) -> None:
        self._portal = portal
        self._calls = calls

    def create(
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
        return self._portal.call(
            self._calls.create(name, grants=grants, is_checked=is_checked, **settings)
        )

    def update(
        self,
        source_id: str,
        *,
        name: str | None = None,
        is_checked: bool = True,
        **settings: Unpack[SourceSettings],
    ) -> SourceInfo:
        """Change a source; what is not named stays, its credential too."""
        return self._portal.call(
            self._calls.update(source_id, name=name, is_checked=is_checked, **settings)
        )

    def set_grants(self, source_id: str, grants: Iterable[Grant]) -> SourceInfo:
        """Say anew who may read a source."""
        return self._portal.call(self._calls.set_grants(source_id, grants))

    def refresh(self, source_id: str) -> CatalogueSummary:
        """Look at a source now. If it is down, `problem` says so."""
        return self._portal.call(self._calls.refresh(source_id))

    def policies(self, source_id: str) -> Page[PolicyInfo]:
        """A source's policies, by name."""
        return self._portal.call(self._calls.policies(source_id))

    def create_policy(self, source_id: str, name: str, rules: Mapping[str, Any]) -> PolicyInfo:
        """Add a policy: `rules` say to whom it speaks, and what of which tables.

        Raises:
            InvalidError: it does not fit the source.
        """
        return self._portal.call(self._calls.create_policy(source_id, name, rules))

    def replace_policy(
        self, source_id: str, policy_id: str, name: str, rules: Mapping[str, Any]
    ) -> PolicyInfo:
        """Put another policy in a policy's place."""
        return self._portal.call(self._calls.replace_policy(source_id, policy_id, name, rules))

    def delete_policy(self, source_id: str, policy_id: str) -> None:
        """Remove a policy."""
        return self._portal.call(self._calls.delete_policy(source_id, policy_id))

    def attributes(self, user_id: str) -> UserAttributes:
        """What row filters may ask about a user."""
        return self._portal.call(self._calls.attributes(user_id))

    def set_attributes(self, user_id: str, attributes: Mapping[str, Any]) -> UserAttributes:
        """Say all of it anew; what is not named is forgotten."""
        return self._portal.call(self._calls.set_attributes(user_id, attributes))
