"""A bounded number of connections to one source; callers wait for a free one.

Connections are opened on demand and stay open for the next statement. The caller says whether the
one it returns is clean; a lost or doubtful one is closed.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from dataagent_core.errors import SourceUnavailable

logger = logging.getLogger(__name__)
C = TypeVar("C")

_LOOK_SECONDS = 0.1


class Connections(Protocol[C]):
    """Where a statement gets its connection from, and gives it back to."""

    def acquire(self, *, timeout_seconds: float, is_cancelled: Callable[[], bool]) -> C | None:
        """A connection; None when `is_cancelled` became true while waiting."""
        ...

    def release(self, connection: C, *, is_clean: bool) -> None:
        """End the use of a connection that was taken; keep it only if it is clean."""
        ...


class Slots:
    """A pool of connections with a limit; a caller waits for a free one. Thread-safe."""

    def __init__(self, size: int, *, what: str) -> None:
        """`what` they are, in the plural, for the error message."""
        self.changed = threading.Condition()
        self.in_use = 0
        self.is_closed = False
        self._size = size
        self._what = what

    def acquire(self, *, timeout_seconds: float, is_cancelled: Callable[[], bool]) -> bool:
        """Take one; false when `is_cancelled` became true while waiting.

        Raises:
            SourceUnavailable: all stay taken for too long, or there are none any more.
        """
        deadline = time.monotonic() + timeout_seconds
        with self.changed:
            while not self.is_closed:
                if is_cancelled():
                    return False
                if self.in_use < self._size:
                    self.in_use += 1
                    return True
                if time.monotonic() > deadline:
                    raise SourceUnavailable(
                        f"All {self._size} {self._what} are busy. "
                        "Try again when other statements have ended."
                    )
                self.changed.wait(_LOOK_SECONDS)
        raise SourceUnavailable("This source was closed. Open it again.")

    def release(self) -> None:
        """Give one back."""
        with self.changed:
            self.in_use -= 1
            self.changed.notify()

    def close(self) -> None:
        """Close: waiting callers get an error."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()


class Pool(Generic[C]):
    """Connections made by `connect`, at most `size` at once. Safe for threads."""

    def __init__(
        self,
        connect: Callable[[], C],
        *,
        size: int,
        close: Callable[[C], None],
        is_alive: Callable[[C], bool] = lambda _: True,
    ) -> None:
        self._open_one = connect
        self._close_one = close
        self._is_alive = is_alive
        self._slots = Slots(size, what="connections of this source")
        self._idle: list[C] = []

    @property
    def in_use(self) -> int:
        """How many are in use."""
        return self._slots.in_use

    def acquire(self, *, timeout_seconds: float, is_cancelled: Callable[[], bool]) -> C | None:
        """A connection; None when `is_cancelled` became true while waiting.

        Raises:
            SourceUnavailable: none can be opened, or all stay busy for too long.
        """
        if not self._slots.acquire(timeout_seconds=timeout_seconds, is_cancelled=is_cancelled):
            return None
        try:
            reused = self._reused()
            return self._open_one() if reused is None else reused
        except BaseException:
            self._slots.release()
            raise

    def release(self, connection: C, *, is_clean: bool) -> None:
        """End the use of a connection that was taken; keep it only if it is clean."""
        with self._slots.changed:
            is_kept = is_clean and not self._slots.is_closed
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            self._close_quietly(connection)
        self._slots.release()

    def close(self) -> None:
        """Close the idle ones now, the others when they are given back."""
        self._slots.close()
        with self._slots.changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close_quietly(connection)

    def _reused(self) -> C | None:
        while True:
            with self._slots.changed:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if self._is_alive(connection):
                return connection
            self._close_quietly(connection)

    def _close_quietly(self, connection: C) -> None:
        try:
            self._close_one(connection)
        except Exception:
            logger.info("closing a connection", exc_info=True)


_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # any number of files


def has_input(file_number: int, *, timeout_seconds: float | None) -> bool:
    """Whether there is something to read, or the other side has hung up; waits for it."""
    with _Selector() as selector:
        selector.register(file_number, selectors.EVENT_READ)
        return bool(selector.select(timeout_seconds))


def hang_up(file_number: int) -> None:
    """Cut the connection: a thread that waits for it wakes and fails."""
    with socket.socket(fileno=os.dup(file_number)) as line:
        line.shutdown(socket.SHUT_RDWR)
