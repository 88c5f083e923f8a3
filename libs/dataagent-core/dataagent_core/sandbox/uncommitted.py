"""What a sandbox has changed of a workspace and nobody has kept yet, and what was there before.

The workspace may change as well: by its owner, or by another conversation. So with each change is
noted what the workspace had when the code ran; who keeps the change later can tell whether it
would overwrite something the code has never seen. Looks at the workspace, changes nothing in it.
Blocking. Above: `session.py`. Below: the file system.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dataagent_core.sandbox.results import clean_path
from dataagent_core.sandbox.types import FileChange
from dataagent_core.sandbox.workspace_files import Seen, mark_seen, read_plain

_UNKNOWN: Final = "moved"
"""In place of a stamp: nobody knows what the code saw. The workspace changed while it ran, say."""

_OUTPUT: Final = "output/"
"""What code leaves here comes back with each result; it is nothing that has to be kept."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A change, the stamp of its content, and the stamp of what the workspace had; None: none."""

    change: FileChange
    stamp: str
    before: str | None


class UncommittedChanges:
    """The changes of one sandbox against one workspace."""

    def __init__(self, workspace: Path, seen: Seen | None = None) -> None:
        """`seen` are the files a sandbox was sent that cannot mount the workspace."""
        self.workspace = workspace
        self._seen = seen
        self._pending: dict[str, _Pending] = {}
        self._committed: dict[str, str] = {}  # the stamps in the sandbox of what was carried over
        self._workspace_stamps: dict[
            str, str | None
        ] = {}  # the workspace's of those, where it is mounted

    @property
    def changes(self) -> list[FileChange]:
        """Them, by path; those with names that cannot be kept are left out."""
        return [self._pending[path].change for path in sorted(self._pending)]

    @property
    def paths(self) -> Collection[str]:
        """Their paths."""
        return self._pending.keys()

    @property
    def has_copies(self) -> bool:
        """Whether the sandbox has its own copies of files that were carried over."""
        return bool(self._workspace_stamps)

    def update(self, found: Iterable[tuple[FileChange, str]], *, began_ns: int) -> None:
        """Take what differs now, after a run that began at that time."""
        pending: dict[str, _Pending] = {}
        for change, stamp in found:
            path = change.path
            if clean_path(path) != path or path.startswith(_OUTPUT):
                continue
            if self._committed.get(path) == stamp:
                continue
            known = self._pending.get(path)
            before = known.before if known else self._before(path, began_ns)
            pending[path] = _Pending(change, stamp, before)
        self._pending = pending

    def conflicting(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths whose file in the workspace is not what it was before the code ran."""
        return [path for path in sorted(paths) if self._is_conflicting(path)]

    def mark_committed(self, path: str) -> None:
        """A change was carried over: the workspace has it now."""
        done = self._pending.pop(path)
        self._committed[path] = done.stamp
        if self._seen is None:
            self._workspace_stamps[path] = _stamp(self.workspace / path)[0]
        else:
            self._seen.pop(path, None)
            mark_seen(self.workspace, [path], self._seen)

    def mark_missing(self, path: str) -> None:
        """A file of the workspace's did not get into the sandbox, or not as a whole."""
        if self._seen is not None:
            self._seen.pop(path, None)
        elif path in self._workspace_stamps:
            self._workspace_stamps[path] = _UNKNOWN

    def newer_files(self, limit: int) -> list[tuple[str, bytes]]:
        """Files that were carried over and that the workspace has changed since, each once.

        Where the workspace is mounted the sandbox's own copies hide them.
        """
        found: list[tuple[str, bytes]] = []
        for path, left in list(self._workspace_stamps.items()):
            now, _ = _stamp(self.workspace / path)
            if now is None or now == left or path in self._pending:
                continue
            content = read_plain(self.workspace, path, limit)
            if content is not None:
                self._workspace_stamps[path] = now
                found.append((path, content))
        return found

    def deleted_files(self) -> list[tuple[str, str]]:
        """Files the sandbox has copies of and the workspace has no more, each once.

        With the stamp of the copy, if it was carried over from the sandbox; else an empty one.
        """
        copies = {path for path, left in self._workspace_stamps.items() if left} | (
            self._seen or {}
        ).keys()
        found: list[tuple[str, str]] = []
        for path in sorted(copies - self._pending.keys()):
            if _stamp(self.workspace / path)[0] is None:
                self._workspace_stamps.pop(path, None)
                (self._seen or {}).pop(path, None)
                found.append((path, self._committed.pop(path, "")))
        return found

    def _before(self, path: str, began_ns: int) -> str | None:
        if path in self._workspace_stamps:
            return self._workspace_stamps[path]
        stamp, changed_ns = _stamp(self.workspace / path)
        if changed_ns >= began_ns:
            return _UNKNOWN
        if self._seen is not None and path not in self._seen:
            return None  # it was too large to be sent: the code made a file of its own
        return stamp

    def _is_conflicting(self, path: str) -> bool:
        pending = self._pending[path]
        now, _ = _stamp(self.workspace / path)
        if pending.change.kind == "deleted" and now is None:
            return False  # somebody else has deleted it
        return now != pending.before


def _stamp(place: Path) -> tuple[str | None, int]:
    """A word that differs when what is there may, and when it last changed; None for nothing."""
    try:
        about = place.lstat()
    except OSError:
        return None, 0
    if not stat.S_ISDIR(about.st_mode):
        kind = stat.S_IFMT(about.st_mode)
        return f"{kind}:{about.st_ino}:{about.st_size}:{about.st_mtime_ns}", about.st_ctime_ns
    words, last = hashlib.sha256(), about.st_ctime_ns
    for folder, folders, names in os.walk(place):
        folders.sort()
        for name in sorted(names):
            word, changed_ns = _stamp(Path(folder, name))
            words.update(f"{folder}/{name}\0{word}\0".encode(errors="surrogateescape"))
            last = max(last, changed_ns)
    return words.hexdigest(), last
