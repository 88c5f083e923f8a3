"""Who stays: sockets and event streams, which are let go as soon as their user may not be here.

A change made in this process is looked at when it is committed; one made in another process when
that is heard of, and at the latest in the next round. One round asks for all visitors together, so
a thousand of them cost one query. Not here: how a socket or a stream ends. Above: `ws/`, `api/`.
Below: `auth/`, which knows who is out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

from dataagent_core.errors import DataAgentError
from dataagent_core.identity import Principal
from dataagent_server.auth import Authenticator

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
