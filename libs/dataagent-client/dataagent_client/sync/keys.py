"""The sync twin of `keys.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from dataagent_client.keys import ApiKeyInfo, KeyCalls, NewApiKey
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal


class SyncKeyCalls:
    """Keys of an account, for programs. `user_id` names another user; for administrators."""

    def __init__(self, portal: Portal, calls: KeyCalls) -> None:
        self._portal = portal
        self._calls = calls

    def list(self, *, user_id: str | None = None) -> Page[ApiKeyInfo]:
        """The keys, oldest first."""
        return self._portal.call(self._calls.list(user_id=user_id))

    def create(self, name: str, *, user_id: str | None = None) -> NewApiKey:
        """Make a key. `ConflictError` for a caller without an account."""
        return self._portal.call(self._calls.create(name, user_id=user_id))

    def revoke(self, key_id: str, *, user_id: str | None = None) -> None:
        """End a key, at once."""
        return self._portal.call(self._calls.revoke(key_id, user_id=user_id))
