"""The sync twin of `auth.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from dataagent_client.auth import ApiKeyInfo, AuthCalls, KeyCalls, NewApiKey, UserInfo
from dataagent_client.models import Page, TenantInvitation, TenantMember
from dataagent_client.sync.portal import Portal


class SyncAuthCalls:
    """Who the client is."""

    def __init__(self, portal: Portal, calls: AuthCalls) -> None:
        self._portal = portal
        self._calls = calls

    def log_in(self, username: str, password: str) -> UserInfo:
        """Log in; every request from now on is this user's. For 24 hours.

        Raises:
            ClientError: the client has a key or a token already, which would count instead.
            NotAuthenticatedError: wrong name or password.
            LimitError: too many attempts.
        """
        return self._portal.call(self._calls.log_in(username, password))

    def log_out(self) -> None:
        """End the login, for copies of it too."""
        return self._portal.call(self._calls.log_out())

    def me(self) -> UserInfo:
        """The caller."""
        return self._portal.call(self._calls.me())

    def change_password(
        self, old_password: str, new_password: str, *, keep_keys: bool = False
    ) -> UserInfo:
        """Change the caller's password. Ends their other logins and, unless kept, their keys."""
        return self._portal.call(
            self._calls.change_password(old_password, new_password, keep_keys=keep_keys)
        )

    def invitations(self) -> Page[TenantInvitation]:
        """The tenants the caller may join."""
        return self._portal.call(self._calls.invitations())

    def accept_invitation(self, tenant_id: str) -> TenantMember:
        """Join a tenant; its limits and switches hold for the caller at once."""
        return self._portal.call(self._calls.accept_invitation(tenant_id))


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
