"""Files of a session, reached from a directory's descriptor and never through a link.

User code owns these files and may change them meanwhile: every step opens one name below an open
directory, with O_NOFOLLOW, and only regular files are read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

_DEPTH = 32
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1 << 20
_OPAQUE = "user.overlay.opaque"


@dataclass(frozen=True)
class TreeEntry:
    """A file, or the mark of a deleted one. `stamp` differs when the content may."""

    path: str
    kind: str
    size: int
    stamp: str


def walk(root: int) -> Iterator[TreeEntry]:
    """Yield the files below an open directory; with `deleted` also what an overlay hides."""
    yield from _walk(root, "", 0)


def _walk(directory: int, prefix: str, depth: int) -> Iterator[TreeEntry]:
    with os.scandir(directory) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        path = f"{prefix}{name}"
        try:
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:  # it is gone again
            continue
        if stat.S_ISREG(about.st_mode):
            yield TreeEntry(path, "written", about.st_size, _stamp(about))
        elif stat.S_ISCHR(about.st_mode) and about.st_rdev == 0:
            yield TreeEntry(path, "deleted", 0, "")
        elif stat.S_ISDIR(about.st_mode) and depth < _DEPTH:
            yield from _below(directory, name, path, depth)


def stamp_of(root: int, path: str) -> str | None:
    """Return the stamp that `walk` gives a regular file; None if there is none."""
    try:
        directory = _open_parent(root, path, is_made=False)
    except OSError:
        return None
    try:
        about = os.stat(os.path.basename(path), dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None
    finally:
        os.close(directory)
    return _stamp(about) if stat.S_ISREG(about.st_mode) else None


def _stamp(about: os.stat_result) -> str:
    return f"{about.st_ino}:{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}"


def _below(directory: int, name: str, path: str, depth: int) -> Iterator[TreeEntry]:
    try:
        inner = os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError:  # it is no directory any more
        return
    try:
        if _is_opaque(inner):
            yield TreeEntry(path, "deleted", 0, "opaque")
        yield from _walk(inner, f"{path}/", depth + 1)
    finally:
        os.close(inner)


def _is_opaque(directory: int) -> bool:
    try:
        return os.getxattr(directory, _OPAQUE) == b"y"
    except OSError:
        return False


class PlainFile:
    """An open regular file, with the size it had when it was opened."""

    def __init__(self, number: int, size: int) -> None:
        self._number = number
        self.size = size

    def chunks(self) -> Iterator[bytes]:
        """Yield exactly `size` bytes, with zeros if it was cut meanwhile, and close it."""
        rest = self.size
        with os.fdopen(self._number, "rb", buffering=0) as file:
            while rest > 0:
                chunk = file.read(min(rest, _CHUNK)) or bytes(min(rest, _CHUNK))
                rest -= len(chunk)
                yield chunk


def open_plain(root: int, path: str, limit: int) -> PlainFile | None:
    """Open a regular file for reading; None if it is none, or longer than `limit`.

    Raises:
        OSError: there is nothing, or a directory on the way cannot be opened, or is a link.
    """
    directory = _open_parent(root, path, is_made=False)
    try:
        number = os.open(os.path.basename(path), os.O_RDONLY | _FILE, dir_fd=directory)
    finally:
        os.close(directory)
    about = os.fstat(number)
    if not stat.S_ISREG(about.st_mode) or about.st_size > limit:
        os.close(number)
        return None
    return PlainFile(number, about.st_size)


def write(root: int, path: str, content: bytes) -> None:
    """Write a file, and create its directories.

    Raises:
        OSError: there is no room, or something that is no plain file is in its way.
    """
    directory = _open_parent(root, path, is_made=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | _FILE
        number = os.open(os.path.basename(path), flags, 0o644, dir_fd=directory)
    finally:
        os.close(directory)
    with os.fdopen(number, "wb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EEXIST, "not a plain file")
        os.ftruncate(number, 0)
        file.write(content)


def remove(root: int, path: str) -> None:
    """Remove a file.

    Raises:
        OSError: there is none, or a directory on the way cannot be opened, or is a link.
    """
    directory = _open_parent(root, path, is_made=False)
    try:
        os.unlink(os.path.basename(path), dir_fd=directory)
    finally:
        os.close(directory)


def _open_parent(root: int, path: str, *, is_made: bool) -> int:
    """Open the directory of a relative path; the caller closes it."""
    *folders, name = path.split("/")
    if not name or any(part in {"", ".", ".."} for part in [*folders, name]):
        raise OSError(errno.EINVAL, "not a path below the workspace")
    directory = os.dup(root)
    try:
        for folder in folders:
            if is_made:
                _make(directory, folder)
            inner = os.open(folder, _DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = inner
    except OSError:
        os.close(directory)
        raise
    return directory


def _make(directory: int, name: str) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
    except FileExistsError:
        return
