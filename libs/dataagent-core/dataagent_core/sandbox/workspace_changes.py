"""Changes of a sandbox against its user's workspace, and their commit. Blocking, except the commit.

The workspace may change as well: by its owner, or by another conversation. Each change therefore
records what the workspace had when the code ran, and committing it can tell whether it would
overwrite something the code has never seen. A commit writes all wanted changes or none; approval
and audit are the caller's. For a sandbox that cannot mount the workspace, `changed_batches` returns
what is new and fits.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from dataagent_core.errors import QuotaExceeded
from dataagent_core.sandbox.results import clean_path
from dataagent_core.sandbox.types import FileChange, SandboxLimits

_BATCH_BYTES = 4 * 1024 * 1024
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


Stamp = tuple[int, int]
Seen = dict[str, Stamp]
"""When each file that was sent had last been changed, and its size."""


def changed_batches(
    workspace: Path, limits: SandboxLimits, seen: Seen, *, exclude: Collection[str] = ()
) -> Iterator[list[tuple[str, bytes]]]:
    """Yield regular files that differ from those `seen`, in batches that can be sent.

    Links are not followed. A file over the limit, and what comes when the place is full, stays out,
    and so do the files named in `exclude`. What comes out is `seen` from then on, and nothing else.
    """
    room, count = limits.disk_bytes * 3 // 4, limits.inodes * 3 // 4
    batch: list[tuple[str, bytes]] = []
    size = 0
    for path, content, stamp in _files(workspace, limits.file_bytes, seen, exclude):
        if len(content) > room or count == 0:
            break
        seen[path] = stamp
        room, count, size = room - len(content), count - 1, size + len(content)
        batch.append((path, content))
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def mark_seen(workspace: Path, paths: Iterable[str], seen: Seen) -> None:
    """Note that the sandbox has these files as they are now."""
    for path in paths:
        with suppress(OSError):
            about = (workspace / path).lstat()
            seen[path] = (about.st_mtime_ns, about.st_size)


def read_plain(workspace: Path, path: str, limit: int) -> bytes | None:
    """Return a regular file; None if it is none, or longer. No link is followed."""
    *folders, name = path.split("/")
    with ExitStack() as opened, suppress(OSError):  # a link on the way, or gone
        directory = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, directory)
        for folder in folders:
            directory = os.open(folder, _FLAGS | os.O_DIRECTORY, dir_fd=directory)
            opened.callback(os.close, directory)
        found = _read(name, directory, limit, None)
        return None if found is None else found[0]
    return None


def _files(
    workspace: Path, limit: int, seen: Seen, exclude: Collection[str]
) -> Iterator[tuple[str, bytes, Stamp]]:
    for folder, folders, names, descriptor in os.fwalk(workspace):
        folders.sort()
        for name in sorted(names):
            path = str(Path(folder, name).relative_to(workspace))
            found = None if path in exclude else _read(name, descriptor, limit, seen.get(path))
            if found is not None:
                yield path, *found


def _read(name: str, folder: int, limit: int, known: Stamp | None) -> tuple[bytes, Stamp] | None:
    """Return a regular file and its stamp; None if it is none, longer, or unchanged."""
    try:
        number = os.open(name, _FLAGS, dir_fd=folder)
    except OSError:  # a link, or gone
        return None
    with os.fdopen(number, "rb") as file:
        about = os.fstat(number)
        if not stat.S_ISREG(about.st_mode) or about.st_size > limit:
            return None
        stamp = (about.st_mtime_ns, about.st_size)
        return None if stamp == known else (file.read(limit), stamp)


_UNKNOWN: Final = "moved"
"""In place of a stamp: what the code saw is unknown, as the workspace may have changed."""

_OUTPUT: Final = "output/"
"""Files here are returned with each result and need not be committed."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A change, the stamp of its content, and the stamp of the workspace's file; None for
    no file.
    """

    change: FileChange
    stamp: str
    before: str | None


class UncommittedChanges:
    """The changes of one sandbox against one workspace."""

    def __init__(self, workspace: Path, seen: Seen | None = None) -> None:
        """`seen` are the files sent to a sandbox that cannot mount the workspace."""
        self.workspace = workspace
        self._seen = seen
        self._pending: dict[str, _Pending] = {}
        self._committed: dict[str, str] = {}  # the stamps in the sandbox of what was carried over
        self._workspace_stamps: dict[
            str, str | None
        ] = {}  # the workspace's of those, where it is mounted

    @property
    def changes(self) -> list[FileChange]:
        """Return the changes by path, without names that cannot be stored."""
        return [self._pending[path].change for path in sorted(self._pending)]

    @property
    def paths(self) -> Collection[str]:
        """Return the paths of the changes."""
        return self._pending.keys()

    @property
    def has_copies(self) -> bool:
        """Whether the sandbox has its own copies of committed files."""
        return bool(self._workspace_stamps)

    def update(self, found: Iterable[tuple[FileChange, str]], *, began_ns: int) -> None:
        """Replace the changes by what differs now, after a run that began at that time."""
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
        """Return the paths whose file in the workspace has changed since the code ran."""
        return [path for path in sorted(paths) if self._is_conflicting(path)]

    def mark_committed(self, path: str) -> None:
        """Note that a change was committed."""
        done = self._pending.pop(path)
        self._committed[path] = done.stamp
        if self._seen is None:
            self._workspace_stamps[path] = _stamp(self.workspace / path)[0]
        else:
            self._seen.pop(path, None)
            mark_seen(self.workspace, [path], self._seen)

    def mark_missing(self, path: str) -> None:
        """Note that a file of the workspace did not get into the sandbox whole."""
        if self._seen is not None:
            self._seen.pop(path, None)
        elif path in self._workspace_stamps:
            self._workspace_stamps[path] = _UNKNOWN

    def newer_files(self, limit: int) -> list[tuple[str, bytes]]:
        """Return committed files that the workspace has changed since, each once.

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
        """Return files the sandbox has copies of and the workspace has deleted, each once.

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
            return False  # it has been deleted meanwhile
        return now != pending.before


def _stamp(place: Path) -> tuple[str | None, int]:
    """Return a mark that differs when the content may, and the time of the last change; None for no
    file.
    """
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


Fetch = Callable[[str], Awaitable[bytes | None]]
Done = Callable[[str], Awaitable[None]]


class WorkspaceWriter(Protocol):
    """Writes a user's files. Paths are relative to the workspace."""

    async def room(self) -> int | None:
        """Return how many more bytes it may hold; None for no limit."""
        ...

    async def size(self, path: str) -> int:
        """Return the file's size in bytes; 0 without a file."""
        ...

    async def put(self, path: str, content: bytes) -> None:
        """Create or replace a file."""
        ...

    async def delete(self, path: str) -> None:
        """Delete a file or a directory, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What was committed; `left` were unreadable or no regular files."""

    written: tuple[str, ...]
    deleted: tuple[str, ...]
    left: tuple[str, ...] = ()


