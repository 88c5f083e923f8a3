"""Backends for a compiled graph, which serves all users.

A graph's backend cannot belong to a user. `WorkspaceBackend` and `MemoriesBackend` read the
`RunContext` of the current call and pass it on to that user's backend. `ThreadFiles` is deepagents'
own backend for files in the thread, with glob patterns matched here: deepagents matches by
backtracking, which many `**` make endless.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

from deepagents.backends import StateBackend
from deepagents.backends.protocol import (
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
from deepagents.backends.utils import InvalidGlobPatternError

from dataagent_core.identity import RunContext
from dataagent_core.workspace.backend import AsyncBackend, FolderBackend
from dataagent_core.workspace.current_run import run_context
from dataagent_core.workspace.manager import UserWorkspaceManager
from dataagent_core.workspace.path_patterns import IncludeGlob
from dataagent_core.workspace.search import Budget

_KEPT = 512
_USE_SECONDS = 3600.0  # opening says that the files are in use, which must not be said at each call


@dataclass(frozen=True, slots=True)
class _CachedBackend:
    backend: FolderBackend
    until: float


class _PerRunBackend(AsyncBackend):
    """Passes each call to the run's backend; recently used ones are cached."""

    def __init__(
        self, manager: UserWorkspaceManager, run: Callable[[], RunContext] = run_context
    ) -> None:
        """`run` returns the current run."""
        self._manager = manager
        self._run = run
        self._recent: OrderedDict[tuple[str, ...], _CachedBackend] = OrderedDict()

    @abstractmethod
    def _key(self, context: RunContext) -> tuple[str, ...]:
        """Return the key of the run's backend."""

    @abstractmethod
    async def _open(self, context: RunContext) -> FolderBackend:
        """Open the backend for a run."""

    async def _current_backend(self) -> FolderBackend:
        context = self._run()
        key = self._key(context)
        opened = self._recent.get(key)
        if opened is None or monotonic() > opened.until:
            backend = await self._open(context)
            held = self._recent.get(key)  # by another call meanwhile: edits wait for each other
            until = monotonic() + _USE_SECONDS
            opened = self._recent[key] = _CachedBackend(held.backend if held else backend, until)
            if len(self._recent) > _KEPT:
                self._recent.popitem(last=False)
        self._recent.move_to_end(key)
        return opened.backend

    async def als(self, path: str) -> LsResult:
        """As `BackendProtocol.als`."""
        return await (await self._current_backend()).als(path)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """As `BackendProtocol.aread`."""
        return await (await self._current_backend()).aread(file_path, offset, limit)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """As `BackendProtocol.agrep`."""
        return await (await self._current_backend()).agrep(pattern, path, glob, max_count=max_count)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """As `BackendProtocol.aglob`."""
        return await (await self._current_backend()).aglob(pattern, path)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """As `BackendProtocol.awrite`."""
        return await (await self._current_backend()).awrite(file_path, content)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """As `BackendProtocol.aedit`."""
        return await (await self._current_backend()).aedit(
            file_path, old_string, new_string, replace_all
        )

    async def adelete(self, file_path: str) -> DeleteResult:
        """As `BackendProtocol.adelete`."""
        return await (await self._current_backend()).adelete(file_path)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """As `BackendProtocol.aupload_files`."""
        return await (await self._current_backend()).aupload_files(files)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """As `BackendProtocol.adownload_files`."""
        return await (await self._current_backend()).adownload_files(paths)


class WorkspaceBackend(_PerRunBackend):
    """The workspace of the run's user."""

    def _key(self, context: RunContext) -> tuple[str, ...]:
        return (context.user_id,)

    async def _open(self, context: RunContext) -> FolderBackend:
        return await self._manager.open_workspace(context.user_id)


class MemoriesBackend(_PerRunBackend):
    """The memories the run's assistant has of the run's user."""

    def _key(self, context: RunContext) -> tuple[str, ...]:
        return (context.user_id, context.assistant_id)

    async def _open(self, context: RunContext) -> FolderBackend:
        return await self._manager.open_memories(context.user_id, context.assistant_id)


_EVERYTHING: Final = "{*,.*}"
_SECONDS: Final = 5.0


class ThreadFiles(StateBackend):
    """The files of a thread."""

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """As `BackendProtocol.glob`."""
        try:
            wanted = _GlobFilter(pattern, path)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        found = super().glob(_EVERYTHING, path)
        matches = [each for each in found.matches or [] if wanted.has(each["path"])]
        return GlobResult(matches=matches, truncated=wanted.is_cut, error=found.error)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """As `BackendProtocol.grep`."""
        if not glob:
            return super().grep(pattern, path, max_count=max_count)
        try:
            wanted = _GlobFilter(glob, path)
        except InvalidGlobPatternError as error:
            return GrepResult(error=str(error))
        found = super().grep(pattern, path)
        matches = [each for each in found.matches or [] if wanted.has(each["path"])]
        is_cut = wanted.is_cut or (max_count is not None and len(matches) > max_count)
        return GrepResult(matches=matches[:max_count], truncated=is_cut, error=found.error)


class _GlobFilter:
    """Matches files below a path against a pattern."""

    def __init__(self, pattern: str, path: str | None) -> None:
        self._glob = IncludeGlob(pattern)
        self._below = f"/{(path or '').strip('/')}".rstrip("/")
        self._budget = Budget(_SECONDS)

    @property
    def is_cut(self) -> bool:
        return self._budget.is_cut

    def has(self, path: str) -> bool:
        if not self._budget.count_entry():
            return False
        relative = path.removeprefix(f"{self._below}/")
        if path == self._below:  # the search begins at a file
            relative = path.rpartition("/")[2]
        return self._glob.matches(relative, self._budget.spend)
