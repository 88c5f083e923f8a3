"""Who stays: sockets and event streams, which are let go as soon as their user may not be here.

A change made in this process is looked at when it is committed; one made in another process when
that is heard of, and at the latest in the next round. One round asks for all visitors together, so
a thousand of them cost one query. Not here: how a socket or a stream ends. Above: `ws/`, `api/`.
Below: `auth/`, which knows who is out.

How many long-lived connections (sockets, event streams, waiting requests) there are at once.

The server has a number of slots, and each user a share of them.

How far a reader has been served, and waiting for it to be served that far.

When the server ends, what is committed is still delivered before a reader is let go.
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


logger = logging.getLogger(__name__)
CloseConnection = Callable[[], Awaitable[None]]
_CLOSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _LiveConnection:
    principal: Principal
    close: CloseConnection


class LiveConnections:
    """Everyone who stays longer than a request. Used from the event loop only."""

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
        """Be here; `close` is called, once, when the principal may not be any more."""
        connection = _LiveConnection(principal, close)
        self._registered.add(connection)
        try:
            yield
        finally:
            self._registered.discard(connection)

    async def recheck_user(self, user_id: str) -> None:
        """Something changed about a user: let those go who are theirs and out. Does not raise."""
        await self._close_revoked(
            each for each in self._registered if each.principal.user_id == user_id
        )

    async def recheck_all(self) -> None:
        """Let everyone go who is out. Does not raise."""
        await self._close_revoked(self._registered)

    def schedule_recheck(self, user_id: str | None) -> None:
        """As `recheck_user`, or `recheck_all` for None, without waiting for it."""
        look = self.recheck_all() if user_id is None else self.recheck_user(user_id)
        task = asyncio.create_task(look)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def watch(self, interval_seconds: float) -> None:
        """Look round for ever."""
        while True:
            await asyncio.sleep(interval_seconds)
            await self.recheck_all()

    async def _close_revoked(self, live_connections: Iterable[_LiveConnection]) -> None:
        asked = list(live_connections)
        try:
            found = await self._auth.find_revoked([each.principal for each in asked])
        except DataAgentError as error:  # nobody can tell; the next round will
            logger.warning("visitors were not looked at: %s", error.message)
            return
        except Exception:
            logger.exception("visitors were not looked at")
            return
        out = {id(each) for each in found}
        gone = [each for each in asked if id(each.principal) in out and each in self._registered]
        self._registered.difference_update(gone)
        tasks = {asyncio.create_task(_close(each)) for each in gone}
        for task in tasks:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if tasks:  # who takes nothing is cut off by the transport; nobody waits for that
            await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)


async def _close(connection: _LiveConnection) -> None:
    try:
        await connection.close()
    except Exception:
        logger.exception("a visitor did not leave")


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
