"""Workspaces nobody uses, packed away until someone does.

A user's place is `{root}/.archive/{user_id}/`; a lock in it is held for each step, so that of two
processes one acts. How far a step came is told by what lies there, and whoever comes next finishes
it: a process that dies half-way loses nothing. When a workspace was last used is the time on its
directory, which each use sets anew. Blocking; run in a worker thread. Above: `manager.py`,
`sweeper.py`. Below: the file system.
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
class _Place:
    """What may lie in a user's place, in the order it comes about."""

    folder: Path

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def tree(self) -> Path:
        """The workspace, taken out of use but not packed yet."""
        return self.folder / "tree"

    @property
    def packed(self) -> Path:
        """The workspace, packed in full."""
        return self.folder / "workspace.tar.gz"

    @property
    def size(self) -> Path:
        """How much is in it."""
        return self.folder / "size.json"

    @property
    def unpacking(self) -> Path:
        return self.folder / "unpacking"

    @property
    def unpacked(self) -> Path:
        """The archive, once `unpacking` is complete."""
        return self.folder / "unpacked.tar.gz"


class WorkspaceArchive:
    """The archive of all workspaces below a root."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def in_use(self, user_id: str) -> Generator[Path]:
        """The user's workspace, back from the archive if it was there; held from being put away.

        The directory may not exist yet. It counts as used from the end of this on.
        """
        workspace = self._root / user_id
        place = self._place(user_id)
        with _locked(place.lock, is_patient=True):
            self._bring_back(place, workspace)
            yield workspace
            with suppress(FileNotFoundError):
                os.utime(workspace)

    def put_away(self, user_id: str, *, unused_since: float) -> bool:
        """Pack a workspace that has files and was not used since; False if it was left alone."""
        workspace = self._root / user_id
        place = self._place(user_id)
        with _locked(place.lock, is_patient=False) as is_held:
            if not is_held or not workspace.is_dir() or last_used(workspace) >= unused_since:
                return False
            self._bring_back(place, workspace)
            size = measure(Jail(workspace))
            if size.files == 0:
                return False
            self._pack(place, workspace, size)
        return True

    def size_of(self, user_id: str) -> TreeSize:
        """What of the user's is in the archive."""
        try:
            kept = json.loads((self._root / ARCHIVE / user_id / "size.json").read_text())
        except FileNotFoundError:
            return _EMPTY
        return TreeSize(int(kept["bytes"]), int(kept["files"]))

    def has(self, user_id: str) -> bool:
        """Whether something of the user's is in the archive: one look, no reading."""
        return os.path.exists(f"{self._root}/{ARCHIVE}/{user_id}/size.json")

    def erase(self, user_id: str) -> None:
        """Forget what of the user's is in the archive."""
        shutil.rmtree(self._root / ARCHIVE / user_id, ignore_errors=True)

    def _place(self, user_id: str) -> _Place:
        place = _Place(self._root / ARCHIVE / user_id)
        place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return place

    def _pack(self, place: _Place, workspace: Path, size: TreeSize) -> None:
        os.rename(workspace, place.tree)
        part = place.folder / f"part-{secrets.token_hex(4)}"
        try:
            with part.open("xb") as file, tarfile.open(fileobj=file, mode="w:gz") as tar:
                tar.add(place.tree, arcname=".", filter=_packable)
            _synced(part)
            place.size.write_text(json.dumps({"bytes": size.bytes, "files": size.files}))
            os.replace(part, place.packed)
        except BaseException:
            part.unlink(missing_ok=True)
            place.size.unlink(missing_ok=True)
            os.rename(place.tree, workspace)
            raise
        shutil.rmtree(place.tree)

    def _bring_back(self, place: _Place, workspace: Path) -> None:
        """Finish what was begun, and unpack what is packed."""
        if place.unpacked.exists():
            self._move_in(place.unpacking, workspace)
            self._done(place)
        if place.tree.exists():
            if place.packed.exists():
                shutil.rmtree(place.tree)
            else:
                self._move_in(place.tree, workspace)
                self._done(place)
        if place.packed.exists():
            shutil.rmtree(place.unpacking, ignore_errors=True)
            with tarfile.open(place.packed, mode="r:gz") as tar:
                # the filter confines it
                tar.extractall(place.unpacking, filter=_unpackable)  # noqa: S202
            os.replace(place.packed, place.unpacked)
            self._move_in(place.unpacking, workspace)
            self._done(place)

    def _move_in(self, tree: Path, workspace: Path) -> None:
        """Put a tree in the workspace's place; beside what is there, should something be."""
        if not tree.exists():
            return
        tree.chmod(0o700)
        if workspace.exists():
            workspace = workspace / "files" / f"restored-{secrets.token_hex(4)}"
            workspace.parent.mkdir(exist_ok=True)
        os.rename(tree, workspace)

    def _done(self, place: _Place) -> None:
        place.size.unlink(missing_ok=True)
        place.unpacked.unlink(missing_ok=True)


def last_used(directory: Path) -> float:
    """When a directory was last used: the newest time on it and on what is directly in it."""
    times = [directory.stat().st_mtime]
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                times.append(entry.stat(follow_symlinks=False).st_mtime)
    return max(times)


@contextmanager
def _locked(path: Path, *, is_patient: bool) -> Generator[bool]:
    """Hold a lock among all processes; False if another has it and we do not wait."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if is_patient else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def _packable(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Files, directories and links; pipes and devices hold nothing to keep."""
    return member if member.isreg() or member.isdir() or member.issym() or member.islnk() else None


def _unpackable(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """As the standard library's filter for data; a link that leads out is left out."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        logger.warning("a link that leads out of a workspace was not restored")
        return None


def _synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
