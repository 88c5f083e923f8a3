"""How many long-lived connections (sockets, event streams, waiting requests) there are at once.

The server has a number of slots, and each user a share of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from dataagent_core.errors import TooManyConnections, UserLimit

_RETRY_AFTER_SECONDS = 5


class Capacity:
    """Counts with limits. Used from the event loop only, and never across an `await`."""

    def __init__(self, limit: int, *, per_user: int = 0) -> None:
        """`per_user` is how many slots one user may hold; 0 is any number."""
        self._limit = limit
        self._per_user = per_user
        self._used = 0
        self._by_user: Counter[str] = Counter()

    @property
    def used(self) -> int:
        """How many slots are taken."""
        return self._used

    @property
    def limit(self) -> int:
        """How many slots there are."""
        return self._limit

    def take(self, user_id: str | None = None) -> None:
        """Take a slot, for a user or for a caller that is not known yet.

        Give it back with `release`.

        Raises:
            TooManyConnections: all are taken.
            UserLimit: as `assign`.
        """
        if self._used >= self._limit:
            raise TooManyConnections(
                f"The server holds {self._limit} connections, as many as it may. Try again later."
            )
        if user_id is not None:
            self.assign(user_id)
        self._used += 1

    def assign(self, user_id: str) -> None:
        """Count a slot that was taken for no one as the user's.

        Raises:
            UserLimit: the user holds as many as one may.
        """
        used = self._by_user[user_id]
        if self._per_user and used >= self._per_user:
            raise UserLimit(
                f"You have {used} connections open, as many as one user may. Close a socket, an "
                "event stream or a request that waits for an answer, then try again.",
                details={"what": "connections", "limit": self._per_user, "used": used},
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )
        self._by_user[user_id] += 1

    def release(self, user_id: str | None = None) -> None:
        """Give a slot back, which is the user's if one is named."""
        self._used -= 1
        if user_id is not None:
            self._by_user[user_id] -= 1
            if not self._by_user[user_id]:
                del self._by_user[user_id]

    @contextmanager
    def slot(self, user_id: str) -> Generator[None]:
        """Hold a slot of the user's for a while.

        Raises:
            TooManyConnections, UserLimit: as `take`.
        """
        self.take(user_id)
        try:
            yield
        finally:
            self.release(user_id)
