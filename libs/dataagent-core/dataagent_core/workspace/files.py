"""Blocking file operations inside a jail: read, replace, remove, list, measure.

Functions raise `OSError` or `OutsideWorkspace` and know no quota and no event loop; `backend.py`
runs them in worker threads. `explain` words an error for a model, without host paths.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import secrets
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from deepagents.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    IS_DIRECTORY,
    PERMISSION_DENIED,
    FileData,
    FileInfo,
    ReadResult,
)
from deepagents.backends.utils import slice_read_response

from dataagent_core.errors import DataAgentError, OutsideWorkspace
from dataagent_core.workspace.jail import Jail, PathHandle, open_regular, shorten, split_path, walk

WHOLE_READ_LIMIT = 20 * 1024 * 1024
"""Above this a text file is read in windows, and not edited or sent as a picture."""


@dataclass(frozen=True, slots=True)
class TreeSize:
    """The bytes and the number of regular files below a directory."""

    bytes: int
    files: int


class FileTooLarge(Exception):
    """The file is larger than the operation may read into memory."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class FileChanged(Exception):
    """The file has changed since it was read."""


def read_whole(jail: Jail, path: str, *, limit: int | None = None) -> bytes:
    """Return all bytes of a file.

    Raises:
        FileTooLarge: it has more than `limit` bytes.
    """
    with os.fdopen(jail.open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if limit is not None and size > limit:
            raise FileTooLarge(size)
        return file.read()


def read_window(jail: Jail, path: str, offset: int, limit: int) -> ReadResult:
    """Return lines `offset` to `offset + limit` of a text file of any size.

    Raises:
        UnicodeDecodeError: it is not UTF-8 text.
    """
    with os.fdopen(jail.open_file(path), encoding="utf-8") as file:
        if os.fstat(file.fileno()).st_size <= WHOLE_READ_LIMIT:
            return slice_read_response(
                FileData(content=file.read(), encoding="utf-8"), offset, limit
            )
        start = max(offset, 0)
        lines = list(itertools.islice(file, start, start + max(limit, 0)))
        has_more = bool(file.read(1))
    if not lines:
        return ReadResult(error=f"Line {start + 1} is past the end of the file.")
    end = start + len(lines)
    return ReadResult(
        file_data=FileData(content="".join(lines), encoding="utf-8"),
        start_line=start + 1,
        end_line=end,
        next_offset=end if has_more else None,
    )


def size_of(jail: Jail, path: str) -> int:
    """Return the file's size in bytes; 0 without a file."""
    try:
        with jail.place(path) as place:
            status = place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def replace(jail: Jail, path: str, content: bytes, *, mode: int | None = None) -> int:
    """Replace a file, whole or not at all, and return by how many bytes the tree grew.

    Without a mode it has that of the file it replaces.
    """
    with jail.place(path, create_parents=True, writing=True) as place:
        before = _replaceable(place)
        part = f".part-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(part, flags, 0o644, dir_fd=place.directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                if mode is None and before is not None:
                    mode = stat.S_IMODE(before.st_mode)
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
            os.replace(part, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=place.directory)
            raise
        return len(content) - (before.st_size if before else 0)


def _replaceable(place: PathHandle) -> os.stat_result | None:
    """Return the status of the file to be replaced, or None for a new one."""
    try:
        status = place.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(status.st_mode):
        return status
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "Not a regular file")


def remove(jail: Jail, path: str) -> int:
    """Remove a file, a link (not its target) or a directory, and return the bytes freed."""
    if not split_path(path):
        raise PermissionError(errno.EPERM, "The root cannot be deleted")
    with jail.place(path, follow_last=False, writing=True) as place:
        status = place.stat()
        if stat.S_ISDIR(status.st_mode):
            with jail.directory(path) as root:
                freed = _measure(root).bytes
            shutil.rmtree(place.name, dir_fd=place.directory)
            return freed
        os.unlink(place.name, dir_fd=place.directory)
        return status.st_size if stat.S_ISREG(status.st_mode) else 0


