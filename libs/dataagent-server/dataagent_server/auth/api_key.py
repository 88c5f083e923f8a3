"""The keys an operator lists in `DATAAGENT_API_KEYS` and `DATAAGENT_ADMIN_API_KEYS`.

`user_id:key` belongs to that user. A bare `key` is a service credential: it acts for the user named
in `X-User-Id`, or for `default`. `Authenticator` uses them among other credentials; another
FastAPI application can use them as a dependency: `Depends(APIKeyAuth(["a-key"]))`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import HTTPException
from starlette.requests import HTTPConnection

from dataagent_core.errors import BadInput
from dataagent_core.identity import Principal, UserRole
from dataagent_server.auth.credentials import read_credentials

DEFAULT_USER = "default"
_MAX_KEY = 512
WRONG_KEY = "The API key is not valid."
_USER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class _Key:
    digest: bytes
    user_id: str | None
    role: UserRole


class APIKeyAuth:
    """The operator's keys, held as hashes."""

    def __init__(
        self,
        api_keys: Iterable[str] = (),
        disabled: bool = False,
        *,
        admin_api_keys: Iterable[str] = (),
    ) -> None:
        """With `disabled` no key is required."""
        self.disabled = disabled
        self._keys = [_parsed(key, "admin") for key in admin_api_keys]
        self._keys += [_parsed(key, "user") for key in api_keys]

    async def __call__(self, request: HTTPConnection) -> str | None:
        """The key of a request or handshake in `X-API-Key`; None if none is required.

        Raises:
            HTTPException: 401, the key is missing or unknown.
        """
        if self.disabled:
            return None
        key = read_credentials(request.headers).api_key
        if key is None or self.resolve(key, None) is None:
            message = "The X-API-Key header is missing." if key is None else WRONG_KEY
            raise HTTPException(401, message, headers={"WWW-Authenticate": "X-API-Key"})
        return key

    def resolve(self, presented: str, acting_for: str | None) -> Principal | None:
        """The caller of a key, or None, in constant time.

        Raises:
            BadInput: the service key is valid and `X-User-Id` cannot be a user's id.
        """
        if not is_key(presented):
            return None
        digest = _digest(presented)
        found: _Key | None = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest) and found is None:
                found = key
        if found is None:
            return None
        if found.user_id is not None:
            return Principal(found.user_id, found.role, "api_key")
        return Principal(acting_user(acting_for), found.role, "service_key")

    def role_of(self, user_id: str) -> UserRole | None:
        """The role of a user whom a key names; None if none does."""
        # administrators' keys are first
        return next((key.role for key in self._keys if key.user_id == user_id), None)


def is_key(presented: str) -> bool:
    """Whether a text can be a key at all."""
    return 0 < len(presented) <= _MAX_KEY and presented.isascii()


def acting_user(user_id: str | None) -> str:
    """The user a service acts for.

    Raises:
        BadInput: the id is not a valid user id.
    """
    if user_id is None:
        return DEFAULT_USER
    if not _USER_ID.fullmatch(user_id):
        raise BadInput("X-User-Id is 1 to 64 letters, digits, '_', '.', '@' or '-'.")
    return user_id


def _parsed(key: str, role: UserRole) -> _Key:
    user_id, colon, secret = key.partition(":")
    if colon and secret and _USER_ID.fullmatch(user_id):
        return _Key(_digest(secret), user_id, role)
    return _Key(_digest(key), None, role)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()
