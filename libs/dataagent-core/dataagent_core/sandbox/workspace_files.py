"""A workspace's files for a sandbox that cannot mount it: what is new and fits. Blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from dataagent_core.sandbox.types import SandboxLimits

_BATCH_BYTES = 4 * 1024 * 1024
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


Stamp = tuple[int, int]
Seen = dict[str, Stamp]
"""When each file that was sent had last been changed, and its size."""


def changed_batches(
    workspace: Path, limits: SandboxLimits, seen: Seen, *, exclude: Collection[str] = ()
) -> Iterator[list[tuple[str, bytes]]]:
    """The plain files of a workspace that are not as they were `seen`, in parts that can be sent.

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
    """These files are known as they are now: the sandbox has them already."""
    for path in paths:
        with suppress(OSError):
            about = (workspace / path).lstat()
            seen[path] = (about.st_mtime_ns, about.st_size)


def read_plain(workspace: Path, path: str, limit: int) -> bytes | None:
    """One plain file of it; None if it is none, or longer. No link is followed."""
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
    """A plain file and its stamp; None if it is none, longer, or as it is known."""
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