def tree_size(jail: Jail) -> int:
    """Return the bytes of all regular files below the root; 0 without a root."""
    return measure(jail).bytes


def measure(jail: Jail) -> TreeSize:
    """Return the size of the tree below the root; zero without a root."""
    try:
        with jail.directory("/") as root:
            return _measure(root)
    except FileNotFoundError:
        return TreeSize(0, 0)


def _measure(root: int) -> TreeSize:
    total, count = 0, 0
    for _, names, directory in walk(root):
        for name in names:
            with suppress(OSError):  # removed meanwhile
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    total, count = total + status.st_size, count + 1
    return TreeSize(total, count)


def listing(jail: Jail, path: str) -> list[FileInfo]:
    """List the direct children of a directory by name; links that lead out are left out."""
    steps = split_path(path)
    with jail.directory(path) as directory:
        names = sorted(os.listdir(directory))
    entries: list[FileInfo] = []
    for name in names:
        virtual = "/" + "/".join((*steps, name))
        with suppress(OSError, ValueError), jail.place(virtual) as place:
            entries.append(_info(virtual, place.stat()))
    return entries


def _info(virtual: str, status: os.stat_result) -> FileInfo:
    is_dir = stat.S_ISDIR(status.st_mode)
    return FileInfo(
        path=f"{virtual}/" if is_dir else virtual,
        is_dir=is_dir,
        size=0 if is_dir else status.st_size,
        modified_at=datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="milliseconds"),
    )


def file_info(virtual: str, directory: int, name: str) -> FileInfo | None:
    """Return the listing's entry of a regular file in an open directory, else None."""
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    return _info(virtual, status) if stat.S_ISREG(status.st_mode) else None


def open_in(directory: int, name: str) -> int:
    """Open a regular file of an open directory for reading."""
    return open_regular(PathHandle(directory, name))


logger = logging.getLogger(__name__)

FileProblem = (DataAgentError, FileTooLarge, OSError, ValueError, RecursionError)
"""Every error a file operation may end with, from text that is not UTF-8 to a tree too deep."""

_REASONS = {
    errno.ENOENT: "it does not exist",
    errno.EISDIR: "it is a directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied: it belongs to the workspace itself",
    errno.EROFS: "it is read-only",
    errno.ELOOP: "permission denied: links cannot be followed there",
    errno.ENAMETOOLONG: "the path is too long",
    errno.ENOSPC: "the disk is full",
    errno.EINVAL: "it is not a regular file",
}

_TRANSFER_CODES = {
    errno.ENOENT: FILE_NOT_FOUND,
    errno.EISDIR: IS_DIRECTORY,
    errno.EACCES: PERMISSION_DENIED,
    errno.EPERM: PERMISSION_DENIED,
    errno.EROFS: PERMISSION_DENIED,
    errno.ELOOP: PERMISSION_DENIED,
    errno.EINVAL: INVALID_PATH,
    errno.ENOTDIR: INVALID_PATH,
    errno.ENAMETOOLONG: INVALID_PATH,
}


def explain(verb: str, path: str, error: Exception) -> str:
    """Say in one sentence what failed on which file, and why."""
    return f"Cannot {verb} '{shorten(path)}': {_reason(error)}."


def _reason(error: Exception) -> str:
    match error:
        case DataAgentError():
            return error.message.rstrip(".")
        case FileTooLarge():
            return (
                f"it has {error.size} bytes, too many for this; use grep or read_file with a window"
            )
        case UnicodeError():
            return "it is not UTF-8 text"
        case OSError() if error.errno in _REASONS:
            return _REASONS[error.errno]
        case _:
            logger.warning("file operation failed", exc_info=error)
            return "the operation failed"


def transfer_code(error: Exception) -> str:
    """Return deepagents' error code for an upload or download, or a sentence without one."""
    if isinstance(error, OutsideWorkspace):
        return PERMISSION_DENIED
    if isinstance(error, OSError) and error.errno in _TRANSFER_CODES:
        return _TRANSFER_CODES[error.errno]
    return _reason(error)
