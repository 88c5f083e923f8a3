"""The sync twin of `files.py`. Written by `make sync-client`: change the other."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from dataagent_client.files import Content, FileCalls, FileInfo, FilePreview, UploadedFile
from dataagent_client.models import Page
from dataagent_client.sync.portal import Portal, Stream


class SyncFileCalls:
    """What the caller keeps on the server."""

    def __init__(self, portal: Portal, calls: FileCalls) -> None:
        self._portal = portal
        self._calls = calls

    def upload(self, content: Content, *, filename: str | None = None) -> UploadedFile:
        """Send a file. Bytes need a `filename`; a file's own name is used otherwise.

        Raises:
            InvalidError: it is not what its name says, or of a kind that is not taken.
            LimitError: it is too large, or the caller's space is used up.
        """
        return self._portal.call(self._calls.upload(content, filename=filename))

    def list(self, *, limit: int = 100, offset: int = 0) -> Page[FileInfo]:
        """The caller's files, the newest first."""
        return self._portal.call(self._calls.list(limit=limit, offset=offset))

    def content(self, file_id: str) -> FilePreview:
        """The beginning of a file, as text."""
        return self._portal.call(self._calls.content(file_id))

    def stream(self, file_id: str) -> Generator[bytes]:
        """A file's bytes as they arrive."""
        stream = Stream[bytes](self._portal)
        return stream.read(self._calls.stream(file_id))

    def stream_named(self, file_id: str, filename: str) -> Generator[bytes]:
        """As `stream`, at the address that links of tools have; `filename` must be the file's."""
        stream = Stream[bytes](self._portal)
        return stream.read(self._calls.stream_named(file_id, filename))

    def read(self, file_id: str) -> bytes:
        """A file's bytes, all at once."""
        return self._portal.call(self._calls.read(file_id))

    def download(self, file_id: str, target: Path) -> Path:
        """Save a file; if that fails, what was at `target` is still there."""
        return self._portal.call(self._calls.download(file_id, target))

    def delete(self, file_id: str) -> None:
        """Delete a file."""
        return self._portal.call(self._calls.delete(file_id))
