"""Records what each turn changed in a project, with the contents before.

`{root}/{project}/{session}/{time}/` holds a turn's `turn.json` and the numbered previous files, for
their owner only. A file that is too large is recorded without its content. For each file a turn has
the first state and the last, so it can be undone as a whole. The oldest turns are deleted beyond a
limit. Blocking.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from dataagent_core.errors import DataAgentError
from dataagent_core.workspace import files as disk
from dataagent_core.workspace.jail import Jail

MAX_KEPT_BYTES: Final = 4 * 1024 * 1024
_MAX_TURN_BYTES: Final = 64 * 1024 * 1024
_MAX_BYTES: Final = 256 * 1024 * 1024
_MAX_TURNS: Final = 200
_MAX_HASHED: Final = 64 * 1024 * 1024
_TURN: Final = "turn.json"
_NO_FILE: Final = "no plain file"


@dataclass(frozen=True, slots=True)
class FileState:
    """A file's state. Its content is None if it was too large to store."""

    size: int
    mode: int
    content: bytes | None


@dataclass(slots=True)
class JournalEntry:
    """A file's marks before and after a turn, None where there was no file."""

    before: str | None
    after: str | None
    size: int = 0
    mode: int = 0o644
    blob: str | None = None

    @property
    def is_lost(self) -> bool:
        """Whether there was a file whose content was not stored."""
        return self.before is not None and self.blob is None


@dataclass(slots=True)
class JournalTurn:
    """The files one run changed, by their paths below the project."""

    folder: Path
    run_id: str
    entries: dict[str, JournalEntry] = field(default_factory=dict[str, JournalEntry])
    kept_bytes: int = 0

    def content(self, entry: JournalEntry) -> bytes:
        """Return a file as it was before the turn.

        Raises:
            OSError: it was not kept.
        """
        return (self.folder / (entry.blob or "lost")).read_bytes()


