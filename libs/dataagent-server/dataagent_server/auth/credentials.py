"""What a caller brought along, read from headers. Pure: nothing here decides whether it is valid.

The query string is never looked at: addresses end up in logs and histories.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from dataagent_server.auth.tokens import COOKIE

_MAX_COOKIE_HEADER = 16 * 1024


@dataclass(frozen=True, slots=True)
class Credentials:
    """A caller's claims. At most one of `api_key`, `bearer` and `cookie` is used, in that order."""

    api_key: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)
    cookie: str | None = field(default=None, repr=False)
    acting_for: str | None = None
    origin: str | None = None
    host: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the caller brought no credential at all."""
        return self.api_key is None and self.bearer is None and self.cookie is None


def read_credentials(headers: Headers) -> Credentials:
    """The claims in a request's or a handshake's headers."""
    keys = headers.getlist("x-api-key")
    return Credentials(
        # two keys are no key: a proxy and a client that disagree must not be decided by order
        api_key=None if not keys else keys[0] if len(keys) == 1 else "",
        bearer=_bearer(headers.get("authorization")),
        cookie=_cookie(headers.get("cookie")),
        acting_for=headers.get("x-user-id"),
        origin=headers.get("origin"),
        host=headers.get("host"),
    )


def _bearer(header: str | None) -> str | None:
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _cookie(header: str | None) -> str | None:
    """Ours, whatever stands beside it: all programs of a host share one header."""
    if header is None or COOKIE not in header or len(header) > _MAX_COOKIE_HEADER:
        return None
    return cookie_parser(header).get(COOKIE)
