"""The login cookie: how it is set and taken away, for every route that does either. Pure.

Scripts cannot read it (HttpOnly), pages of other sites cannot send it with a write (SameSite=Lax),
and behind TLS it goes nowhere else (Secure).
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dataagent_core.identity.users import User
from dataagent_server.auth.tokens import COOKIE, LoginTokens


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
    """What the client used; a trusted proxy has said so in `X-Forwarded-Proto`."""
    return request.url.scheme == "https"
