"""Undoes what the last turn did to the files of a project.

File tools record what they change (`project.py`). Code that works on the folder itself does not say
what it changes, so the project is scanned before and after (`record_changes`): small files are read
beforehand, unchanged ones from memory; what Git ignores, links and `.git` are not scanned, and a
file that is too large is known to have changed but cannot be restored. A turn is undone whole, or
not at all if someone else has changed one of its files since. Without a project there is nothing to
undo. Scanning blocks.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

from dataagent_core.errors import Conflict, DataAgentError, ToolFailed
from dataagent_core.workspace.files import open_in
from dataagent_core.workspace.jail import Jail, walk
from dataagent_core.workspace.journal import FileState, Journal, JournalEntry, JournalTurn
from dataagent_core.workspace.path_patterns import IgnoreFilter
from dataagent_core.workspace.project import Project
from dataagent_core.workspace.workers import FileWorkers, run_to_completion

_MAX_FILE: Final = 1024 * 1024
_MAX_ALL: Final = 64 * 1024 * 1024


class FileStamp(NamedTuple):
    """Identifies a state of a file: it differs when the content may."""

    node: int
    size: int
    modified_ns: int
    mode: int


Seen = dict[str, FileStamp]
"""The files of a project, by path."""


class ProjectSnapshot:
    """The small files of a project as last scanned."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail
        self._kept: dict[str, tuple[FileStamp, bytes]] = {}
        self._lock = threading.Lock()

    def take(self) -> Seen:
        """Scan the project and read the small files."""
        seen = self._walk()
        with self._lock:
            self._kept = {p: copy for p, copy in self._kept.items() if seen.get(p) == copy[0]}
            for folder, names in self._wanted(seen).items():
                with suppress(OSError, DataAgentError), self._jail.directory(folder) as directory:
                    for name in names:
                        self._read(directory, name, f"{folder}/{name}".lstrip("/"))
        return seen

    def changed_since(self, seen: Seen) -> list[tuple[str, FileState | None]]:
        """Return the files that differ from the last scan, with their earlier states."""
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
        """Return files to read, new or changed, by folder; the smallest if there are too many."""
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


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a run changed. `problem` says why it cannot be restored, if it cannot."""

    path: str
    kind: Literal["created", "changed", "deleted"]
    run_id: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A file that code just changed, with its content before; None if unknown."""

    path: str
    kind: Literal["created", "changed", "deleted"]
    before: bytes | None


class Undo:
    """The turns of a project's conversations; none without a project."""

    def __init__(self, project: Project | None, workers: FileWorkers) -> None:
        self._journal = None if project is None else project.journal
        self._snapshot = None if project is None else ProjectSnapshot(project.jail)
        self._workers = workers

    async def last(self, session_id: str) -> list[Change]:
        """Return the changes of the conversation's last turn that changed files."""
        if self._journal is None:
            return []
        return await self._workers.run(partial(_last, self._journal, session_id))

    async def take_back(self, session_id: str) -> list[Change]:
        """Undo the changes of `last`; those with a `problem` were not undone.

        The turn before it is then the last one.

        Raises:
            Conflict: someone else has changed one of the files since; nothing was changed.
            ToolFailed: a file could not be written.
        """
        if self._journal is None:
            return []
        return await run_to_completion(
            self._workers.run(partial(_take_back, self._journal, session_id))
        )

    @asynccontextmanager
    async def record_changes(
        self, session_id: str, run_id: str
    ) -> AsyncGenerator[list[CodeChange]]:
        """Record what a command changes; the yielded list has the changes at the end."""
        changes: list[CodeChange] = []
        if self._journal is None or self._snapshot is None:
            yield changes
            return
        seen = await self._workers.search(self._snapshot.take)
        try:
            yield changes
        finally:
            work = partial(_compare, self._journal, self._snapshot, seen, (session_id, run_id))
            changes += await run_to_completion(self._workers.search(work))


def _compare(
    journal: Journal, snapshot: ProjectSnapshot, seen: Seen, whose: tuple[str, str]
) -> list[CodeChange]:
    """Record the changes; a record that cannot be written does not fail the command."""
    found = [each for each in snapshot.changed_since(seen) if not journal.is_as_before(*each)]
    if not found:
        return []
    try:
        journal.note(*whose, found)
    except OSError:
        logger.exception("what code changed was not noted: it cannot be taken back")
    return [_code_change(journal, path, before) for path, before in found]


def _code_change(journal: Journal, path: str, before: FileState | None) -> CodeChange:
    if before is None:
        return CodeChange(path, "created", b"")
    is_there = journal.mark(path) is not None
    return CodeChange(path, "changed" if is_there else "deleted", before.content)


def _last(journal: Journal, session_id: str) -> list[Change]:
    turn = journal.latest(session_id)
    return [] if turn is None else _changes(turn)


def _changes(turn: JournalTurn) -> list[Change]:
    changed = sorted((p, e) for p, e in turn.entries.items() if e.before != e.after)
    return [_change(path, entry, turn.run_id) for path, entry in changed]


def _change(path: str, entry: JournalEntry, run_id: str) -> Change:
    problem = f"it had {entry.size} bytes, too many to be kept" if entry.is_lost else None
    if entry.before is None:
        return Change(path, "created", run_id)
    return Change(path, "deleted" if entry.after is None else "changed", run_id, problem)


def _take_back(journal: Journal, session_id: str) -> list[Change]:
    turn = journal.latest(session_id)
    if turn is None:
        return []
    changes = _changes(turn)
    foreign = [change.path for change in changes if _is_foreign(journal, turn, change)]
    if foreign:
        named = ", ".join(repr(path) for path in foreign)
        raise Conflict(
            f"Changed by someone else since: {named}. Nothing was taken back. Put these files back "
            "as the agent left them, or take the changes back by hand.",
            details={"paths": foreign},
        )
    for change in changes:
        if change.problem is None:
            _restore(journal, turn, change.path)
    journal.forget(session_id, turn)
    return changes


def _is_foreign(journal: Journal, turn: JournalTurn, change: Change) -> bool:
    """Whether the file is neither as the turn left it nor, after an interrupted undo, as before."""
    entry = turn.entries[change.path]
    return change.problem is None and journal.mark(change.path) not in (entry.after, entry.before)


def _restore(journal: Journal, turn: JournalTurn, path: str) -> None:
    try:
        journal.restore(turn, path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolFailed(f"{path!r} could not be put back: {reason}. Try again.") from error
