"""A deepagents backend whose async side is the real one.

deepagents' default is the reverse: `aread` is `asyncio.to_thread(self.read)`, which shares the
loop's default executor with everything else. Here subclasses write the `a*` methods and inherit
blocking twins.
"""

from __future__ import annotations

from abc import abstractmethod

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

from dataagent_core.workspace.blocking import run_blocking


class AsyncBackend(BackendProtocol):
    """Blocking methods derived from the async ones; see `BackendProtocol` for what each does."""

    @abstractmethod
    async def als(self, path: str) -> LsResult:
        """List a directory."""

    @abstractmethod
    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines, or a picture as base64."""

    @abstractmethod
    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find lines that contain a literal text."""

    @abstractmethod
    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name."""

    @abstractmethod
    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Create or replace a text file."""

    @abstractmethod
    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replace text in a file."""

    @abstractmethod
    async def adelete(self, file_path: str) -> DeleteResult:
        """Delete a file or directory."""

    @abstractmethod
    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store files."""

    @abstractmethod
    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Fetch files whole."""

    def ls(self, path: str) -> LsResult:
        """Blocking twin of `als`."""
        return run_blocking(self.als(path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Blocking twin of `aread`."""
        return run_blocking(self.aread(file_path, offset, limit))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Blocking twin of `agrep`."""
        return run_blocking(self.agrep(pattern, path, glob, max_count=max_count))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Blocking twin of `aglob`."""
        return run_blocking(self.aglob(pattern, path))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Blocking twin of `awrite`."""
        return run_blocking(self.awrite(file_path, content))

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Blocking twin of `aedit`."""
        return run_blocking(self.aedit(file_path, old_string, new_string, replace_all))

    def delete(self, file_path: str) -> DeleteResult:
        """Blocking twin of `adelete`."""
        return run_blocking(self.adelete(file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Blocking twin of `aupload_files`."""
        return run_blocking(self.aupload_files(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Blocking twin of `adownload_files`."""
        return run_blocking(self.adownload_files(paths))
