"""Finding files by name and lines by content, inside a jail and within a time budget.

Blocking; run in the workers kept for searches. Links are not followed. A search that is cut short
says so (`truncated`). In a project it leaves out what `ignored.py` says, and looks into no file
that a `Scope` keeps closed. Above: `backend.py`. Below: `jail.py`.
"""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from deepagents.backends.protocol import FileInfo, GlobResult, GrepMatch, GrepResult
from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob

from dataagent_core.workspace import files
from dataagent_core.workspace.ignored import Kept
from dataagent_core.workspace.jail import Jail, split_path, walk

__all__ = ["Budget", "InvalidGlobPatternError", "Outcome", "Scope", "glob", "grep"]

Outcome = TypeVar("Outcome", GlobResult, GrepResult)
_MAX_SEARCHED_BYTES = 50 * 1024 * 1024
_MAX_LINE = 2000


@dataclass(slots=True)
class Budget:
    """How long a search may run; `stop()` ends it from outside."""

    seconds: float
    _stopped: threading.Event = field(default_factory=threading.Event)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.seconds

    def stop(self) -> None:
        """End the search at its next step."""
        self._stopped.set()

    @property
    def is_spent(self) -> bool:
        """Whether the search must end now."""
        return self._stopped.is_set() or time.monotonic() > self._deadline


@dataclass(frozen=True, slots=True)
class Scope:
    """How far a search goes: below the path, all of it or without what Git ignores.

    Files that `is_closed`, told their steps from the root without links, are found by name but not
    read, unless the path names them.
    """

    path: str
    leave_ignored: bool = False
    is_closed: Callable[[Sequence[str]], bool] | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    virtual: str
    relative: str
    directory: int
    name: str


def glob(jail: Jail, pattern: str, scope: Scope, budget: Budget) -> GlobResult:
    """Regular files whose path below the scope's matches the pattern.

    Raises:
        InvalidGlobPatternError: the pattern is refused.
        OutsideWorkspace: the path leads out.
    """
    matches = compile_grep_include_glob(pattern)
    found: list[FileInfo] = []
    for entry in _walk(jail, scope, matches):
        if budget.is_spent:
            return GlobResult(matches=_by_path(found), truncated=True, truncation_reason="budget")
        info = _quietly(
            lambda entry=entry: files.file_info(entry.virtual, entry.directory, entry.name)
        )
        if info is not None:
            found.append(info)
    return GlobResult(matches=_by_path(found))


def grep(
    jail: Jail,
    pattern: str,
    scope: Scope,
    *,
    include: str | None,
    max_count: int | None,
    budget: Budget,
) -> GrepResult:
    """Lines that contain the literal text, in file and line order.

    Raises:
        InvalidGlobPatternError: the include pattern is refused.
        OutsideWorkspace: the path leads out.
    """
    included = compile_grep_include_glob(include) if include else _everything
    matches = _open_only(included, jail, scope)
    found: list[GrepMatch] = []
    is_cut = False
    for entry in _walk(jail, scope, matches):
        try:
            for match in _lines_with(pattern, entry, budget):
                if max_count is not None and len(found) >= max_count:
                    return GrepResult(matches=found, truncated=True)
                found.append(match)
        except files.FileTooLarge:
            is_cut = True
        if budget.is_spent:
            return GrepResult(matches=found, truncated=True)
    return GrepResult(matches=found, truncated=is_cut)


def _everything(_relative: str) -> bool:
    return True


def _open_only(matches: Callable[[str], bool], jail: Jail, scope: Scope) -> Callable[[str], bool]:
    is_closed = scope.is_closed
    if is_closed is None:
        return matches
    above = jail.resolved(scope.path)  # a folder's name may be what closes the files in it
    return lambda relative: matches(relative) and not is_closed((*above, *relative.split("/")))


def _by_path(found: list[FileInfo]) -> list[FileInfo]:
    return sorted(found, key=lambda info: info["path"])


def _walk(jail: Jail, scope: Scope, matches: Callable[[str], bool]) -> Iterator[_Found]:
    """Each file below the path, or the path itself when it is a file."""
    steps = split_path(scope.path)
    try:
        with jail.directory(scope.path) as directory:
            kept = Kept(jail, scope.path) if scope.leave_ignored else None
            yield from _walk_directory(directory, steps, matches, kept)
    except NotADirectoryError:
        with jail.place(scope.path) as place:
            yield _Found("/" + "/".join(steps), place.name, place.directory, place.name)
    except FileNotFoundError:
        return


def _walk_directory(
    directory: int, steps: tuple[str, ...], matches: Callable[[str], bool], kept: Kept | None
) -> Iterator[_Found]:
    for below, names, descriptor in walk(directory, kept.enter if kept else None):
        for name in names:
            relative = "/".join((*below, name))
            if matches(relative) and (kept is None or kept.has(below, name)):
                yield _Found("/" + "/".join((*steps, *below, name)), relative, descriptor, name)


def _quietly(work: Callable[[], FileInfo | None]) -> FileInfo | None:
    """None for a file that went away or cannot be looked at."""
    try:
        return work()
    except OSError:
        return None


def _lines_with(pattern: str, entry: _Found, budget: Budget) -> Iterator[GrepMatch]:
    """Matching lines of one file; binary and unreadable files have none.

    Raises:
        FileTooLarge: the file was not searched.
    """
    try:
        content = _content(entry)
        if pattern.rstrip("\n").encode() not in content:  # most files: nothing to decode
            return
        lines = io.StringIO(content.decode(), newline=None)
    except (OSError, UnicodeError):
        return
    for number, line in enumerate(lines, 1):
        if pattern in line:
            yield GrepMatch(path=entry.virtual, line=number, text=_shown(line))
        if number % 2048 == 0 and budget.is_spent:
            return


def _content(entry: _Found) -> bytes:
    with os.fdopen(files.open_in(entry.directory, entry.name), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MAX_SEARCHED_BYTES:
            raise files.FileTooLarge(size)
        return file.readall()


def _shown(line: str) -> str:
    text = line.rstrip("\n")
    return text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]} … [line cut]"
