"""`/login`: the web app's login page, and login by a one-time link.

Opening such a link changes nothing, since mail programs and chat previews open links too. The page
has a button that posts the link's token, in a plain form that needs no scripts.
"""

from __future__ import annotations

import secrets
from html import escape
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dataagent_core.errors import NotAuthenticated
from dataagent_core.telemetry import bind_user
from dataagent_server.api.deps import ContainerDep, WebAppDep
from dataagent_server.api.route import PublicRoute
from dataagent_server.api.web.page import app_page
from dataagent_server.auth import read_credentials, set_login_cookie

router = APIRouter(tags=["login"], include_in_schema=False, route_class=PublicRoute)
_PAGE = """\
<!doctype html>
<html lang="{language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>DataAgent</title>
    <style nonce="{nonce}">
      :root {{ color-scheme: light dark }}
      body {{ display: grid; place-content: center; justify-items: center; min-height: 90vh;
              font: 1rem/1.5 system-ui, sans-serif; text-align: center }}
      button {{ font: inherit; padding: 0.5rem 2rem }}
    </style>
  </head>
  <body>
    <h1>DataAgent</h1>
    {content}
  </body>
</html>
"""
_FORM = """\
<form method="post" action="/login">
      <input type="hidden" name="token" value="{token}">
      <button type="submit" autofocus>{label}</button>
    </form>"""
_TEXTS = {
    "en": {
        "label": "Log in",
        "refused": (
            "This login link was used already or is too old. Make another with "
            '<code>dataagent-server user link</code>, or <a href="/login">sign in</a>.'
        ),
    },
    "zh": {
        "label": "登录",
        "refused": (
            "此登录链接已使用过或已过期。"
            "请用 <code>dataagent-server user link</code> 生成新的链接，"
            '或<a href="/login">登录</a>。'
        ),
    },
}
_POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# With `no-referrer` a browser would send no usable `Origin` with the form. This sends the origin
# alone, without the token.
_REFERRER = "strict-origin"


@router.get("/login", operation_id="login_page")
async def login_page(request: Request, app: WebAppDep, token: str = "") -> HTMLResponse:
    """The web app's login form or, with a token, a button to log in by link.

    The token is checked when the button is pressed.
    """
    if not token:
        return app_page(app)
    language = _language(request)
    label = _TEXTS[language]["label"]
    return _page(language, _FORM.format(token=escape(token), label=label), HTTPStatus.OK)


@router.post("/login", operation_id="login_by_link")
async def login_by_link(
    request: Request, container: ContainerDep, token: Annotated[str, Form()] = ""
) -> Response:
    """Exchange a login link for a cookie and show the web app."""
    container.auth.refuse_foreign_page(read_credentials(request.headers))
    user_id = await container.users.links.redeem(token)
    user = None if user_id is None else await container.users.get(user_id)
    if user is None or not user.is_active:
        return _refusal(request)
    bind_user(user.user_id, via="link")  # for the audit log: the response does not name the user
    await container.prepare_workspace(user)
    response = RedirectResponse("/", status_code=303)
    set_login_cookie(request, response, container.tokens, user)
    return response


def _refusal(request: Request) -> Response:
    """A page for a browser.

    Raises:
        NotAuthenticated: the client is a program.
    """
    if "text/html" not in request.headers.get("accept", ""):
        raise NotAuthenticated(
            "This login link was used already or is too old. Make another with "
            "`dataagent-server user link`."
        )
    language = _language(request)
    content = f"<p>{_TEXTS[language]['refused']}</p>"
    return _page(language, content, HTTPStatus.UNAUTHORIZED)


def _language(request: Request) -> str:
    accepted = request.headers.get("accept-language", "").lower()
    return "zh" if accepted.startswith("zh") else "en"


def _page(language: str, content: str, status: HTTPStatus) -> HTMLResponse:
    nonce = secrets.token_urlsafe(16)
    text = _PAGE.format(language=language, nonce=nonce, content=content)
    policy = _POLICY.format(nonce=nonce)
    return HTMLResponse(
        text, status, {"Content-Security-Policy": policy, "Referrer-Policy": _REFERRER}
    )
