"""How many MCP sessions each user has open.

The SDK keeps the sessions and has a limit for all of them together; whose they are is counted here,
by the requests that open, use and end them. A session without a request for `idle_seconds` is ended
by the SDK and no longer counted.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from dataagent_core.errors import UserLimit

_RETRY_AFTER_SECONDS = 60


@dataclass(slots=True)
class _OpenSession:
    user_id: str
    requests: int = 0  # under way
    used_at: float = field(default_factory=time.monotonic)


class UserSessions:
    """Passes requests on to the SDK's sessions, within each user's share of them."""

    def __init__(
        self, manager: StreamableHTTPSessionManager, *, per_user: int, idle_seconds: float
    ) -> None:
        """`per_user` is how many sessions one user may have open; 0 is any number."""
        self._manager = manager
        self._per_user = per_user
        self._idle_seconds = idle_seconds
        self._open: dict[str, _OpenSession] = {}
        self._opening: Counter[str] = Counter()

    async def handle_request(
        self, scope: Scope, receive: Receive, send: Send, *, user_id: str
    ) -> None:
        """Serve a request of the user's.

        Raises:
            UserLimit: it would open a session, and the user has as many as one may.
        """
        session_id = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        if session_id is not None:
            await self._use(session_id, scope, receive, send)
        elif self._manager.stateless or not _opens_session(scope):
            await self._manager.handle_request(scope, receive, send)
        else:
            await self._begin(user_id, scope, receive, send)

    async def _begin(self, user_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that opens a session, or is refused by the SDK and opens none."""
        self._check(user_id)
        opened: str | None = None

        async def watch(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if opened is not None:
                    self._count_session(user_id)
                    self._open[opened] = _OpenSession(user_id, requests=1)
            await send(message)

        self._opening[user_id] += 1
        try:
            await self._manager.handle_request(scope, receive, watch)
        finally:
            if opened is None:
                self._count_session(user_id)
            else:
                self._touch(opened)

    def _count_session(self, user_id: str) -> None:
        """An attempt to open a session is over."""
        self._opening[user_id] -= 1
        if not self._opening[user_id]:
            del self._opening[user_id]

    async def _use(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a session, which it may end."""
        statuses: list[int] = []

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        session = self._open.get(session_id)
        if session is not None:
            session.requests += 1
        try:
            await self._manager.handle_request(scope, receive, watch)
        finally:
            self._touch(session_id)
            if scope["method"] == "DELETE" and statuses and statuses[0] < 400:
                self._open.pop(session_id, None)

    def _touch(self, session_id: str) -> None:
        session = self._open.get(session_id)
        if session is not None:
            session.requests -= 1
            session.used_at = time.monotonic()

    def _check(self, user_id: str) -> None:
        if not self._per_user:
            return
        used = self._opening[user_id] + sum(each.user_id == user_id for each in self._living())
        if used >= self._per_user:
            raise UserLimit(
                f"You have {used} MCP sessions open, as many as one user may. End one with "
                f"DELETE /mcp; one that is not used for {self._idle_seconds / 60:.0f} minutes "
                "ends by itself.",
                details={"what": "mcp_sessions", "limit": self._per_user, "used": used},
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )

    def _living(self) -> list[_OpenSession]:
        """The open sessions; those that were idle for too long have ended."""
        oldest = time.monotonic() - self._idle_seconds
        ended = [
            session_id
            for session_id, each in self._open.items()
            if not each.requests and each.used_at < oldest
        ]
        for session_id in ended:
            del self._open[session_id]
        return list(self._open.values())


def _opens_session(scope: Scope) -> bool:
    """Whether the SDK would make a session for a request that names none."""
    version = Headers(scope=scope).get(MCP_PROTOCOL_VERSION_HEADER)
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
