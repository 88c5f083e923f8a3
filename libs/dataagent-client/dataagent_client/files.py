"""The caller's files as `client.files`: uploads, and files that tools made.

Content is streamed in both directions; no file is held in memory unless its bytes are requested.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO
from uuid import uuid4

from dataagent_client.errors import ClientError
from dataagent_client.http import FilePart, Http, child_path
from dataagent_client.models import Page, parse_page
from dataagent_client.parsing import make_parser

_ALL = "files"
Content = bytes | Path | IO[bytes]
"""What can be uploaded: bytes, the path of a file, or a file that is open for reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """A file that was just sent. Its id goes into `file_ids` of a chat."""

    file_id: str
    filename: str
    size: int
    content_type: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo(UploadedFile):
    """A file of the caller's; `origin` is `upload` or `generated`."""

    origin: str
    session_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class FilePreview:
    """The text of a file, or its beginning."""

    file_id: str
    filename: str
    content: str
    truncated: bool


_uploaded = make_parser(UploadedFile, "file")
_file = make_parser(FileInfo, "file")
_preview = make_parser(FilePreview, "file")


class FileCalls:
    """What the caller keeps on the server."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def upload(self, content: Content, *, filename: str | None = None) -> UploadedFile:
        """Send a file. Bytes need a `filename`; a file's own name is used otherwise.

        Raises:
            InvalidError: it is not what its name says, or of a kind that is not taken.
            LimitError: it is too large, or the caller's space is used up.
        """
        async with open_content(content, filename) as part:
            return _uploaded(await self._http.send_form("files/upload", [part], is_web=True))

    async def list(self, *, limit: int = 100, offset: int = 0) -> Page[FileInfo]:
        """The caller's files, the newest first."""
        params = {"limit": limit, "offset": offset}
        return parse_page(await self._http.request("GET", _ALL, params=params, is_web=True), _file)

    async def content(self, file_id: str) -> FilePreview:
        """The beginning of a file, as text."""
        path = f"{child_path(_ALL, file_id)}/content"
        return _preview(await self._http.request("GET", path, is_web=True))

    async def stream(self, file_id: str) -> AsyncGenerator[bytes]:
        """A file's bytes as they arrive."""
        async with self._http.stream(
            f"{child_path(_ALL, file_id)}/download", is_web=True
        ) as chunks:
            async for chunk in chunks:
                yield chunk

    async def stream_named(self, file_id: str, filename: str) -> AsyncGenerator[bytes]:
        """As `stream`, at the address that links of tools have; `filename` must be the file's."""
        path = child_path(child_path(_ALL, file_id), filename)
        async with self._http.stream(path, is_web=True) as chunks:
            async for chunk in chunks:
                yield chunk

    async def read(self, file_id: str) -> bytes:
        """A file's bytes, all at once."""
        async with aclosing(self.stream(file_id)) as chunks:
            return b"".join([chunk async for chunk in chunks])

    async def download(self, file_id: str, target: Path) -> Path:
        """Save a file; if that fails, what was at `target` is still there."""
        return await save(self.stream(file_id), target)

    async def delete(self, file_id: str) -> None:
        """Delete a file."""
        await self._http.request("DELETE", child_path(_ALL, file_id), is_web=True)


@asynccontextmanager
async def open_content(content: Content, filename: str | None = None) -> AsyncGenerator[FilePart]:
    """What is to be sent, as a part of a form. A file that we open is closed again."""
    name = filename or getattr(content, "name", None)
    if not isinstance(name, str):
        raise ClientError("What is sent has no name. Say one: filename='sales.csv'.")
    if not isinstance(content, Path):
        yield FilePart(Path(name).name, content)
        return
    with await asyncio.to_thread(content.open, "rb") as file:
        yield FilePart(name, file)


async def save(chunks: AsyncGenerator[bytes], target: Path) -> Path:
    """Write what arrives beside the target, and put it in its place when it is whole."""
    partial = target.with_name(f".{uuid4().hex}.part")  # a name of its own
    try:
        async with aclosing(chunks):
            with await asyncio.to_thread(partial.open, "xb") as file:
                async for chunk in chunks:
                    await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(partial.replace, target)
    finally:
        partial.unlink(missing_ok=True)
    return target
