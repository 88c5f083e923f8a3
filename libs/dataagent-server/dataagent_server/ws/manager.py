"""Which sockets are open, whose they are, and how many there may be.

Counted by connection: several tabs may watch one session, and one tab's end is not the other's. All
of it happens on the event loop without an `await` in between, which is what keeps it consistent. It
holds no runs, no approvals and no events: those live with the run. Who has to go because their user
may not be here any more is `deps/visitors.py`'s business. Above: `visit.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4

from dataagent_core.errors import TooManyConnections
from dataagent_core.identity import Principal
from dataagent_core.mcp.changes import McpChange
from dataagent_server.deps.capacity import Capacity
from dataagent_server.ws.protocol import mcp_changed_frame

FinishSocket = Callable[[], Awaitable[None]]
NotifySocket = Callable[[str, bytes], None]
"""Sends a notice soon, without waiting; of several about one thing the last."""


@dataclass(slots=True, eq=False)
class Connection:
    """One open socket. `user_id` is None until it is known whose it is."""

    connection_id: str
    session_id: str
    finish: FinishSocket | None = None
    notify: NotifySocket | None = None
    user_id: str | None = None
    tenant_id: str | None = None
    is_stranger: bool = False


class ConnectionManager:
    """The open sockets."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._connections: dict[str, Connection] = {}
        self._by_session: dict[str, set[str]] = {}

    @property
    def count(self) -> int:
        """How many sockets are open."""
        return len(self._connections)

    def open(self, session_id: str) -> Connection:
        """Count a socket in, before it is accepted.

        Raises:
            TooManyConnections: the server is full.
        """
        self._capacity.take()
        connection = Connection(str(uuid4()), session_id)
        self._connections[connection.connection_id] = connection
        self._by_session.setdefault(session_id, set()).add(connection.connection_id)
        return connection

    def expect_auth(self, connection: Connection) -> None:
        """Let a client in that will say who it is in its first message.

        Such clients may hold half of the slots, so that strangers cannot take them all.

        Raises:
            TooManyConnections: too many of them wait already.
        """
        if self._strangers() >= max(1, self._capacity.limit // 2):
            raise TooManyConnections(
                "Too many connections wait for their `auth` message. Try again later."
            )
        connection.is_stranger = True

    def identify(self, connection: Connection, principal: Principal) -> None:
        """Note whose a socket is, and count it for them.

        Raises:
            UserLimit: the user holds as many connections as one may.
        """
        self._capacity.assign(principal.user_id)
        connection.user_id = principal.user_id
        connection.tenant_id = principal.tenant_id

    def close(self, connection: Connection) -> None:
        """Count a socket out; a second time does nothing."""
        if self._connections.pop(connection.connection_id, None) is None:
            return
        self._capacity.release(connection.user_id)
        siblings = self._by_session[connection.session_id]
        siblings.discard(connection.connection_id)
        if not siblings:
            del self._by_session[connection.session_id]

    def of_session(self, session_id: str) -> list[Connection]:
        """The sockets that watch a session."""
        return [self._connections[key] for key in self._by_session.get(session_id, ())]

    def tell(self, change: McpChange) -> None:
        """Send a notice to the sockets of those whom a change of an MCP server concerns."""
        frame = mcp_changed_frame(change)
        for each in self._connections.values():
            if each.notify is not None and _concerns(change, each):
                each.notify(f"{change.what} {change.server_id}", frame)

    async def finish_all(self) -> None:
        """Let every socket send what is committed, and close it: the server ends."""
        finishing = [each.finish() for each in self._connections.values() if each.finish]
        await asyncio.gather(*finishing, return_exceptions=True)

    def _strangers(self) -> int:
        each = self._connections.values()
        return sum(1 for one in each if one.is_stranger and one.user_id is None)


def _concerns(change: McpChange, connection: Connection) -> bool:
    """Whether a change is of a server of the socket's user, of their tenant, or of everyone."""
    if change.user_id is not None:
        return change.user_id == connection.user_id
    return connection.user_id is not None and change.tenant_id in (None, connection.tenant_id)
