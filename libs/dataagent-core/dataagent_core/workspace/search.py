"""Finds files by name and lines by content, inside a jail and within a budget.

Blocking; run in the workers for searches. Links are not followed. Time and steps are bounded, and a
search that is cut short says so (`truncated`). In a project it leaves out what `.gitignore` names,
and does not read files that a `SearchScope` closes.
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
from deepagents.backends.utils import InvalidGlobPatternError

from dataagent_core.workspace import files
from dataagent_core.workspace.jail import Jail, split_path, walk
from dataagent_core.workspace.path_patterns import IgnoreFilter, IncludeGlob

__all__ = ["Budget", "InvalidGlobPatternError", "Outcome", "SearchScope", "glob", "grep"]

Outcome = TypeVar("Outcome", GlobResult, GrepResult)
_MAX_SEARCHED_BYTES = 50 * 1024 * 1024
_MAX_LINE = 2000


@dataclass(slots=True)
class Budget:
    """The time and steps a search may take; `stop()` ends it from another thread.

    A step is an entry of a folder that is looked at, or a name that is compared with a part of a
    pattern.
    """

    seconds: float
    max_steps: int = 10_000_000
    entries: int = field(default=0, init=False)
    steps: int = field(default=0, init=False)
    is_cut: bool = field(default=False, init=False)  # something was not looked at
    _stopped: threading.Event = field(default_factory=threading.Event)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.seconds

    def stop(self) -> None:
        """End the search at its next step."""
        self._stopped.set()

    def spend(self, steps: int) -> None:
        """Count steps."""
        self.steps += steps

    def count_entry(self) -> bool:
        """Count one entry of a folder; False if the search must end before it."""
        if self.is_spent:
            self.is_cut = True
            return False
        self.entries += 1
        self.steps += 1
        return True

    @property
    def is_spent(self) -> bool:
        """Whether the search must end now."""
        is_over = self._stopped.is_set() or self.steps >= self.max_steps
        return is_over or time.monotonic() > self._deadline


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The extent of a search: everything below the path, or without what Git ignores.

    Files that `is_closed`, given their steps from the root without links, are found by name but not
    read, unless the path names them.
    """

    path: str
    leave_ignored: bool = False
    is_closed: Callable[[Sequence[str]], bool] | None = None


@dataclass(frozen=True, slots=True)
class _FoundFile:
    virtual: str
    relative: str
    below: tuple[str, ...]
    directory: int
    name: str


def glob(jail: Jail, pattern: str, scope: SearchScope, budget: Budget) -> GlobResult:
    """Return regular files whose path below the scope's matches the pattern.

    Raises:
        InvalidGlobPatternError: the pattern is refused.
        OutsideWorkspace: the path leads out.
    """
    wanted = IncludeGlob(pattern)
    found: list[FileInfo] = []
    for entry in _walk(jail, scope, lambda path: wanted.matches(path, budget.spend), budget):
        info = _or_none(
            lambda entry=entry: files.file_info(entry.virtual, entry.directory, entry.name)
        )
        if info is not None:
            found.append(info)
    if budget.is_cut:
        return GlobResult(matches=_by_path(found), truncated=True, truncation_reason="budget")
    return GlobResult(matches=_by_path(found))


def grep(
    jail: Jail,
    pattern: str,
    scope: SearchScope,
    *,
    include: str | None,
    max_count: int | None,
    budget: Budget,
) -> GrepResult:
    """Return lines that contain the literal text, in file and line order.

    Raises:
        InvalidGlobPatternError: the include pattern is refused.
        OutsideWorkspace: the path leads out.
    """
    matches = _open_only(_included(include, budget), jail, scope)
    found: list[GrepMatch] = []
    is_cut = False
    for entry in _walk(jail, scope, matches, budget):
        try:
            for match in _lines_with(pattern, entry, budget):
                if max_count is not None and len(found) >= max_count:
                    return GrepResult(matches=found, truncated=True)
                found.append(match)
        except files.FileTooLarge:
            is_cut = True
        if budget.is_spent:
            return GrepResult(matches=found, truncated=True)
    return GrepResult(matches=found, truncated=is_cut or budget.is_cut)


def _included(include: str | None, budget: Budget) -> Callable[[str], bool]:
    if not include:
        return lambda _relative: True
    wanted = IncludeGlob(include)
    return lambda relative: wanted.matches(relative, budget.spend)


def _open_only(
    matches: Callable[[str], bool], jail: Jail, scope: SearchScope
) -> Callable[[str], bool]:
    is_closed = scope.is_closed
    if is_closed is None:
        return matches
    above = jail.resolve_steps(scope.path)  # a folder's name may be what closes the files in it
    return lambda relative: matches(relative) and not is_closed((*above, *relative.split("/")))


def _by_path(found: list[FileInfo]) -> list[FileInfo]:
    return sorted(found, key=lambda info: info["path"])


def _walk(
    jail: Jail, scope: SearchScope, matches: Callable[[str], bool], budget: Budget
) -> Iterator[_FoundFile]:
    """Yield each file below the path, or the path itself if it is a file, within the budget."""
    steps = split_path(scope.path)
    try:
        with jail.directory(scope.path) as directory:
            kept = IgnoreFilter(jail, scope.path) if scope.leave_ignored else None
            for found in _walk_directory(directory, steps, kept, budget):
                if matches(found.relative) and (kept is None or kept.has(found.below, found.name)):
                    yield found
    except NotADirectoryError:
        with jail.place(scope.path) as place:
            yield _FoundFile("/" + "/".join(steps), place.name, (), place.directory, place.name)
    except FileNotFoundError:
        return


def _walk_directory(
    directory: int, steps: tuple[str, ...], kept: IgnoreFilter | None, budget: Budget
) -> Iterator[_FoundFile]:
    for below, names, descriptor in walk(directory, kept.enter if kept else None):
        if not budget.count_entry():
            return
        for name in names:
            if not budget.count_entry():
                return
            relative = "/".join((*below, name))
            yield _FoundFile("/" + "/".join((*steps, relative)), relative, below, descriptor, name)


def _or_none(work: Callable[[], FileInfo | None]) -> FileInfo | None:
    """Return None for a file that is gone or cannot be read."""
    try:
        return work()
    except OSError:
        return None


def _lines_with(pattern: str, entry: _FoundFile, budget: Budget) -> Iterator[GrepMatch]:
    """Yield matching lines of one file; binary and unreadable files have none.

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


def _content(entry: _FoundFile) -> bytes:
    with os.fdopen(files.open_in(entry.directory, entry.name), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MAX_SEARCHED_BYTES:
            raise files.FileTooLarge(size)
        return file.readall()


def _shown(line: str) -> str:
    text = line.rstrip("\n")
    return text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]} … [line cut]"
