"""Long-lived connections: sockets, event streams and requests that wait for an answer.

`Capacity` counts them. `LiveConnections` closes those whose user may not use the server any more:
when a change is committed here, when another process publishes one, and at the latest in the next
periodic check, which is one query for all of them. `DeliveryProgress` lets a shutdown wait until a
reader has received what is committed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

from dataagent_core.errors import DataAgentError, TooManyConnections, UserLimit
from dataagent_core.identity import Principal
from dataagent_server.auth import Authenticator

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
        """Count a slot that was taken without a user as the user's.

        Raises:
            UserLimit: the user holds as many as allowed.
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


logger = logging.getLogger(__name__)
CloseConnection = Callable[[], Awaitable[None]]
_CLOSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _LiveConnection:
    principal: Principal
    close: CloseConnection


class LiveConnections:
    """The connections that outlive a request. Used from the event loop only."""

    def __init__(self, auth: Authenticator) -> None:
        self._auth = auth
        self._registered: set[_LiveConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._registered)

    @contextmanager
    def register(self, principal: Principal, close: CloseConnection) -> Generator[None]:
        """Register a connection; `close` is called, once, when the principal loses access."""
        connection = _LiveConnection(principal, close)
        self._registered.add(connection)
        try:
            yield
        finally:
            self._registered.discard(connection)

    async def recheck_user(self, user_id: str) -> None:
        """Close a user's connections whose credential has ended. Does not raise."""
        await self._close_revoked(
            each for each in self._registered if each.principal.user_id == user_id
        )

    async def recheck_all(self) -> None:
        """Close all connections whose credential has ended. Does not raise."""
        await self._close_revoked(self._registered)

    def schedule_recheck(self, user_id: str | None) -> None:
        """As `recheck_user`, or `recheck_all` for None, without waiting for it."""
        check = self.recheck_all() if user_id is None else self.recheck_user(user_id)
        task = asyncio.create_task(check)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def watch(self, interval_seconds: float) -> None:
        """Check all connections periodically, forever."""
        while True:
            await asyncio.sleep(interval_seconds)
            await self.recheck_all()

    async def _close_revoked(self, live_connections: Iterable[_LiveConnection]) -> None:
        candidates = list(live_connections)
        try:
            revoked = await self._auth.find_revoked([each.principal for each in candidates])
        except DataAgentError as error:  # the next check will
            logger.warning("open connections were not checked: %s", error.message)
            return
        except Exception:
            logger.exception("open connections were not checked")
            return
        revoked_ids = {id(each) for each in revoked}
        closing = [
            each
            for each in candidates
            if id(each.principal) in revoked_ids and each in self._registered
        ]
        self._registered.difference_update(closing)
        tasks = {asyncio.create_task(_close(each)) for each in closing}
        for task in tasks:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if tasks:  # the transport disconnects a client that does not read
            await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)


async def _close(connection: _LiveConnection) -> None:
    try:
        await connection.close()
    except Exception:
        logger.exception("a connection was not closed")


class DeliveryProgress:
    """The `seq` of the last event a reader was sent."""

    __slots__ = ("_changed", "_seq")

    def __init__(self, seq: int) -> None:
        self._seq = seq
        self._changed: asyncio.Event | None = None

    def advance(self, seq: int) -> None:
        """The reader has been sent everything up to this."""
        self._seq = seq
        if self._changed is not None:
            self._changed.set()

    async def reach(self, seq: int) -> None:
        """Wait until the reader has been sent everything up to this."""
        while self._seq < seq:
            self._changed = asyncio.Event()
            await self._changed.wait()