class Journal:
    """The turns of all conversations about one project."""

    def __init__(self, root: Path, jail: Jail) -> None:
        """Records are stored below `root`; the jail is the project's."""
        self._root = root / _name(str(jail.root))
        self._jail = jail
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], JournalTurn] = {}

    def before(self, path: str) -> FileState | None:
        """Return the file's current state; None without a file.

        Raises:
            OSError, OutsideWorkspace: it cannot be read.
        """
        try:
            with os.fdopen(self._jail.open_file(path), "rb") as file:
                about = os.fstat(file.fileno())
                is_kept = about.st_size <= MAX_KEPT_BYTES
                content = file.read(MAX_KEPT_BYTES) if is_kept else None
        except FileNotFoundError:
            return None
        return FileState(about.st_size, stat.S_IMODE(about.st_mode), content)

    def note(
        self, session_id: str, run_id: str, found: Iterable[tuple[str, FileState | None]]
    ) -> None:
        """Record that these files were changed, with their states before."""
        with self._lock:
            turn = self._turn(session_id, run_id)
            for path, before in found:
                self._note(turn, path, before)
            _write(turn.folder / _TURN, json.dumps(_as_json(turn)).encode())

    def _note(self, turn: JournalTurn, path: str, before: FileState | None) -> None:
        after = self.mark(path)
        known = turn.entries.get(path)
        if known is not None:
            known.after = after
            return
        entry = turn.entries[path] = JournalEntry(None if before is None else "lost", after)
        if before is None:
            return
        entry.size, entry.mode = before.size, before.mode
        content = before.content
        if content is not None and turn.kept_bytes + len(content) <= _MAX_TURN_BYTES:
            entry.blob, entry.before = str(len(turn.entries)), _digest(content)
            turn.kept_bytes += len(content)
            _write(turn.folder / entry.blob, content)

    def mark(self, path: str) -> str | None:
        """Return a mark that differs when the file's content does; None without a file."""
        try:
            with os.fdopen(self._jail.open_file(path), "rb") as file:
                about = os.fstat(file.fileno())
                if about.st_size <= _MAX_HASHED:
                    return hashlib.file_digest(file, "sha256").hexdigest()
                return f"{about.st_size}:{about.st_mtime_ns}:{about.st_ino}"
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, DataAgentError):
            return _NO_FILE

    def is_as_before(self, path: str, before: FileState | None) -> bool:
        """Whether a file has the recorded content, as far as that is known."""
        content = None if before is None else before.content
        return content is not None and self.mark(path) == _digest(content)

    def latest(self, session_id: str) -> JournalTurn | None:
        """Return the last turn of a conversation that left a change."""
        with self._lock:
            for folder in self._of(session_id):
                turn = _read(folder)
                if turn is not None and any(e.before != e.after for e in turn.entries.values()):
                    return turn
        return None

    def forget(self, session_id: str, turn: JournalTurn) -> None:
        """Delete a turn that was undone."""
        with self._lock:
            self._open.pop((session_id, turn.run_id), None)
            shutil.rmtree(turn.folder, ignore_errors=True)

    def restore(self, turn: JournalTurn, path: str) -> None:
        """Restore a file to its state before the turn.

        Raises:
            OSError: it cannot be written.
        """
        entry = turn.entries[path]
        if entry.before is None:
            with suppress(FileNotFoundError):  # it is gone already
                disk.remove(self._jail, path)
            return
        disk.replace(self._jail, path, turn.content(entry), mode=entry.mode)

    def _turn(self, session_id: str, run_id: str) -> JournalTurn:
        known = self._open.get((session_id, run_id))
        if known is not None and known.folder.is_dir():
            return known
        turn = next(map(_read, self._of(session_id)), None)
        if turn is None or turn.run_id != run_id:  # else it went on in another process
            self._make_room()
            folder = self._root / _name(session_id) / f"{time.time_ns():020d}"
            folder.mkdir(parents=True, mode=0o700)
            turn = JournalTurn(folder, run_id)
        self._open = {(session_id, run_id): turn, **self._recent()}
        return turn

    def _of(self, session_id: str) -> list[Path]:
        """Return a conversation's turns, the last one first."""
        return sorted(_folders(self._root / _name(session_id)), reverse=True)

    def _recent(self) -> dict[tuple[str, str], JournalTurn]:
        """Return the open turns but the oldest: only a few runs are active at once."""
        return dict(list(self._open.items())[:15])

    def _make_room(self) -> None:
        turns = [turn for session in _folders(self._root) for turn in _folders(session)]
        turns.sort(key=lambda folder: folder.name, reverse=True)
        room = _MAX_BYTES - _MAX_TURN_BYTES
        for number, folder in enumerate(turns):
            room -= sum(each.stat().st_size for each in folder.iterdir())
            if number >= _MAX_TURNS - 1 or room < 0:
                shutil.rmtree(folder, ignore_errors=True)


def _as_json(turn: JournalTurn) -> dict[str, Any]:
    entries = {path: asdict(entry) for path, entry in turn.entries.items()}
    return {"run_id": turn.run_id, "entries": entries}


def _read(folder: Path) -> JournalTurn | None:
    """Read a recorded turn; None if it is missing or unreadable."""
    try:
        kept = json.loads((folder / _TURN).read_bytes())
        entries = {path: JournalEntry(**entry) for path, entry in kept["entries"].items()}
        size = sum(entry.size for entry in entries.values() if entry.blob)
        return JournalTurn(folder, kept["run_id"], entries, size)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _folders(place: Path) -> list[Path]:
    with suppress(OSError):
        return [each for each in place.iterdir() if each.is_dir()]
    return []


def _write(place: Path, content: bytes) -> None:
    """Write a file, whole or not at all, for its owner only."""
    part = place.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    part.replace(place)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _name(text: str) -> str:
    """Return a directory name for any text."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
