"""Rows of the call log in files, while the database is away.

A process writes one file, a line a row, and holds its lock; a file that nobody holds was left
behind by a process that is gone, and is taken over. Bounded: what would make the files too large is
refused. Above: `call_log.py`.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

Rows = Sequence[dict[str, Any]]
MOST_BYTES = 64 * 1024 * 1024
_TIMES = ("started_at", "ended_at")
_MOST_TOGETHER = 500


class SpilledCalls:
    """The files of one folder. Files are touched in threads, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: IO[bytes] | None = None
        self._using = asyncio.Lock()
        self.may_have_any = True
        """Whether rows may be in files: until it was looked, and while ours are."""
        self._is_first = True

    async def add(self, rows: Rows) -> int:
        """Append rows; how many could not be."""
        async with self._using:
            left_out = await asyncio.to_thread(self._append, rows)
            self.may_have_any = True
            return left_out

    async def drain(self, write: Callable[[Rows], Awaitable[None]]) -> None:
        """Hand all rows to `write` and forget them once it returns; the first time, others' too.

        What `write` raises is raised, and the rows stay.
        """
        if not self.may_have_any:
            return
        async with self._using:
            if self._own is not None:
                await _drain(self._own, write)
                self._forget()
            for file in await asyncio.to_thread(self._orphaned_files) if self._is_first else ():
                with closing(file):
                    await _drain(file, write)
            self._is_first = self.may_have_any = False

    def _forget(self) -> None:
        if self._own is not None:
            self._own.close()
        self._own = None

    async def close(self) -> None:
        """Let another process have what could not be written."""
        async with self._using:
            self._forget()

    # -- in a thread ----------------------------------------------------------------------------

    def _append(self, rows: Rows) -> int:
        try:
            file = self._own = self._own or self._open_file()
            room = MOST_BYTES - sum(p.stat().st_size for p in self._files())
            for done, row in enumerate(rows):
                line = _line(row)
                room -= len(line)
                if room < 0:
                    file.flush()
                    return len(rows) - done
                file.write(line)
            file.flush()
        except OSError:
            return len(rows)
        return 0

    def _open_file(self) -> IO[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"calls-{uuid4().hex}.jsonl"
        file = open(path, "a+b", opener=_open_private)  # noqa: SIM115 closed with the log
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("calls-*.jsonl"))

    def _orphaned_files(self) -> list[IO[bytes]]:
        """The files nobody holds, held."""
        found: list[IO[bytes]] = []
        for path in self._files():
            with suppress(OSError):  # held by another process, or gone
                found.append(_open_locked(path))
        return found


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _open_locked(path: Path) -> IO[bytes]:
    file = path.open("r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


async def _drain(file: IO[bytes], write: Callable[[Rows], Awaitable[None]]) -> None:
    file.seek(0)
    parts = _read_batches(file)
    while (rows := await asyncio.to_thread(next, parts, None)) is not None:
        await write(rows)
    await asyncio.to_thread(os.unlink, file.name)


def _read_batches(file: IO[bytes]) -> Generator[Rows]:
    together: list[dict[str, Any]] = []
    for line in file:
        with suppress(ValueError, TypeError, KeyError):  # cut off in the middle of writing
            together.append(_row(line))
        if len(together) == _MOST_TOGETHER:
            yield together
            together = []
    if together:
        yield together


def _line(row: dict[str, Any]) -> bytes:
    times = {name: row[name].isoformat() for name in _TIMES}
    return json.dumps({**row, **times}).encode() + b"\n"


def _row(line: bytes) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(line)
    return {**row, **{name: datetime.fromisoformat(row[name]) for name in _TIMES}}
