"""Writes bytes to a file, which appears whole or not at all, or to standard output.

Pieces are produced and written in a worker thread; cancelling stops between two of them.
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
    """A named file cannot be written; the text says which and why."""

    def __init__(self, message: str, *, hint: str = "choose another place with --output FILE."):
        super().__init__(message)
        self.hint = hint


async def save(path: Path, pieces: Iterable[bytes]) -> int:
    """Write the pieces to a file, replacing an existing one; return the number of bytes.

    Raises:
        CannotWrite: the file cannot be written; an existing one is unchanged.
    """
    return await _in_thread(pieces, lambda each: _save(path, each))


async def send(write: Callable[[bytes], object], pieces: Iterable[bytes]) -> int:
    """Write the pieces to standard output one by one; return the number of bytes."""
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
            running.exception()  # retrieved, so that asyncio does not log it
        raise


class _Cancelled(Exception):
    """The rest is not wanted."""


def _until_stopped(is_stopped: threading.Event, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if is_stopped.is_set():
            raise _Cancelled
        yield piece


def _send(write: Callable[[bytes], object], pieces: Iterator[bytes]) -> int:
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
    """Write to `/dev/stdout` and the like; a folder is an error of the system."""
    with path.open("wb") as file:
        return _send(file.write, pieces)


def _save_whole(path: Path, pieces: Iterator[bytes]) -> int:
    target = path.resolve()  # follows links
    unfinished = target.with_name(f".{uuid4().hex}.part")
    try:
        with unfinished.open("xb") as file:
            if target.exists():
                shutil.copymode(target, unfinished)
            total = _send(file.write, pieces)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return total
