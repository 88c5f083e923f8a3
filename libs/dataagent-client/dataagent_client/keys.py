"""API keys as `client.keys`: the caller's own; another user's for administrators."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from dataagent_client.http import Http, child_path
from dataagent_client.models import Page, parse_page
from dataagent_client.parsing import json_field, make_parser

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
    """A key that was just made; nobody can ask for `key` again."""

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
