"""Taking back what the last turn did to the files of a project.

File tools note what they change (`project.py`); around commands and code the project is looked at
before and after (`record_changes`). A turn is taken back whole, or not at all if somebody else has
changed one of its files since. What was too large to be kept stays as it is, and is named. Without
a project there is nothing to take back. Above: the terminal, `middleware/`. Below: `journal.py`,
`snapshot.py`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

from dataagent_core.errors import Conflict, ToolFailed
from dataagent_core.workspace.journal import FileState, Journal, JournalEntry, JournalTurn
from dataagent_core.workspace.project import Project
from dataagent_core.workspace.snapshot import ProjectSnapshot, Seen
from dataagent_core.workspace.workers import FileWorkers, run_to_completion

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a run changed. `problem` says why it cannot be taken back, if it cannot."""

    path: str
    kind: Literal["created", "changed", "deleted"]
    run_id: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A file that code changed just now, with its content before; None where it is not known."""

    path: str
    kind: Literal["created", "changed", "deleted"]
    before: bytes | None


class Undo:
    """The turns of a project's conversations; of nothing, where there is no project."""

    def __init__(self, project: Project | None, workers: FileWorkers) -> None:
        self._journal = None if project is None else project.journal
        self._snapshot = None if project is None else ProjectSnapshot(project.jail)
        self._workers = workers

    async def last(self, session_id: str) -> list[Change]:
        """What the conversation's last turn that changed files did to them; [] if none did."""
        if self._journal is None:
            return []
        return await self._workers.run(partial(_last, self._journal, session_id))

    async def take_back(self, session_id: str) -> list[Change]:
        """Undo what `last` tells; what was taken back, and with a `problem` what was not.

        The turn before it is then the last one.

        Raises:
            Conflict: somebody else has changed one of the files since; nothing was touched.
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
        """Around a command: note what it changes; the list has it at the end."""
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
    """Note what has changed; a record that cannot be written does not fail what was done."""
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
    """Whether the file is neither as the turn left it nor, after an undo cut short, as before."""
    entry = turn.entries[change.path]
    return change.problem is None and journal.mark(change.path) not in (entry.after, entry.before)


def _restore(journal: Journal, turn: JournalTurn, path: str) -> None:
    try:
        journal.restore(turn, path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolFailed(f"{path!r} could not be put back: {reason}. Try again.") from error
