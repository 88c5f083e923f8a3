"""`/`: a small built-in page to chat on, from files of this package, without inline script."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse

from dataagent_core.errors import NotFound

router = APIRouter(tags=["page"], include_in_schema=False)
_STATIC = Path(__file__).parents[2] / "static"
_TYPES = {"chat.js": "text/javascript", "chat.css": "text/css"}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
}


@router.get("/", operation_id="page")
async def page() -> FileResponse:
    """The page."""
    return FileResponse(_STATIC / "index.html", media_type="text/html", headers=_HEADERS)


@router.get("/static/{name}", operation_id="page_file")
async def page_file(name: str) -> FileResponse:
    """A file the page needs."""
    if name not in _TYPES:
        raise NotFound("There is no such file.")
    return FileResponse(_STATIC / name, media_type=_TYPES[name], headers=_HEADERS)