async def commit_changes(
    changes: Sequence[FileChange], fetch: Fetch, writer: WorkspaceWriter, done: Done
) -> CommitResult:
    """Delete and write what changed, if all of it fits; `done` is called with each path.

    Raises:
        QuotaExceeded: there is not; nothing was touched.
    """
    await _require_room(changes, writer)
    deleted = [change.path for change in changes if change.kind == "deleted"]
    for path in deleted:
        await writer.delete(path)
        await done(path)
    written: list[str] = []
    left: list[str] = []
    for change in changes:
        if change.kind != "written":
            continue
        content = await fetch(change.path)
        if content is None or len(content) > change.size:  # it grew since it was counted
            left.append(change.path)
            continue
        await writer.put(change.path, content)
        await done(change.path)
        written.append(change.path)
    return CommitResult(tuple(written), tuple(deleted), tuple(left))


async def _require_room(changes: Sequence[FileChange], writer: WorkspaceWriter) -> None:
    room = await writer.room()
    if room is None:
        return
    needed = sum(change.size for change in changes)
    for change in changes:
        needed -= await writer.size(change.path)
    if needed > room:
        raise QuotaExceeded(
            f"The changes need {needed} more bytes and the workspace has {room} left. "
            "Delete files there, or commit fewer.",
            details={"needed": needed, "room": room},
        )
