"""Bytes on their way out: to a file that appears whole or not at all, or to standard output.

Pieces are made and written in a worker thread; cancelling stops between two of them. Above:
`export.py`, `sql.py`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from uuid import uuid4


class CannotWrite(Exception):
    """A file that was named cannot be written. Its text says which and why; a hint the way out."""

    def __init__(self, message: str, *, hint: str = "choose another place with --output FILE."):
        super().__init__(message)
        self.hint = hint


async def save(path: Path, pieces: Iterable[bytes]) -> int:
    """Write the pieces to a file, in place of one that is there; how many bytes they were.

    Raises:
        CannotWrite: the file cannot be written; what was there before is still there.
    """
    return await _in_thread(pieces, lambda each: _save(path, each))


async def send(write: Callable[[bytes], None], pieces: Iterable[bytes]) -> int:
    """Hand the pieces to standard output one by one; how many bytes they were."""
    return await _in_thread(pieces, lambda each: _send(write, each))


async def _in_thread(pieces: Iterable[bytes], work: Callable[[Iterator[bytes]], int]) -> int:
    is_stopped = threading.Event()
    running = asyncio.ensure_future(
        asyncio.to_thread(lambda: work(_until_stopped(is_stopped, pieces)))
    )
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        is_stopped.set()
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # it is known: we caused it
        raise


class _Cancelled(Exception):
    """Nobody wants the rest."""


def _until_stopped(is_stopped: threading.Event, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if is_stopped.is_set():
            raise _Cancelled
        yield piece


def _send(write: Callable[[bytes], None], pieces: Iterator[bytes]) -> int:
    total = 0
    for piece in pieces:
        write(piece)
        total += len(piece)
    return total


def _save(path: Path, pieces: Iterator[bytes]) -> int:
    try:
        if path.exists() and not path.is_file():
            return _save_to_device(path, pieces)
        return _save_whole(path, pieces)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CannotWrite(f"Cannot write {path}: {reason}.") from error


def _save_to_device(path: Path, pieces: Iterator[bytes]) -> int:
    """`/dev/stdout` and the like are written to; a folder is an error of the system's."""
    with path.open("wb") as file:
        return _send(lambda piece: _discard(file.write(piece)), pieces)


def _save_whole(path: Path, pieces: Iterator[bytes]) -> int:
    target = path.resolve()  # through a link, to what it points at
    unfinished = target.with_name(f".{uuid4().hex}.part")
    try:
        with unfinished.open("xb") as file:
            if target.exists():  # who may read it stays as it was
                shutil.copymode(target, unfinished)
            total = _send(lambda piece: _discard(file.write(piece)), pieces)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return total


def _discard(_count: int) -> None:
    """What a write returns is of no use here."""
