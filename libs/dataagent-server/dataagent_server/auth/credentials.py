"""Credentials in headers, login tokens, the login cookie, and the origin of a browser's request.

Credentials are read from headers only, never from the query string, which ends up in logs and
histories. A login token is a JWT (HS256, 24 hours by default): it says who; the database says
whether that user exists, is active, has the same password, has not logged out, and which role they
have. The cookie is HttpOnly, SameSite=Lax and, behind TLS, Secure. Since a browser adds it to
requests of any site's page, what it permits depends on `Origin`, which pages cannot forge.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import jwt
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response

from dataagent_core.errors import NotAuthenticated
from dataagent_core.identity import CredentialRef
from dataagent_core.identity.users import User, UserStore

COOKIE = "access_token"
LIFETIME = timedelta(hours=24)
_ALGORITHM = "HS256"
_ISSUER = "dataagent"
_MAX_TOKEN = 4096
_REFUSED = "The login is not valid or has ended. Log in again."


class LoginTokens:
    """Issues and verifies login tokens."""

    def __init__(self, secret: str, users: UserStore, *, lifetime: timedelta = LIFETIME) -> None:
        self._secret = secret
        self._users = users
        self.lifetime = lifetime

    def issue(self, user: User, *, lifetime: timedelta | None = None) -> str:
        """A token for the user."""
        moment = datetime.now(UTC)
        claims = {
            "iss": _ISSUER,
            "sub": user.user_id,
            "user_id": user.user_id,
            "role": user.role,  # informative; the database decides
            "iat": moment,
            "exp": moment + (self.lifetime if lifetime is None else lifetime),
            "jti": str(uuid4()),
            "stamp": user.stamp,
        }
        return jwt.encode(claims, self._secret, algorithm=_ALGORITHM)

    async def login_of(self, token: str) -> tuple[User, CredentialRef]:
        """The active user of a token, and a reference to this login.

        Raises:
            NotAuthenticated: forged, expired, logged out, or the user is disabled, deleted or has
                another password now.
        """
        claims = self._claims(token)
        user = await self._users.of_login(claims["sub"], claims["jti"])
        if user is None or not user.is_active or claims.get("stamp") != user.stamp:
            raise NotAuthenticated(_REFUSED)
        return user, CredentialRef(
            stamp=user.stamp, login_id=claims["jti"], expires_at=claims["exp"]
        )

    def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > _MAX_TOKEN or not token.isascii():
            raise NotAuthenticated(_REFUSED)
        try:
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=[_ALGORITHM],
                issuer=_ISSUER,
                options={"require": ["exp", "iat", "sub", "iss", "jti"]},
            )
            return {**claims, "exp": datetime.fromtimestamp(int(claims["exp"]), UTC)}
        except (jwt.PyJWTError, ValueError, OverflowError) as error:
            raise NotAuthenticated(_REFUSED) from error


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
        """Whether the caller sent no credential."""
        return self.api_key is None and self.bearer is None and self.cookie is None


def read_credentials(headers: Headers) -> Credentials:
    """The claims in a request's or a handshake's headers."""
    keys = headers.getlist("x-api-key")
    return Credentials(
        # two keys are invalid: their order must not decide between a proxy and a client
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
    """Our cookie of all in the header."""
    if header is None or COOKIE not in header or len(header) > _MAX_COOKIE_HEADER:
        return None
    return cookie_parser(header).get(COOKIE)


def set_login_cookie(request: Request, response: Response, tokens: LoginTokens, user: User) -> None:
    """Log the browser in with the response."""
    response.set_cookie(
        COOKIE,
        tokens.issue(user),
        max_age=int(tokens.lifetime.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=_is_behind_tls(request),
    )


def drop_login_cookie(request: Request, response: Response) -> None:
    """Log the browser out with the response."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=_is_behind_tls(request))


def _is_behind_tls(request: Request) -> bool:
    """Whether the client used TLS; a trusted proxy says so in `X-Forwarded-Proto`."""
    return request.url.scheme == "https"


_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_same_origin(origin: str | None, host: str | None, trusted: Collection[str] = ()) -> bool:
    """Whether the page is one of ours (its address is the request's `Host`) or is trusted.

    The scheme is not compared: behind a proxy that ends TLS the server cannot know it.
    """
    if origin is None or host is None:
        return False
    if origin in trusted:
        return True
    try:
        page = urlsplit(origin)
    except ValueError:  # not a URL, which no browser sends
        return False
    if page.scheme not in _DEFAULT_PORTS or page.path or page.query or page.fragment:
        return False
    default = _DEFAULT_PORTS[page.scheme]
    return _address(page.netloc, default) == _address(host, default) is not None


def is_unforgeable_host(host: str | None) -> bool:
    """Whether no outsider can own the name in `Host`: an IP address, or a name without dots.

    With authentication disabled this stops DNS rebinding: a page of `evil.example`, whose name
    resolves to 127.0.0.1, would otherwise count as one of ours.
    """
    address = _address(host or "", 80)
    if address is None:
        return False
    name = address[0]
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return "." not in name or name.endswith(".localhost")
    return True


def _address(netloc: str, default_port: int) -> tuple[str, int] | None:
    if "@" in netloc or not netloc:
        return None
    try:
        parts = urlsplit(f"//{netloc}")
        return (parts.hostname, parts.port or default_port) if parts.hostname else None
    except ValueError:
        return None
