"""Directories as deepagents backends: confined, with a quota, never raising.

`SandboxedFilesystemBackend` serves a user's workspace to the file tools (`ls`, `read_file`,
`write_file`, …), `FolderBackend` any other directory. Errors are results that name virtual paths
only. Bytes are reserved before they are written. All I/O runs in `FileWorkers`. Code is confined
elsewhere (`sandbox/`).

deepagents' own default runs `aread` as `asyncio.to_thread(self.read)`, which shares the loop's
executor with everything else. In `AsyncBackend` it is the reverse: subclasses implement the `a*`
methods and inherit blocking versions.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import (
    # read_file decides by the same rule
    _get_backend_read_file_type,  # pyright: ignore[reportPrivateUsage]
    perform_string_replacement,
)

from dataagent_core.errors import BadInput, OutsideWorkspace, QuotaExceeded
from dataagent_core.workspace import files as disk
from dataagent_core.workspace import search
from dataagent_core.workspace.files import FileProblem, explain, transfer_code
from dataagent_core.workspace.jail import Jail, split_path
from dataagent_core.workspace.quota import QuotaLedger
from dataagent_core.workspace.workers import FileWorkers, run_blocking, run_to_completion

if TYPE_CHECKING:
    from dataagent_core.workspace.manager import UserWorkspaceManager


class AsyncBackend(BackendProtocol):
    """Derives the blocking methods from the async ones; see `BackendProtocol` for each."""

    @abstractmethod
    async def als(self, path: str) -> LsResult:
        """List a directory."""

    @abstractmethod
    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a range of lines, or an image as base64."""

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


FOLDERS = frozenset({"files", "uploads", "outputs"})
"""What every workspace has, and keeps."""
_GREP_SECONDS = 15.0
_GLOB_SECONDS = 5.0
_EDIT_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class WriteQuota:
    """Whose bytes are counted, and the limit."""

    ledger: QuotaLedger
    user_id: str
    quota: Callable[[], int]  # asked with each write: it may change while files are open
    max_file_bytes: int | None = None


