"""Where each user's files and memories are, and how much of them there may be.

`{workspace_root}/{user_id}/` holds `files/`, `uploads/` and `outputs/`; `{memories_root}/{user_id}/
{assistant_id}/` holds an assistant's memory of a user. User ids are made by the server; one that
could not be a plain directory name is refused here all the same. Above: the backends, uploads, the
workspace API. Below: `jail.py`, `quota.py`. Whether the caller may see a user's workspace is not
decided here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from dataagent_core.errors import OutsideWorkspace
from dataagent_core.workspace.backend import Allowance, SandboxedFilesystemBackend
from dataagent_core.workspace.files import tree_size
from dataagent_core.workspace.jail import Jail
from dataagent_core.workspace.quota import MemoryQuotaLedger, QuotaLedger
from dataagent_core.workspace.workers import FileWorkers

FOLDERS = ("files", "uploads", "outputs")
DEFAULT_QUOTA = 1024**3
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")


class UserWorkspaceManager:
    """The workspaces of all users. Close it at the end."""

    def __init__(
        self,
        workspace_root: Path,
        default_quota_bytes: int = DEFAULT_QUOTA,
        ledger: QuotaLedger | None = None,
        *,
        memories_root: Path | None = None,
        workers: FileWorkers | None = None,
    ) -> None:
        """Keep workspaces below `workspace_root`, memories beside it unless told otherwise."""
        self._root = workspace_root
        self._memories_root = memories_root or workspace_root.parent / "memories"
        self._quota = default_quota_bytes
        self._ledger = ledger or MemoryQuotaLedger()
        self._workers = workers or FileWorkers()
        self._beside: Callable[[str], Awaitable[int]] | None = None

    def count_beside(self, usage: Callable[[str], Awaitable[int]]) -> None:
        """Count bytes kept elsewhere on the same quota (a user's artefacts, say)."""
        self._beside = usage

    # -- places -----------------------------------------------------------------------------

    def get_user_workspace(self, user_id: str) -> Path:
        """The user's workspace directory, which may not exist yet.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        return self._root / _safe(user_id)

    def ensure_user_workspace(self, user_id: str) -> Path:
        """Create the user's workspace with its folders, for the owner only, and return it.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        workspace = self.get_user_workspace(user_id)
        workspace.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in FOLDERS:
            (workspace / folder).mkdir(exist_ok=True)
        return workspace

    async def prepare(self, user_id: str) -> Path:
        """As `ensure_user_workspace`, off the event loop."""
        return await self._workers.run(partial(self.ensure_user_workspace, user_id))

    def memories_dir(self, user_id: str, assistant_id: str) -> Path:
        """Where an assistant's memory of a user is kept.

        Raises:
            OutsideWorkspace: an id cannot be a directory's name.
        """
        return self._memories_root / _safe(user_id) / _safe(assistant_id)

    def has_memory(self, user_id: str, assistant_id: str, name: str) -> bool:
        """Whether a memory of that name is there: one look at the directory, no reading."""
        return (self.memories_dir(user_id, assistant_id) / name).exists()

    def validate_path(self, user_id: str, path: Path) -> bool:
        """Whether a host path, links resolved, lies in the user's workspace."""
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

    async def open_workspace(self, user_id: str) -> SandboxedFilesystemBackend:
        """The user's workspace as a backend, created if need be.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        root = await self.prepare(user_id)
        return await self._open(user_id, root, frozenset(FOLDERS))

    async def open_memories(self, user_id: str, assistant_id: str) -> SandboxedFilesystemBackend:
        """An assistant's memory of the user as a backend, created if need be.

        Raises:
            OutsideWorkspace: an id cannot be a directory's name.
        """
        root = self.memories_dir(user_id, assistant_id)
        await self._workers.run(partial(root.mkdir, parents=True, exist_ok=True, mode=0o700))
        return await self._open(user_id, root, frozenset())

    def open_read_only(self, root: Path) -> SandboxedFilesystemBackend:
        """A directory that is nobody's (skills, say) as a backend that cannot write."""
        return SandboxedFilesystemBackend(root, self._workers)

    async def _open(
        self, user_id: str, root: Path, protected: frozenset[str]
    ) -> SandboxedFilesystemBackend:
        if await self._ledger.usage(user_id) is None:
            await self.reconcile(user_id)
        allowance = Allowance(self._ledger, user_id, self.quota(user_id))
        return SandboxedFilesystemBackend(
            root, self._workers, allowance=allowance, protected=protected
        )

    # -- quota ------------------------------------------------------------------------------

    def quota(self, user_id: str) -> int:
        """How many bytes the user may keep.

        Raises:
            OutsideWorkspace: the id cannot be a directory's name.
        """
        _safe(user_id)
        return self._quota

    def get_workspace_usage(self, user_id: str) -> int:
        """Bytes of the user's files and memories, measured on disk. Slow for a large tree."""
        memories = self._memories_root / _safe(user_id)
        return tree_size(Jail(self.get_user_workspace(user_id))) + tree_size(Jail(memories))

    def check_quota(self, user_id: str, additional_bytes: int = 0) -> bool:
        """Whether so many more bytes would fit, measured on disk. Writes ask the ledger instead."""
        return self.get_workspace_usage(user_id) + additional_bytes <= self.quota(user_id)

    async def usage(self, user_id: str) -> int:
        """Bytes the ledger has booked for the user."""
        booked = await self._ledger.usage(user_id)
        return await self.reconcile(user_id) if booked is None else booked

    async def reconcile(self, user_id: str) -> int:
        """Measure the user's files, book that and what is kept beside them, and return it."""
        actual = await self._workers.search(partial(self.get_workspace_usage, user_id))
        if self._beside is not None:
            actual += await self._beside(user_id)
        await self._ledger.reconcile(user_id, actual)
        return actual

    # -- ends -------------------------------------------------------------------------------

    def cleanup_workspace(self, user_id: str) -> None:
        """Remove the user's workspace with everything in it. `reconcile` frees the booked bytes."""
        shutil.rmtree(
            self.get_user_workspace(user_id), ignore_errors=False, onerror=_ignore_missing
        )

    def close(self) -> None:
        """Stop the worker threads."""
        self._workers.close()


def _safe(name: str) -> str:
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
