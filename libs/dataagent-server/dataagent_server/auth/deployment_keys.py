"""The keys an operator lists in `DATAAGENT_API_KEYS` and `DATAAGENT_ADMIN_API_KEYS`. Pure.

`user_id:key` belongs to that user. A bare `key` is a service credential: it acts for the user named
in `X-User-Id`, or for `default`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dataagent_core.errors import BadInput
from dataagent_core.identity import Principal, UserRole

DEFAULT_USER = "default"
MAX_KEY = 512
_USER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class _Key:
    digest: bytes
    user_id: str | None
    role: UserRole


class DeploymentKeys:
    """The operator's keys, held as hashes."""

    def __init__(self, keys: Iterable[str], admin_keys: Iterable[str]) -> None:
        self._keys = [_parsed(key, "admin") for key in admin_keys]
        self._keys += [_parsed(key, "user") for key in keys]

    def resolve(self, presented: str, acting_for: str | None) -> Principal | None:
        """The caller behind a key, or None. Takes as long whichever key matches.

        Raises:
            BadInput: the service key is right and `X-User-Id` cannot be a user's id.
        """
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
        """What a user whom a key names may do; None if none names them."""
        # administrators' keys stand first
        return next((key.role for key in self._keys if key.user_id == user_id), None)


def acting_user(user_id: str | None) -> str:
    """The user a service acts for.

    Raises:
        BadInput: the id has characters no user id has.
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