class FolderBackend(AsyncBackend):
    """The files below one directory. Without a quota it is read-only."""

    def __init__(
        self,
        root: Path,
        workers: FileWorkers,
        *,
        write_quota: WriteQuota | None = None,
        protected: frozenset[str] = frozenset(),
    ) -> None:
        """Serve `root`; the `protected` top-level names cannot be deleted."""
        self._jail = Jail(root)
        self._workers = workers
        self._write_quota = write_quota
        self._protected = protected
        self._writing = threading.Lock()  # held by worker threads, never by the loop

    # -- reading ----------------------------------------------------------------------------

    async def als(self, path: str) -> LsResult:
        """As `BackendProtocol.als`."""
        try:
            return LsResult(
                entries=await self._workers.run(partial(disk.listing, self._jail, path))
            )
        except FileProblem as error:
            return LsResult(error=explain("list", path, error))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """As `BackendProtocol.aread`."""
        try:
            return await self._workers.run(partial(self._read, file_path, offset, limit))
        except FileProblem as error:
            return ReadResult(error=explain("read", file_path, error))

    def _read(self, path: str, offset: int, limit: int) -> ReadResult:
        if _get_backend_read_file_type(path) == "text":
            return disk.read_window(self._jail, path, offset, limit)
        content = disk.read_whole(self._jail, path, limit=disk.WHOLE_READ_LIMIT)
        encoded = base64.standard_b64encode(content).decode("ascii")
        return ReadResult(file_data=FileData(content=encoded, encoding="base64"))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """As `BackendProtocol.adownload_files`."""
        return [await self._download(path) for path in paths]

    async def _download(self, path: str) -> FileDownloadResponse:
        try:
            content = await self._workers.run(partial(disk.read_whole, self._jail, path))
        except FileProblem as error:
            return FileDownloadResponse(path=path, error=transfer_code(error))
        return FileDownloadResponse(path=path, content=content)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """As `BackendProtocol.aglob`."""
        budget = search.Budget(_GLOB_SECONDS)
        work = partial(search.glob, self._jail, pattern, self._scope(path), budget)
        try:
            return await self._search(work, budget)
        except search.InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        except FileProblem as error:
            return GlobResult(error=explain("search", path or "/", error))

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """As `BackendProtocol.agrep`."""
        budget = search.Budget(_GREP_SECONDS)
        work = partial(
            search.grep,
            self._jail,
            pattern,
            self._scope(path),
            include=glob,
            max_count=max_count,
            budget=budget,
        )
        try:
            return await self._search(work, budget)
        except search.InvalidGlobPatternError as error:
            return GrepResult(error=str(error))
        except FileProblem as error:
            return GrepResult(error=explain("search", path or "/", error))

    def _scope(self, path: str | None) -> search.SearchScope:
        """Return where a search looks."""
        return search.SearchScope(path or "/")

    async def _search(
        self, work: Callable[[], search.Outcome], budget: search.Budget
    ) -> search.Outcome:
        try:
            return await self._workers.search(work)
        except asyncio.CancelledError:
            budget.stop()
            raise

    # -- writing ----------------------------------------------------------------------------

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.awrite`; the file is replaced whole or unchanged."""
        try:
            await run_to_completion(self._store(file_path, content.encode()))
        except FileProblem as error:
            return WriteResult(error=explain("write", file_path, error))
        return WriteResult(path=file_path)

    async def put(self, path: str, content: bytes) -> None:
        """As `awrite`, but raising errors.

        Raises:
            QuotaExceeded: it does not fit the quota.
            OutsideWorkspace: the path leads out.
            OSError: the path cannot be a file's.
        """
        await run_to_completion(self._store(path, content))

    async def size(self, path: str) -> int:
        """Return the file's size in bytes; 0 without a file.

        Raises:
            OutsideWorkspace: the path leads out.
        """
        return await self._workers.run(partial(disk.size_of, self._jail, path))

    async def remove(self, path: str) -> None:
        """As `adelete`, but raising errors.

        Raises:
            OutsideWorkspace: the path leads out.
            OSError: there is nothing, or it must stay.
        """
        await run_to_completion(self._remove(path))

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """As `BackendProtocol.aedit`; the file keeps its line endings."""
        try:
            return await run_to_completion(
                self._edit(file_path, old_string, new_string, replace_all)
            )
        except FileProblem as error:
            return EditResult(error=explain("edit", file_path, error))

    async def _edit(self, path: str, old: str, new: str, replace_all: bool) -> EditResult:
        for _ in range(_EDIT_ATTEMPTS):
            with suppress(disk.FileChanged):  # by another writer since we read it: look again
                return await self._edit_once(path, old, new, replace_all)
        return EditResult(error=f"'{path}' keeps changing while it is edited. Try again.")

    async def _edit_once(self, path: str, old: str, new: str, replace_all: bool) -> EditResult:
        read = partial(disk.read_whole, self._jail, path, limit=disk.WHOLE_READ_LIMIT)
        before = await self._workers.run(read)
        content = before.decode()
        outcome = perform_string_replacement(content, old, new, replace_all)
        if isinstance(outcome, str) and "\r\n" in content:
            old, new = _with_crlf(old), _with_crlf(new)
            outcome = perform_string_replacement(content, old, new, replace_all)
        if isinstance(outcome, str):
            return EditResult(error=outcome)
        await self._store(path, outcome[0].encode(), expected=before)
        return EditResult(path=path, occurrences=outcome[1])

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """As `BackendProtocol.aupload_files`."""
        return [await self._upload(path, content) for path, content in files]

    async def _upload(self, path: str, content: bytes) -> FileUploadResponse:
        try:
            await run_to_completion(self._store(path, content))
        except FileProblem as error:
            return FileUploadResponse(path=path, error=transfer_code(error))
        return FileUploadResponse(path=path)

    async def adelete(self, file_path: str) -> DeleteResult:
        """As `BackendProtocol.adelete`; a link is removed, not its target."""
        try:
            await run_to_completion(self._remove(file_path))
        except FileProblem as error:
            return DeleteResult(error=explain("delete", file_path, error))
        return DeleteResult(path=file_path)

    async def _store(self, path: str, content: bytes, expected: bytes | None = None) -> None:
        """Reserve, write, settle. A failed write releases its reservation."""
        write_quota = self._writable()
        _check_size(len(content), write_quota.max_file_bytes)
        before = await self._workers.run(partial(disk.size_of, self._jail, path))
        reserved = max(0, len(content) - before)
        if reserved:
            await write_quota.ledger.reserve(write_quota.user_id, reserved, write_quota.quota())
        grown = 0
        try:
            grown = await self._workers.run(partial(self._replace, path, content, expected))
        finally:
            if reserved != grown:
                await write_quota.ledger.release(write_quota.user_id, reserved - grown)

    def _replace(self, path: str, content: bytes, expected: bytes | None) -> int:
        with self._writing:
            if expected is not None and disk.read_whole(self._jail, path) != expected:
                raise disk.FileChanged
            return disk.replace(self._jail, path, content)

    async def _remove(self, path: str) -> None:
        write_quota = self._writable()
        steps = split_path(path)
        if len(steps) == 1 and steps[0] in self._protected:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        freed = await self._workers.run(partial(disk.remove, self._jail, path))
        await write_quota.ledger.release(write_quota.user_id, freed)

    def _writable(self) -> WriteQuota:
        if self._write_quota is None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return self._write_quota


class SandboxedFilesystemBackend(FolderBackend):
    """A user's workspace, created if needed. Nothing outside can be reached.

    Deepagents' methods are the file tools': paths begin at the workspace, and what goes wrong is in
    the result. `read_file` and `write_file` are for programs: paths are as Python takes them, below
    the workspace unless they are absolute, and what goes wrong is an exception.
    """

    def __init__(self, user_id: str, workspace_manager: UserWorkspaceManager) -> None:
        """Serve the workspace of a user.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        self._user_id = user_id
        self._manager = workspace_manager
        self._root = workspace_manager.ensure_user_workspace(user_id)
        self._is_booked = False
        super().__init__(
            self._root,
            workspace_manager.workers,
            write_quota=workspace_manager.write_quota(user_id),
            protected=FOLDERS,
        )

    async def read_file(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            PermissionError: it is outside the workspace.
            OSError: there is none, or it cannot be read.
        """
        inside = self._inside(path)
        with _refusals():
            content = await self._workers.run(partial(disk.read_whole, self._jail, inside))
        return content.decode()

    async def write_file(self, path: str, content: str) -> None:
        """Create or replace a file, with its folders.

        Raises:
            PermissionError: it is outside the workspace, or it does not fit the quota.
            OSError: the path cannot be a file's.
        """
        inside = self._inside(path)
        with _refusals():
            await self.put(inside, content.encode())

    def _inside(self, path: str) -> str:
        """Return the path below the workspace, with links resolved."""
        root = self._root.resolve()
        resolved = (root / path).resolve()
        if not resolved.is_relative_to(root):
            raise PermissionError(f"Access denied: path outside workspace: {path[:200]!r}")
        return resolved.relative_to(root).as_posix()

    async def _store(self, path: str, content: bytes, expected: bytes | None = None) -> None:
        if not self._is_booked:  # the ledger must know the user before it books
            await self._manager.usage(self._user_id)
            self._is_booked = True
        await super()._store(path, content, expected)


@contextmanager
def _refusals() -> Generator[None]:
    """Raise our refusals as Python's exceptions."""
    try:
        yield
    except OutsideWorkspace as error:
        raise PermissionError(error.message) from error
    except QuotaExceeded as error:
        raise PermissionError(f"Workspace quota exceeded. {error.message}") from error


def _check_size(size: int, most: int | None) -> None:
    if most is not None and size > most:
        raise BadInput(f"It would have {size} bytes; a file here has at most {most}. Shorten it.")


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
