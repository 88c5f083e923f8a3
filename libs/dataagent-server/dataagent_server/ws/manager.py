"""The open sockets by session, their users, and the limit on their number.

Counts connections: several tabs may watch one session. Every change happens on the event loop
without an `await` in between, so the counts stay consistent.

For programs that run agents beside their sockets, `send_event` sends events, `resolve_decision`
receives decisions, and `start_task` begins a turn that `cancel_task` stops. In this server runs
have their own service (`dataagent_core.runs`), independent of sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from fastapi import HTTPException
from starlette.websockets import WebSocket

from dataagent_core.errors import SessionBusy, TooManyConnections
from dataagent_core.events import ExecutionEvent
from dataagent_core.identity import Principal
from dataagent_core.mcp.changes import McpChange
from dataagent_server.deps.connections import Capacity
from dataagent_server.ws.outbox import ClientGone, Outbox
from dataagent_server.ws.protocol import event_frame, mcp_changed_frame

T = TypeVar("T")
_MAX_EARLY_DECISIONS = 1_000
_FULL = "Service temporarily unavailable, please try again later"

FinishSocket = Callable[[], Awaitable[None]]
NotifySocket = Callable[[str, bytes], None]
"""Sends a notice without waiting; a newer one about the same thing replaces it."""


@dataclass(slots=True, eq=False)
class Connection:
    """One open socket. `user_id` is None until the client is authenticated."""

    connection_id: str
    session_id: str
    outbox: Outbox | None = None
    finish: FinishSocket | None = None
    notify: NotifySocket | None = None
    user_id: str | None = None
    tenant_id: str | None = None
    awaits_auth: bool = False


@dataclass(slots=True, eq=False)
class _PendingDecision:
    """A caller waiting for a decision; with `request_id` None for any of the session's."""

    request_id: str | None
    decision: asyncio.Future[dict[str, Any] | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class ConnectionManager:
    """The open sockets, by session."""

    def __init__(self, max_connections: int = 200, *, capacity: Capacity | None = None) -> None:
        """`capacity`, if given, is shared with other connections and replaces `max_connections`."""
        self._capacity = capacity or Capacity(max_connections)
        self._connections: dict[str, Connection] = {}
        self._by_session: dict[str, set[str]] = {}
        self._pending: dict[str, list[_PendingDecision]] = {}
        self._early_decisions: dict[tuple[str, str], dict[str, Any]] = {}
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    @property
    def count(self) -> int:
        """How many sockets are open."""
        return len(self._connections)

    # -- sockets ------------------------------------------------------------------------------

    async def connect(self, websocket: WebSocket, session_id: str) -> bool:
        """Accept a socket; False, without accepting it, at the limit."""
        outbox = Outbox(websocket)
        try:
            connection = self.open(session_id, outbox)
        except TooManyConnections:
            return False
        try:
            await outbox.accept()
        except ClientGone:
            self.close(connection)
            return False
        return True

    def disconnect(self, session_id: str) -> None:
        """Drop the session's sockets, its pending decisions and its task."""
        for connection in self.of_session(session_id):
            self.close(connection)
        for pending in self._pending.pop(session_id, ()):
            _resolve(pending, None)
        for key in [each for each in self._early_decisions if each[0] == session_id]:
            del self._early_decisions[key]
        task = self._tasks.pop(session_id, None)
        if task is not None:
            task.cancel()

    async def check_capacity(self) -> None:
        """Whether one more socket may be opened.

        Raises:
            HTTPException: 503, the limit is reached.
        """
        if self._capacity.used >= self._capacity.limit:
            raise HTTPException(503, _FULL, headers={"Retry-After": "5"})

    def open(self, session_id: str, outbox: Outbox | None = None) -> Connection:
        """Register a socket, before it is accepted.

        Raises:
            TooManyConnections: the server is full.
        """
        self._capacity.take()
        connection = Connection(str(uuid4()), session_id, outbox)
        self._connections[connection.connection_id] = connection
        self._by_session.setdefault(session_id, set()).add(connection.connection_id)
        return connection

    def expect_auth(self, connection: Connection) -> None:
        """Accept a client that will authenticate in its first message.

        Such clients may hold half of the slots, so that strangers cannot take them all.

        Raises:
            TooManyConnections: they hold half already.
        """
        if self._count_unauthenticated() >= max(1, self._capacity.limit // 2):
            raise TooManyConnections(
                "Too many connections wait for their `auth` message. Try again later."
            )
        connection.awaits_auth = True

    def identify(self, connection: Connection, principal: Principal) -> None:
        """Assign a socket to its user, and count it for them.

        Raises:
            UserLimit: the user holds as many connections as allowed.
        """
        self._capacity.assign(principal.user_id)
        connection.user_id = principal.user_id
        connection.tenant_id = principal.tenant_id

    def close(self, connection: Connection) -> None:
        """Unregister a socket; a second call does nothing."""
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

    # -- turns of other programs --------------------------------------------------------------

    async def send_event(self, session_id: str, event: ExecutionEvent) -> None:
        """Send an event to the session's sockets; those of clients that have left are dropped."""
        frame = event_frame(event)
        for connection in self.of_session(session_id):
            if connection.outbox is None:
                continue
            try:
                await connection.outbox.send(frame)
            except ClientGone:
                self.close(connection)

    async def wait_for_decision(
        self,
        session_id: str,
        timeout: float,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any] | None:
        """The next decision for a session, or for one of its requests; None if none comes."""
        if request_id is not None and (session_id, request_id) in self._early_decisions:
            return self._early_decisions.pop((session_id, request_id))
        pending = _PendingDecision(request_id)
        self._pending.setdefault(session_id, []).append(pending)
        try:
            async with asyncio.timeout(timeout):
                return await pending.decision
        except TimeoutError:
            return None
        finally:
            self._forget(session_id, pending)

    def resolve_decision(self, session_id: str, decision: dict[str, Any]) -> None:
        """Deliver a decision to the waiter for its `request_id`, else to the longest-waiting one.

        If there is no waiter yet, a decision that names its request is stored for it.
        """
        request_id = decision.get("request_id")
        for pending in self._pending.get(session_id, ()):
            is_addressed = request_id is None or pending.request_id in (None, request_id)
            if is_addressed and not pending.decision.done():
                _resolve(pending, decision)
                return
        if isinstance(request_id, str):
            while len(self._early_decisions) >= _MAX_EARLY_DECISIONS:
                del self._early_decisions[next(iter(self._early_decisions))]
            self._early_decisions[session_id, request_id] = decision

    async def start_task(self, session_id: str, coro: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin a turn of the session, which `cancel_task` can stop.

        Raises:
            SessionBusy: its previous turn has not ended.
        """
        earlier = self._tasks.get(session_id)
        if earlier is not None and not earlier.done():
            coro.close()
            raise SessionBusy("A turn of this session is active. Wait for it or cancel it.")
        self._tasks = {key: task for key, task in self._tasks.items() if not task.done()}
        task = self._tasks[session_id] = asyncio.create_task(coro)
        return task

    async def cancel_task(self, session_id: str) -> bool:
        """Stop the session's turn; False if none is active."""
        task = self._tasks.get(session_id)
        return task is not None and task.cancel()

    def _forget(self, session_id: str, pending: _PendingDecision) -> None:
        waiting = self._pending.get(session_id, [])
        if pending in waiting:
            waiting.remove(pending)
            if not waiting:
                del self._pending[session_id]

    # -- all sockets --------------------------------------------------------------------------

    def notify_mcp_change(self, change: McpChange) -> None:
        """Notify the sockets of users whom a change of an MCP server concerns."""
        frame = mcp_changed_frame(change)
        for each in self._connections.values():
            if each.notify is not None and _concerns(change, each):
                each.notify(f"{change.what} {change.server_id}", frame)

    async def finish_all(self) -> None:
        """Let every socket send what is committed, then close it, at shutdown."""
        finishing = [each.finish() for each in self._connections.values() if each.finish]
        await asyncio.gather(*finishing, return_exceptions=True)

    def _count_unauthenticated(self) -> int:
        connections = self._connections.values()
        return sum(each.awaits_auth and each.user_id is None for each in connections)


def _concerns(change: McpChange, connection: Connection) -> bool:
    """Whether a change is of a server of the socket's user, of their tenant, or of everyone."""
    if change.user_id is not None:
        return change.user_id == connection.user_id
    return connection.user_id is not None and change.tenant_id in (None, connection.tenant_id)


def _resolve(pending: _PendingDecision, decision: dict[str, Any] | None) -> None:
    if not pending.decision.done():
        pending.decision.set_result(decision)
