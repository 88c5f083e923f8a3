"""How many long-lived connections (sockets and event streams) the server holds at once."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from dataagent_core.errors import TooManyConnections


class Capacity:
    """A count with a limit. Used from the event loop only, and never across an `await`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0

    @property
    def used(self) -> int:
        """How many slots are taken."""
        return self._used

    @property
    def limit(self) -> int:
        """How many slots there are."""
        return self._limit

    def take(self) -> None:
        """Take a slot; give it back with `release`.

        Raises:
            TooManyConnections: all are taken.
        """
        if self._used >= self._limit:
            raise TooManyConnections(
                f"The server holds {self._limit} connections, as many as it may. Try again later."
            )
        self._used += 1

    def release(self) -> None:
        """Give a slot back."""
        self._used -= 1

    @contextmanager
    def slot(self) -> Generator[None]:
        """Hold a slot for a while.

        Raises:
            TooManyConnections: all are taken.
        """
        self.take()
        try:
            yield
        finally:
            self.release()
