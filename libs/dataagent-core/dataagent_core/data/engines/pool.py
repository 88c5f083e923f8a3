"""A bounded number of connections to one source; who finds none waits.

Connections are opened when needed and kept for the next statement. Who gives one back says whether
it is clean; a lost or doubtful one is closed. Not here: what a connection is. Above: `reading.py`
and the engines. Below: nothing.
"""

from __future__ import annotations

import logging
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

    def take(self, *, timeout_seconds: float, is_given_up: Callable[[], bool]) -> C | None:
        """A connection; None when `is_given_up` became true while waiting."""
        ...

    def give_back(self, connection: C, *, is_clean: bool) -> None:
        """End the use of a connection that was taken; keep it only if it is clean."""
        ...


class Pool(Generic[C]):
    """Connections made by `opened`, at most `size` at once. Safe for threads."""

    def __init__(
        self,
        opened: Callable[[], C],
        *,
        size: int,
        close: Callable[[C], None],
        is_alive: Callable[[C], bool] = lambda _: True,
    ) -> None:
        self._open_one = opened
        self._close_one = close
        self._is_alive = is_alive
        self._size = size
        self._idle: list[C] = []
        self._taken = 0
        self._is_closed = False
        self._changed = threading.Condition()

    @property
    def taken(self) -> int:
        """How many are in use."""
        return self._taken

    def take(self, *, timeout_seconds: float, is_given_up: Callable[[], bool]) -> C | None:
        """A connection; None when `is_given_up` became true while waiting.

        Raises:
            SourceUnavailable: none can be opened, or all stay busy for too long.
        """
        if not self._wait_for_room(time.monotonic() + timeout_seconds, is_given_up):
            return None
        try:
            reused = self._reused()
            return self._open_one() if reused is None else reused
        except BaseException:
            self._leave()
            raise

    def give_back(self, connection: C, *, is_clean: bool) -> None:
        """End the use of a connection that was taken; keep it only if it is clean."""
        with self._changed:
            is_kept = is_clean and not self._is_closed
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            self._close_quietly(connection)
        self._leave()

    def close(self) -> None:
        """Close the idle ones now, the others when they are given back."""
        with self._changed:
            self._is_closed = True
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for connection in idle:
            self._close_quietly(connection)

    def _wait_for_room(self, deadline: float, is_given_up: Callable[[], bool]) -> bool:
        with self._changed:
            while not self._is_closed:
                if is_given_up():
                    return False
                if self._taken < self._size:
                    self._taken += 1
                    return True
                if time.monotonic() > deadline:
                    raise SourceUnavailable(
                        f"All {self._size} connections of this source are busy. "
                        "Try again when other statements have ended."
                    )
                self._changed.wait(_LOOK_SECONDS)
        raise SourceUnavailable("This source was closed. Open it again.")

    def _reused(self) -> C | None:
        while True:
            with self._changed:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if self._is_alive(connection):
                return connection
            self._close_quietly(connection)

    def _leave(self) -> None:
        with self._changed:
            self._taken -= 1
            self._changed.notify()

    def _close_quietly(self, connection: C) -> None:
        try:
            self._close_one(connection)
        except Exception:
            logger.info("closing a connection", exc_info=True)
