"""Login with name and password as `client.auth`, and API keys as `client.keys`.

A login is a cookie, as in a browser: the client stores it, sends it over HTTP and WebSocket, and
sends the origin that the server requires with cookies. Keys and tokens need no login.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from dataagent_client.http import Http, child_path
from dataagent_client.models import (
    Page,
    TenantInvitation,
    TenantMember,
    parse_invitation,
    parse_member,
    parse_page,
)
from dataagent_client.parsing import json_field, make_parser


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInfo:
    """An account, or a caller without one."""

    user_id: str = json_field("id")
    username: str
    role: str
    """`admin` or `user`."""
    status: str
    """`active` or `disabled`."""
    created_at: datetime | None


parse_user = make_parser(UserInfo, "user")


class AuthCalls:
    """Who the client is."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def log_in(self, username: str, password: str) -> UserInfo:
        """Log in; every request from now on is this user's. For 24 hours.

        Raises:
            ClientError: the client has a key or a token already, which would count instead.
            NotAuthenticatedError: wrong name or password.
            LimitError: too many attempts.
        """
        self._http.refuse_two_credentials()
        body = {"username": username, "password": password}
        return parse_user(await self._http.request("POST", "auth/login", body=body, is_web=True))

    async def log_out(self) -> None:
        """End the login, for copies of it too."""
        await self._http.request("POST", "auth/logout", is_web=True, is_repeatable=True)

    async def me(self) -> UserInfo:
        """The caller."""
        return parse_user(await self._http.request("GET", "auth/me", is_web=True))

    async def change_password(
        self, old_password: str, new_password: str, *, keep_keys: bool = False
    ) -> UserInfo:
        """Change the caller's password. Ends their other logins and, unless kept, their keys."""
        body = {
            "old_password": old_password,
            "new_password": new_password,
            "keep_keys": keep_keys,
        }
        return parse_user(await self._http.request("POST", "auth/password", body=body, is_web=True))

    async def invitations(self) -> Page[TenantInvitation]:
        """The tenants the caller may join."""
        return parse_page(await self._http.request("GET", "invitations"), parse_invitation)

    async def accept_invitation(self, tenant_id: str) -> TenantMember:
        """Join a tenant; its limits and switches hold for the caller at once."""
        path = f"{child_path('invitations', tenant_id)}/accept"
        return parse_member(await self._http.request("POST", path))


_ALL = "api-keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyInfo:
    """A key, known by its first characters."""

    key_id: str = json_field("id")
    name: str
    prefix: str
    created_at: datetime
    last_used: datetime | None
    created_by: str | None
    """The name of who made it, or their id; None if that was not stored yet."""
    is_by_other: bool
    """Whether someone else made it for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey(ApiKeyInfo):
    """A new key; `key` is returned only once."""

    key: str = field(repr=False)


_key = make_parser(ApiKeyInfo, "key")
_new = make_parser(NewApiKey, "key")


class KeyCalls:
    """Keys of an account, for programs. `user_id` names another user; for administrators."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self, *, user_id: str | None = None) -> Page[ApiKeyInfo]:
        """The keys, oldest first."""
        params = {"user_id": user_id}
        return parse_page(await self._http.request("GET", _ALL, params=params), _key)

    async def create(self, name: str, *, user_id: str | None = None) -> NewApiKey:
        """Make a key. `ConflictError` for a caller without an account."""
        params = {"user_id": user_id}
        return _new(await self._http.request("POST", _ALL, body={"name": name}, params=params))

    async def revoke(self, key_id: str, *, user_id: str | None = None) -> None:
        """End a key, at once."""
        params = {"user_id": user_id}
        await self._http.request("DELETE", child_path(_ALL, key_id), params=params)
