"""A file sent to a person: its name made safe (pure), its bytes sent as they are made.

Pieces are made one at a time and only when the last one has been taken, so that a slow reader costs
a connection and nothing else; what blocks is made in a worker thread (`iterate_in_threads`). A
reader who leaves ends the making.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, suppress
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dataagent_core.workspace.workers import run_to_completion
from dataagent_server.api.disconnect import ClientDisconnected, run_while_connected
from dataagent_server.deps.capacity import Capacity

_PIECE = 64 * 1024  # what a slow reader must take before the transport gives it up
_MAX_NAME = 80
_UNSAFE = re.compile(r'[\\/:*?"<>|%;]')
_PLAIN = re.compile(r"[A-Za-z0-9]")
_EXTENSION = re.compile(r"[A-Za-z0-9]{1,10}")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ._()-]+")
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_PRIVATE = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
_INERT = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def file_name(title: str, extension: str) -> str:
    """A name for the file that every system takes, as near to the title as can be.

    Without an extension the name has none.
    """
    visible = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", title)
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    name = " ".join(_UNSAFE.sub("_", visible).split())[:_MAX_NAME].strip(" .")
    if not name or _DEVICE.match(name):
        name = f"result {name}".strip()
    return f"{name}.{extension}" if extension else name


def content_disposition(title: str, extension: str) -> str:
    """The header that names the file, in ASCII for old readers and in full for the others."""
    name = file_name(title, extension)
    letters = unicodedata.normalize("NFKD", name.removesuffix(f".{extension}"))
    bare = "".join(each for each in letters if not unicodedata.combining(each))
    plain = _NOT_PLAIN.sub("_", bare) if _PLAIN.search(bare) else "result"
    plain = f"{plain}.{extension}" if extension else plain
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def file_headers(title: str, extension: str) -> dict[str, str]:
    """The headers of a file that is saved and never shown as a page of ours."""
    return {
        "Content-Disposition": content_disposition(title, extension),
        "Content-Security-Policy": _INERT,
        **_PRIVATE,
    }


def named_headers(filename: str) -> dict[str, str]:
    """As `file_headers`, for a file that has its name already."""
    stem, dot, extension = filename.rpartition(".")
    if dot and stem and _EXTENSION.fullmatch(extension):
        return file_headers(stem, extension)
    return file_headers(filename, "")


class Download(Response):
    """A file that is made while it is sent, holding one of the server's slots."""

    def __init__(
        self,
        make: Callable[[], AsyncGenerator[bytes]],
        *,
        capacity: Capacity,
        headers: dict[str, str],
        media_type: str,
    ) -> None:
        super().__init__(headers=headers, media_type=media_type)
        del self.headers["content-length"]  # not known before it is made
        self._make = make
        self._capacity = capacity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make and send it. What fails before the first byte is answered as any error.

        Raises:
            TooManyConnections, UserLimit: there is no slot for the caller.
            Others: as making it does; after the first byte, the connection is cut.
        """
        with (
            self._capacity.slot(Request(scope).state.principal.user_id),
            suppress(ClientDisconnected),
        ):
            await run_while_connected(receive, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._make()) as pieces:
            piece = await anext(pieces, None)
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            while piece is not None:
                for at in range(0, len(piece), _PIECE):
                    body = piece[at : at + _PIECE]
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                piece = await anext(pieces, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def iterate_in_threads(make: Callable[[], Generator[bytes]]) -> Callable[[], AsyncGenerator[bytes]]:
    """What makes the same pieces in threads, none of which is ever left behind."""

    async def pieces() -> AsyncGenerator[bytes]:
        made = make()
        try:
            while (
                piece := await run_to_completion(run_in_threadpool(next, made, None))
            ) is not None:
                yield piece
        finally:
            await run_to_completion(run_in_threadpool(made.close))

    return pieces
