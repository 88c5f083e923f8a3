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
Leave = Callable[[], Awaitable[None]]
_LEAVE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class _Visitor:
    principal: Principal
    leave: Leave


class Visitors:
    """Everyone who stays longer than a request. Used from the event loop only."""

    def __init__(self, auth: Authenticator) -> None:
        self._auth = auth
        self._present: set[_Visitor] = set()
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._present)

    @contextmanager
    def present(self, principal: Principal, leave: Leave) -> Generator[None]:
        """Be here; `leave` is called, once, when the principal may not be any more."""
        visitor = _Visitor(principal, leave)
        self._present.add(visitor)
        try:
            yield
        finally:
            self._present.discard(visitor)

    async def look_again(self, user_id: str) -> None:
        """Something changed about a user: let those go who are theirs and out. Does not raise."""
        await self._let_go(each for each in self._present if each.principal.user_id == user_id)

    async def look_round(self) -> None:
        """Let everyone go who is out. Does not raise."""
        await self._let_go(self._present)

    def look_soon(self, user_id: str | None) -> None:
        """As `look_again`, or `look_round` for None, without waiting for it."""
        look = self.look_round() if user_id is None else self.look_again(user_id)
        task = asyncio.create_task(look)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def watch(self, interval_seconds: float) -> None:
        """Look round for ever."""
        while True:
            await asyncio.sleep(interval_seconds)
            await self.look_round()

    async def _let_go(self, visitors: Iterable[_Visitor]) -> None:
        asked = list(visitors)
        try:
            found = await self._auth.those_out([each.principal for each in asked])
        except DataAgentError as error:  # nobody can tell; the next round will
            logger.warning("visitors were not looked at: %s", error.message)
            return
        except Exception:
            logger.exception("visitors were not looked at")
            return
        out = {id(each) for each in found}
        gone = [each for each in asked if id(each.principal) in out and each in self._present]
        self._present.difference_update(gone)
        tasks = {asyncio.create_task(_let_one_go(each)) for each in gone}
        for task in tasks:
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
        if tasks:  # who takes nothing is cut off by the transport; nobody waits for that
            await asyncio.wait(tasks, timeout=_LEAVE_SECONDS)


async def _let_one_go(visitor: _Visitor) -> None:
    try:
        await visitor.leave()
    except Exception:
        logger.exception("a visitor did not leave")
