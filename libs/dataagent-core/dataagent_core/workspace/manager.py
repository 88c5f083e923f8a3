"""Users' workspaces and memories: where they are, and their quota.

`{workspace_root}/{user_id}/` holds `files/`, `uploads/` and `outputs/`, and
`{memories_root}/{user_id}/{assistant_id}/` an assistant's memories of a user. User ids are made by
the server; one that could not be a plain directory name is refused here all the same. With a
project, which only a program for one person has, agents work in that folder instead; uploads and
outputs stay here, and the folder is never measured, archived or deleted. Access is decided by the
callers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dataagent_core.errors import OutsideWorkspace, QuotaExceeded
from dataagent_core.workspace.archive import WorkspaceArchive
from dataagent_core.workspace.backend import (
    FOLDERS,
    FolderBackend,
    SandboxedFilesystemBackend,
    WriteQuota,
)
from dataagent_core.workspace.files import TreeSize, measure, tree_size
from dataagent_core.workspace.jail import Jail
from dataagent_core.workspace.project import Project, ProjectBackend
from dataagent_core.workspace.quota import MemoryQuotaLedger, QuotaLedger
from dataagent_core.workspace.workers import FileWorkers

logger = logging.getLogger(__name__)
DEFAULT_QUOTA = 1024**3
MAX_MEMORY_BYTES = 256 * 1024
"""The size limit of a memory: its owner must be able to see it whole."""
_SOON_SECONDS = 1.0
_LAST_SECONDS = 5.0
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")


@dataclass(frozen=True, slots=True)
class WorkspaceSummary:
    """A user's workspace in figures. `path` is relative to the workspaces' root."""

    user_id: str
    path: str
    bytes_used: int
    quota: int
    files: int


class UserWorkspaceManager:
    """The workspaces of all users. Close it."""

    def __init__(
        self,
        workspace_root: Path,
        default_quota_bytes: int = DEFAULT_QUOTA,
        ledger: QuotaLedger | None = None,
        *,
        memories_root: Path | None = None,
        workers: FileWorkers | None = None,
        project: Project | None = None,
    ) -> None:
        """Memories are stored beside `workspace_root` by default.

        With a `project`, agents work there.
        """
        self._root = Path(workspace_root)
        self._memories_root = memories_root or self._root.parent / "memories"
        self._quota = default_quota_bytes
        self._ledger = ledger or MemoryQuotaLedger()
        self._workers = workers or FileWorkers()
        self._project = project
        self._archive = WorkspaceArchive(self._root)
        self._usage_sources: list[Callable[[str], Awaitable[int]]] = []
        self._quota_of: Callable[[str], int | None] | None = None
        self._booking: dict[str, asyncio.Task[None]] = {}
        self._closing = asyncio.Event()

    def set_quota_lookup(self, quota_of: Callable[[str], int | None]) -> None:
        """Set the function that returns a user's own quota, or None for the default."""
        self._quota_of = quota_of

    def add_usage_source(self, usage: Callable[[str], Awaitable[int]]) -> None:
        """Count bytes stored elsewhere (a user's artefacts, say) on the same quota."""
        self._usage_sources.append(usage)

    @property
    def root(self) -> Path:
        """The folder that contains the users' folders."""
        return self._root

    @property
    def workers(self) -> FileWorkers:
        """The threads for file work."""
        return self._workers

    @property
    def project(self) -> Project | None:
        """The project that agents work in instead of a workspace, if there is one."""
        return self._project

    # -- places -----------------------------------------------------------------------------

    def get_user_workspace(self, user_id: str) -> Path:
        """Return the directory the user's agents work in, which may not exist yet.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        kept = self._storage_path(user_id)
        return kept if self._project is None else self._project.root

    def _storage_path(self, user_id: str) -> Path:
        """Return the directory of the user's files."""
        return self._root / _checked_name(user_id)

    def ensure_user_workspace(self, user_id: str) -> Path:
        """Create the directory the user's agents work in, private to us, and return it.

        One that was archived comes back as it was. From now on it counts as used. A project is
        there already, and nothing is made in it.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        if self._project is not None:
            return self.get_user_workspace(user_id)
        return self._ensure_storage(user_id)

    def _ensure_storage(self, user_id: str) -> Path:
        with self._archive.in_use(_checked_name(user_id)) as workspace:
            workspace.mkdir(parents=True, exist_ok=True, mode=0o700)
            for folder in FOLDERS:
                (workspace / folder).mkdir(exist_ok=True)
        return workspace

    def is_archived(self, user_id: str) -> bool:
        """Whether any of the workspace is archived: one look at a directory."""
        return self._project is None and self._archive.has(_checked_name(user_id))

    async def prepare(self, user_id: str) -> Path:
        """As `ensure_user_workspace`, off the event loop."""
        return await self._workers.run(partial(self.ensure_user_workspace, user_id))

    async def prepare_storage(self, user_id: str) -> Path:
        """As `prepare`, for uploads and outputs, which are never in a project.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        return await self._workers.run(partial(self._ensure_storage, user_id))

    def memories_dir(self, user_id: str, assistant_id: str) -> Path:
        """Return the directory of an assistant's memories of a user.

        Raises:
            OutsideWorkspace: an id cannot be a directory's name.
        """
        return self._memories_root / _checked_name(user_id) / _checked_name(assistant_id)

    @property
    def memories_root(self) -> Path:
        """The directory of all memories."""
        return self._memories_root

    def user_memories_dir(self, user_id: str) -> Path:
        """Return the directory of all assistants' memories of a user.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        return self._memories_root / _checked_name(user_id)

    def has_memory(self, user_id: str, assistant_id: str, name: str) -> bool:
        """Whether a memory of that name exists: one look at the directory."""
        path = self.memories_dir(user_id, assistant_id) / name
        return os.path.exists(path)  # as `path.exists()`, which is slow to say no

    def validate_path(self, user_id: str, path: Path) -> bool:
        """Whether a host path, links resolved, is in the user's workspace."""
        try:
            workspace = self.get_user_workspace(user_id).resolve()
            return path.resolve().is_relative_to(workspace)
        except (
            OutsideWorkspace,
            OSError,
            ValueError,
            RuntimeError,
        ):  # RuntimeError: a loop of links
            return False

    # -- backends ---------------------------------------------------------------------------

    async def open_workspace(self, user_id: str) -> FolderBackend:
        """Return the user's workspace as a backend, created if needed.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        if self._project is not None:
            _checked_name(user_id)
            return ProjectBackend(self._project, self._workers)
        return await self._workers.run(partial(SandboxedFilesystemBackend, user_id, self))

    async def open_memories(self, user_id: str, assistant_id: str) -> FolderBackend:
        """Return an assistant's memories of the user as a backend, created if needed.

        Raises:
            OutsideWorkspace: an id cannot be a directory's name.
        """
        root = self.memories_dir(user_id, assistant_id)
        await self._workers.run(partial(_ensure_directory, root))
        await self.usage(user_id)  # the ledger must know the user before it books
        write_quota = self.write_quota(user_id, max_file_bytes=MAX_MEMORY_BYTES)
        return FolderBackend(root, self._workers, write_quota=write_quota)

    def open_read_only(self, root: Path) -> FolderBackend:
        """Return a directory without an owner (skills, say) as a read-only backend."""
        return FolderBackend(root, self._workers)

    def write_quota(self, user_id: str, *, max_file_bytes: int | None = None) -> WriteQuota:
        """Return the quota a backend writes on."""
        return WriteQuota(self._ledger, user_id, partial(self.quota, user_id), max_file_bytes)

    # -- quota ------------------------------------------------------------------------------

    def quota(self, user_id: str) -> int:
        """Return the user's quota in bytes.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        _checked_name(user_id)
        given = self._quota_of(user_id) if self._quota_of is not None else None
        return self._quota if given is None else given

    def get_workspace_usage(self, user_id: str) -> int:
        """Measure the user's files and memories on disk. Slow for a large tree."""
        memories = self._memories_root / _checked_name(user_id)
        return self._measure(user_id).bytes + tree_size(Jail(memories))

    def _measure(self, user_id: str) -> TreeSize:
        """Measure the user's files, archived ones included."""
        here, away = measure(Jail(self._storage_path(user_id))), self._archive.size_of(user_id)
        return TreeSize(here.bytes + away.bytes, here.files + away.files)

    def check_quota(self, user_id: str, additional_bytes: int = 0) -> bool:
        """Whether so many more bytes fit, measured on disk. Writes use the ledger instead."""
        return self.get_workspace_usage(user_id) + additional_bytes <= self.quota(user_id)

    async def usage(self, user_id: str) -> int:
        """Return the user's bytes in the ledger."""
        booked = await self._ledger.usage(user_id)
        if booked is not None:
            return booked
        actual = await self._actual(user_id)
        await self._ledger.initialize(user_id, actual)
        return actual

    async def reconcile(self, user_id: str) -> int:
        """Measure the user's bytes, store that in the ledger, and return it."""
        actual = await self._actual(user_id)
        await self._ledger.reconcile(user_id, actual)
        return actual

    def reconcile_soon(self, user_id: str) -> None:
        """Reconcile in the background; concurrent requests share one run."""
        if user_id not in self._booking:
            self._booking[user_id] = asyncio.create_task(self._book(user_id))

    async def _book(self, user_id: str) -> None:
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SOON_SECONDS):
                    await self._closing.wait()
            await self.reconcile(user_id)
        except Exception:
            logger.exception("the workspace of %s was not measured", user_id)
        finally:
            del self._booking[user_id]

    async def _actual(self, user_id: str) -> int:
        """Measure the user's files and what is stored elsewhere."""
        actual = await self._workers.search(partial(self.get_workspace_usage, user_id))
        for usage in self._usage_sources:
            actual += await usage(user_id)
        return actual

    async def correct(self, user_id: str) -> int | None:
        """Correct the ledger of a user it knows to what is measured.

        A process that died in the middle of a write had booked what it never wrote.
        """
        return await self._ledger.correct_if_quiet(user_id, partial(self._actual, user_id))

    async def correct_all(self) -> None:
        """Correct the ledger for everyone who has a workspace."""
        for user_id in await self._workers.search(lambda: [*_user_ids(self._root)]):
            await self.correct(user_id)

    async def reserve(self, user_id: str, size: int) -> None:
        """Reserve bytes before they are written.

        Raises:
            QuotaExceeded: they do not fit the quota.
            OutsideWorkspace: the id cannot be a directory's name.
        """
        quota = self.quota(user_id)
        try:
            await self._ledger.reserve(user_id, size, quota)
        except QuotaExceeded:  # perhaps of something that was never written
            await self.correct(user_id)
            await self._ledger.reserve(user_id, size, quota)

    async def release(self, user_id: str, size: int) -> None:
        """Release reserved bytes."""
        await self._ledger.release(user_id, size)

    async def summary(self, user_id: str) -> WorkspaceSummary:
        """Return the user's workspace in figures, without counting as a use.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        size = await self._workers.search(partial(self._measure, _checked_name(user_id)))
        booked = await self.correct(user_id)
        return WorkspaceSummary(
            user_id=user_id,
            path=f"{self._root.name}/{user_id}",
            bytes_used=size.bytes if booked is None else booked,
            quota=self.quota(user_id),
            files=size.files,
        )

    # -- ends -------------------------------------------------------------------------------

    async def archive_unused(self, unused_since: float) -> int:
        """Archive workspaces not used since, and return how many. The next use restores one."""
        packed = 0
        for user_id in await self._workers.search(lambda: [*_user_ids(self._root)]):
            work = partial(self._archive.archive, user_id, unused_since=unused_since)
            packed += await self._workers.search(work)
        return packed

    def cleanup_workspace(self, user_id: str) -> None:
        """Delete the user's files. `reconcile` then frees their bytes."""
        shutil.rmtree(self._storage_path(user_id), ignore_errors=False, onerror=_ignore_missing)
        self._archive.erase(user_id)

    async def aclose(self) -> None:
        """Finish the ledger's updates, then stop the worker threads."""
        self._closing.set()
        if self._booking:
            await asyncio.wait(self._booking.values(), timeout=_LAST_SECONDS)
        self.close()

    def close(self) -> None:
        """Stop the worker threads."""
        self._workers.close()


def _ensure_directory(directory: Path) -> None:
    """Create the directory if needed, and mark it as used."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.utime(directory)


def _user_ids(root: Path) -> Iterator[str]:
    """The ids that have a directory below a root, in order."""
    if not root.is_dir():
        return
    with os.scandir(root) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    yield from (name for name in names if _SAFE_ID.fullmatch(name))


def _checked_name(name: str) -> str:
    if not _SAFE_ID.fullmatch(name):
        raise OutsideWorkspace(
            f"Permission denied: {name[:80]!r} cannot name a workspace. Letters, digits and "
            "'_.@+-' only, at most 64, starting with a letter or digit."
        )
    return name


def _ignore_missing(
    _function: object, _path: str, problem: tuple[object, BaseException, object]
) -> None:
    if not isinstance(problem[1], FileNotFoundError):
        raise problem[1]
