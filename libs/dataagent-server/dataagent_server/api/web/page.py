"""`/` and the other pages of the web app: its HTML, under a strict policy, and its files.

The page is public: it shows no data and asks for a login itself. The app decides which view a path
shows; here a path only has to be one of the app's.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from http import HTTPStatus

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from dataagent_core.errors import NotFound
from dataagent_server.api.deps import WebAppDep
from dataagent_server.deps.web_app import WebApp

router = APIRouter(tags=["page"], include_in_schema=False)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    "Permissions-Policy": (
        "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FILE_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Vary": "Accept-Encoding",
}
_NOT_BUILT = """\
<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>DataAgent</title></head>
  <body>
    <h1>DataAgent is running, its web app is not built yet</h1>
    <p>Build it with <code>make web</code> (or <code>make run</code>, which does it first) and
    load this page again. The API works meanwhile: <a href="/openapi.json">/openapi.json</a>
    describes it.</p>
  </body>
</html>
"""
_NOT_PAGES = frozenset({"api", "assets", "mcp", "metrics", "openapi.json", "ws"})
_NO_GZIP = re.compile(r"gzip\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$)")


@router.get("/")
@router.get("/docs")
@router.get("/chat/{view:path}")
@router.get("/data")
@router.get("/data/{view:path}")
@router.get("/mcp-servers")
@router.get("/settings")
@router.get("/admin")
@router.get("/admin/{view:path}")
async def page(app: WebAppDep) -> HTMLResponse:
    """The app's page, or instructions to build it."""
    return app_page(app)


def not_found_page(request: Request) -> HTMLResponse | None:
    """The app's page for a browser at an unknown path; None for other clients."""
    first = request.url.path.split("/", 2)[1]
    is_browser = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    if not is_browser or first in _NOT_PAGES:
        return None
    return app_page(request.app.state.container.web, HTTPStatus.NOT_FOUND)


def app_page(app: WebApp, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
    """The app's page, with its content security policy."""
    nonce = secrets.token_urlsafe(16)
    text = app.page(nonce)
    headers = {**_PAGE_HEADERS, "Content-Security-Policy": _POLICY.format(nonce=nonce)}
    if text is None:
        return HTMLResponse(_NOT_BUILT, HTTPStatus.SERVICE_UNAVAILABLE, headers)
    return HTMLResponse(text, status, headers)


@router.get("/assets/{name}")
async def page_file(name: str, request: Request, app: WebAppDep) -> Response:
    """A file of the page; its name changes with its content, so it may be cached forever."""
    asset = await asyncio.to_thread(app.asset, name)
    if asset is None:
        raise NotFound("There is no such file.")
    headers = dict(_FILE_HEADERS)
    content = asset.plain
    if asset.packed is not None and accepts_gzip(request.headers.get("accept-encoding", "")):
        headers["Content-Encoding"] = "gzip"
        content = asset.packed
    return Response(content, media_type=asset.media_type, headers=headers)


def accepts_gzip(accepted: str) -> bool:
    """Whether this `Accept-Encoding` includes gzip."""
    accepted = accepted.lower()
    return "gzip" in accepted and _NO_GZIP.search(accepted) is None
