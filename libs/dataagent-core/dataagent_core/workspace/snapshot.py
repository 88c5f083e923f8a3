"""What a project's files were before code ran in it, held in memory while it runs.

Code that works on the folder itself does not say what it changes. So what is there is looked at
before and after, and the small files are read beforehand; those that are as they were when they
were last read are not read again. What Git ignores, links and `.git` itself are not looked at, and
what is too large is known to have changed but not what it was. Blocking. Above: `undo.py`. Below:
`gitignore.py`, `jail.py`.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from typing import Final, NamedTuple

from dataagent_core.errors import DataAgentError
from dataagent_core.workspace.files import open_in
from dataagent_core.workspace.gitignore import IgnoreFilter
from dataagent_core.workspace.jail import Jail, walk
from dataagent_core.workspace.journal import FileState

_MAX_FILE: Final = 1024 * 1024
_MAX_ALL: Final = 64 * 1024 * 1024


class FileStamp(NamedTuple):
    """Differs when a file may have another content."""

    node: int
    size: int
    modified_ns: int
    mode: int


Seen = dict[str, FileStamp]
"""The files of a project, by path."""


class ProjectSnapshot:
    """The small files of one project as they were last seen."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail
        self._kept: dict[str, tuple[FileStamp, bytes]] = {}
        self._lock = threading.Lock()

    def take(self) -> Seen:
        """What is there now; the small files are known from now on."""
        seen = self._walk()
        with self._lock:
            self._kept = {p: copy for p, copy in self._kept.items() if seen.get(p) == copy[0]}
            for folder, names in self._wanted(seen).items():
                with suppress(OSError, DataAgentError), self._jail.directory(folder) as directory:
                    for name in names:
                        self._read(directory, name, f"{folder}/{name}".lstrip("/"))
        return seen

    def changed_since(self, seen: Seen) -> list[tuple[str, FileState | None]]:
        """Which files differ from what was seen, and what they were."""
        now = self._walk()
        paths = {path for path in seen.keys() | now.keys() if seen.get(path) != now.get(path)}
        return [(path, self._before(path, seen.get(path))) for path in sorted(paths)]

    def _before(self, path: str, stamp: FileStamp | None) -> FileState | None:
        if stamp is None:
            return None
        with self._lock:
            known, content = self._kept.get(path, (None, b""))
        return FileState(stamp.size, stat.S_IMODE(stamp.mode), content if known == stamp else None)

    def _wanted(self, seen: Seen) -> dict[str, list[str]]:
        """Files that are new or not as they are known, by folder; the smallest, if it is much."""
        room = _MAX_ALL - sum(len(content) for _, content in self._kept.values())
        wanted: dict[str, list[str]] = {}
        for path in sorted(seen.keys() - self._kept.keys(), key=lambda path: seen[path].size):
            room -= seen[path].size
            if seen[path].size > _MAX_FILE or room < 0:
                break
            folder, _, name = path.rpartition("/")
            wanted.setdefault(folder, []).append(name)
        return wanted

    def _read(self, directory: int, name: str, path: str) -> None:
        with (
            suppress(OSError),  # gone, or not ours to read
            os.fdopen(open_in(directory, name), "rb", buffering=0) as file,
        ):
            stamp = _stamp(os.fstat(file.fileno()))
            if stamp.size <= _MAX_FILE:
                self._kept[path] = (stamp, file.readall())

    def _walk(self) -> Seen:
        seen: Seen = {}
        with self._jail.directory("/") as root:
            kept = IgnoreFilter(self._jail, "/")
            for steps, names, directory in walk(root, kept.enter):
                for name in names:
                    with suppress(OSError):  # gone again
                        about = os.stat(name, dir_fd=directory, follow_symlinks=False)
                        if stat.S_ISREG(about.st_mode) and kept.has(steps, name):
                            seen["/".join((*steps, name))] = _stamp(about)
        return seen


def _stamp(about: os.stat_result) -> FileStamp:
    return FileStamp(about.st_ino, about.st_size, about.st_mtime_ns, about.st_mode)
