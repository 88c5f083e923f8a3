"""Opens files below one directory, and none outside of it.

Paths are virtual: `/` is the jail's root. Each step of a path is opened relative to the directory
opened before it and never through a link (`openat` with `O_NOFOLLOW`), so a name that is replaced
by a link between check and use is not followed. Links that stay inside are resolved here. A jail
may have read-only folders (`.git`), by name, at any depth. POSIX only. It does not confine code.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dataagent_core.errors import Denied, OutsideWorkspace

_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_LINKS = 40
_MAX_LENGTH = 4096
MAX_DEPTH = 64
"""Deeper trees are neither made nor walked: each level holds a descriptor while it is open."""


@dataclass(frozen=True, slots=True)
class PathHandle:
    """An open directory and a name in it that is not a link, or does not exist yet.

    `folders` are the real names from the root to the directory.
    """

    directory: int
    name: str
    folders: tuple[str, ...] = ()

    def stat(self) -> os.stat_result:
        """Return the status of the name itself."""
        return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)


def split_path(path: str) -> tuple[str, ...]:
    """Return the steps of a virtual path; `/a/./b` and `a\\b` are `("a", "b")`.

    Raises:
        OutsideWorkspace: a step is `..`, or the text cannot be a path at all.
        OSError: it is too long or too deep.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise OutsideWorkspace("Permission denied: the path is not valid text.") from None
    if "\0" in path:
        raise OutsideWorkspace("Permission denied: the path contains a NUL character.")
    steps = [step for step in path.replace("\\", "/").split("/") if step not in ("", ".")]
    if ".." in steps:
        raise OutsideWorkspace(
            f"Permission denied: '{shorten(path)}' leads out of the workspace. "
            "Use a path below '/' without '..'."
        )
    if len(path) > _MAX_LENGTH or len(steps) > MAX_DEPTH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    return tuple(steps)


def shorten(path: str) -> str:
    """Shorten the path for a message."""
    return path if len(path) <= 200 else f"{path[:200]}…"


class Jail:
    """A directory and everything below it."""

    def __init__(self, root: Path, *, read_only: frozenset[str] = frozenset()) -> None:
        """Folders named in `read_only` cannot be written to, at any depth."""
        self._root = Path(os.path.realpath(root))
        self._read_only = read_only

    @property
    def root(self) -> Path:
        """The directory on the host. Not for messages."""
        return self._root

    @contextmanager
    def place(
        self,
        path: str,
        *,
        create_parents: bool = False,
        follow_last: bool = True,
        writing: bool = False,
    ) -> Generator[PathHandle]:
        """Open the directory that holds the path's last name; `writing` names the purpose.

        Raises:
            OutsideWorkspace: the path, or a link on it, leads out.
            Denied: it is to be written to and is only read.
            OSError: a directory on the way is missing or cannot be entered.
        """
        closed = self._read_only if writing else frozenset[str]()
        walk = _Walk(self._root, create_parents=create_parents, closed=closed)
        try:
            name = walk.descend(split_path(path), follow_last=follow_last)
            yield PathHandle(walk.here, name, walk.folders)
        finally:
            walk.close()

    def resolve_steps(self, path: str) -> tuple[str, ...]:
        """Return the path's steps with links resolved; missing ones stay as they are.

        Raises:
            OutsideWorkspace: the path, or a link on it, leads out.
        """
        steps = split_path(path)
        for count in range(len(steps), 0, -1):
            with (
                suppress(FileNotFoundError, NotADirectoryError),
                self.place("/".join(steps[:count])) as place,
            ):
                found = () if place.name == "." else (place.name,)
                return (*place.folders, *found, *steps[count:])
        return steps

    @contextmanager
    def directory(self, path: str) -> Generator[int]:
        """Open a directory.

        Raises:
            OutsideWorkspace: the path leads out.
            OSError: it is missing or not a directory.
        """
        with self.place(path) as place:
            descriptor = os.open(place.name, _OPEN_DIR, dir_fd=place.directory)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def open_file(self, path: str) -> int:
        """Return a descriptor for reading a regular file; the caller closes it.

        Raises:
            OutsideWorkspace: the path leads out.
            OSError: it is missing, or not a regular file.
        """
        with self.place(path) as place:
            return open_regular(place)


def open_regular(place: PathHandle) -> int:
    """Open a regular file for reading, without blocking on a pipe or device.

    Raises:
        OSError: it is missing, a directory, a link or no regular file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(place.name, flags, dir_fd=place.directory)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "Not a regular file")


Enter = Callable[[tuple[str, ...], int, list[str]], list[str]]
"""Gets a directory (its steps, its descriptor, its folders); returns which folders to enter."""


def walk(
    directory: int, enter: Enter | None = None
) -> Iterator[tuple[tuple[str, ...], list[str], int]]:
    """Yield each directory below an open one: its steps, its names that are no directories, and
    itself open.

    Links are not followed; what lies deeper than `MAX_DEPTH` is left out.
    """
    for parent, folders, names, descriptor in os.fwalk(".", dir_fd=directory):
        steps = tuple(step for step in parent.split("/") if step != ".")
        folders.sort()
        if len(steps) >= MAX_DEPTH:
            folders.clear()
        if enter is not None:
            folders[:] = enter(steps, descriptor, folders)
        yield steps, sorted(names), descriptor


class _Walk:
    """The open directories from the root to the current one."""

    def __init__(self, root: Path, *, create_parents: bool, closed: frozenset[str]) -> None:
        self._root = root
        self._create = create_parents
        self._closed = closed
        self._open = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._names: list[str] = []
        self._links = 0

    @property
    def here(self) -> int:
        return self._open[-1]

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(self._names)

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def descend(self, steps: tuple[str, ...], *, follow_last: bool) -> str:
        """Enter the directory of the last step, and return that step's real name."""
        pending = deque(steps)
        while pending:
            step = pending.popleft()
            if step == "..":
                self._up()
                continue
            target = self._link(step) if pending or follow_last else None
            if target is not None:
                pending.extendleft(reversed(self._inside(target)))
            elif pending:
                self._down(step)
            else:
                self._require_open(step)
                return step
        return "."

    def _require_open(self, step: str) -> None:
        if step.casefold() in self._closed:
            raise Denied(f"Permission denied: what is in '{step}' is only read here.")

    def _link(self, step: str) -> str | None:
        try:
            return os.readlink(step, dir_fd=self.here)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):  # no link, or not there
                return None
            raise

    def _inside(self, target: str) -> list[str]:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if os.path.isabs(target):
            try:
                target = str(Path(os.path.normpath(target)).relative_to(self._root))
            except ValueError:
                raise _outside_workspace() from None
            while len(self._open) > 1:
                self._up()
        return [step for step in target.split("/") if step not in ("", ".")]

    def _down(self, step: str) -> None:
        if len(self._open) > MAX_DEPTH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        self._require_open(step)
        try:
            descriptor = os.open(step, _OPEN_DIR, dir_fd=self.here)
        except FileNotFoundError:
            if not self._create:
                raise
            with suppress(FileExistsError):  # made by another writer meanwhile
                os.mkdir(step, 0o755, dir_fd=self.here)
            descriptor = os.open(step, _OPEN_DIR, dir_fd=self.here)
        self._open.append(descriptor)
        self._names.append(step)

    def _up(self) -> None:
        if len(self._open) == 1:
            raise _outside_workspace()
        os.close(self._open.pop())
        self._names.pop()


def _outside_workspace() -> OutsideWorkspace:
    return OutsideWorkspace("Permission denied: a link on the path leads out of the workspace.")
