"""Archives of workspaces that are not used, unpacked at the next use.

A user's archive is in `{root}/.archive/{user_id}/`. A lock is held for each step, so only one
process acts. The files there tell how far a step came, and the next process finishes it: one that
dies half-way loses nothing. A workspace's last use is the time on its directory, which every use
updates. Blocking; run in a worker thread.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import shutil
import tarfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dataagent_core.workspace.files import TreeSize, measure
from dataagent_core.workspace.jail import Jail

logger = logging.getLogger(__name__)
ARCHIVE = ".archive"
_EMPTY = TreeSize(0, 0)


@dataclass(frozen=True, slots=True)
class _ArchivePaths:
    """The files of a user's archive, in the order they are created."""

    folder: Path

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def tree(self) -> Path:
        """The workspace, moved out of use but not packed yet."""
        return self.folder / "tree"

    @property
    def packed(self) -> Path:
        """The packed workspace, complete."""
        return self.folder / "workspace.tar.gz"

    @property
    def size(self) -> Path:
        """How many bytes and files it has."""
        return self.folder / "size.json"

    @property
    def unpacking(self) -> Path:
        return self.folder / "unpacking"

    @property
    def unpacked(self) -> Path:
        """The archive's content, once `unpacking` is complete."""
        return self.folder / "unpacked.tar.gz"


class WorkspaceArchive:
    """The archives of all workspaces below a root."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def in_use(self, user_id: str) -> Generator[Path]:
        """Return the user's workspace, restored if it was archived, and prevent archiving.

        The directory may not exist yet. It counts as used from the end of this on.
        """
        workspace = self._root / user_id
        paths = self._paths(user_id)
        with _lock(paths.lock, blocking=True):
            self._restore(paths, workspace)
            yield workspace
            with suppress(FileNotFoundError):
                os.utime(workspace)

    def archive(self, user_id: str, *, unused_since: float) -> bool:
        """Pack a workspace that has files and was not used since; return whether it was packed."""
        workspace = self._root / user_id
        paths = self._paths(user_id)
        with _lock(paths.lock, blocking=False) as is_held:
            if not is_held or not workspace.is_dir() or last_used(workspace) >= unused_since:
                return False
            self._restore(paths, workspace)
            size = measure(Jail(workspace))
            if size.files == 0:
                return False
            self._pack(paths, workspace, size)
        return True

    def size_of(self, user_id: str) -> TreeSize:
        """Return the size of what is archived of a user."""
        try:
            kept = json.loads((self._root / ARCHIVE / user_id / "size.json").read_text())
        except FileNotFoundError:
            return _EMPTY
        return TreeSize(int(kept["bytes"]), int(kept["files"]))

    def has(self, user_id: str) -> bool:
        """Whether anything of the user is archived: one look at a directory."""
        return os.path.exists(f"{self._root}/{ARCHIVE}/{user_id}/size.json")

    def erase(self, user_id: str) -> None:
        """Delete what is archived of a user."""
        shutil.rmtree(self._root / ARCHIVE / user_id, ignore_errors=True)

    def _paths(self, user_id: str) -> _ArchivePaths:
        paths = _ArchivePaths(self._root / ARCHIVE / user_id)
        paths.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return paths

    def _pack(self, paths: _ArchivePaths, workspace: Path, size: TreeSize) -> None:
        os.rename(workspace, paths.tree)
        part = paths.folder / f"part-{secrets.token_hex(4)}"
        try:
            with part.open("xb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
                tar.add(paths.tree, arcname=".", filter=_packable)
            _fsync(part)
            paths.size.write_text(json.dumps({"bytes": size.bytes, "files": size.files}))
            os.replace(part, paths.packed)
        except BaseException:
            part.unlink(missing_ok=True)
            paths.size.unlink(missing_ok=True)
            os.rename(paths.tree, workspace)
            raise
        shutil.rmtree(paths.tree)

    def _restore(self, paths: _ArchivePaths, workspace: Path) -> None:
        """Finish an interrupted step, and unpack what is packed."""
        if paths.unpacked.exists():
            self._move_in(paths.unpacking, workspace)
            self._finish_restore(paths)
        if paths.tree.exists():
            if paths.packed.exists():
                shutil.rmtree(paths.tree)
            else:
                self._move_in(paths.tree, workspace)
                self._finish_restore(paths)
        if paths.packed.exists():
            shutil.rmtree(paths.unpacking, ignore_errors=True)
            with tarfile.open(paths.packed, mode="r:gz") as tar:
                # the filter confines it
                tar.extractall(paths.unpacking, filter=_unpackable)  # noqa: S202
            os.replace(paths.packed, paths.unpacked)
            self._move_in(paths.unpacking, workspace)
            self._finish_restore(paths)

    def _move_in(self, tree: Path, workspace: Path) -> None:
        """Move a tree to the workspace; if there is one already, beside its files."""
        if not tree.exists():
            return
        tree.chmod(0o700)
        if workspace.exists():
            workspace = workspace / "files" / f"restored-{secrets.token_hex(4)}"
            workspace.parent.mkdir(exist_ok=True)
        os.rename(tree, workspace)

    def _finish_restore(self, paths: _ArchivePaths) -> None:
        paths.size.unlink(missing_ok=True)
        paths.unpacked.unlink(missing_ok=True)


def last_used(directory: Path) -> float:
    """Return when a directory was last used: the newest time on it and its direct children."""
    times = [directory.stat().st_mtime]
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                times.append(entry.stat(follow_symlinks=False).st_mtime)
    return max(times)


@contextmanager
def _lock(path: Path, *, blocking: bool) -> Generator[bool]:
    """Lock against other processes; return whether it succeeded, without waiting if so asked."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if blocking else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def _packable(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Pack files, directories and links; pipes and devices have no content."""
    return member if member.isreg() or member.isdir() or member.issym() or member.islnk() else None


def _unpackable(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """The standard library's filter for data; a link that leads out is left out."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        logger.warning("a link that leads out of a workspace was not restored")
        return None


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
