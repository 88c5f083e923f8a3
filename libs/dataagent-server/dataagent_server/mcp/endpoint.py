"""The MCP SDK's server over streamable HTTP, for authenticated callers, with limits per user.

Both eras of the protocol are served. A client of the older one has a session in this process, bound
to the caller that opened it; where several processes share the work there are no sessions, so that
any of them can answer. The SDK owns the sessions and limits their total; `UserSessions` counts them
per user, by the requests that open, use and end them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from dataagent_core.errors import LimitReached, NotAuthenticated, UserLimit
from dataagent_core.identity import Principal
from dataagent_server import __version__
from dataagent_server.api.errors import error_response
from dataagent_server.deps.container import Container
from dataagent_server.mcp.ask import AskTool
from dataagent_server.mcp.data import DescribeTable, ListSources, RunSql
from dataagent_server.mcp.toolbox import EndpointTool, Toolbox

_RETRY_AFTER_SECONDS = 60


@dataclass(slots=True)
class _OpenSession:
    user_id: str
    requests: int = 0  # active
    used_at: float = field(default_factory=time.monotonic)


class UserSessions:
    """The SDK's sessions, limited per user."""

    def __init__(
        self, manager: StreamableHTTPSessionManager, *, per_user: int, idle_seconds: float
    ) -> None:
        """A user may have `per_user` open sessions; one unused for `idle_seconds` has ended."""
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
            UserLimit: it would open a session, and the user has as many as allowed.
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
                    self._end_opening(user_id)
                    self._open[opened] = _OpenSession(user_id, requests=1)
            await send(message)

        self._opening[user_id] += 1
        try:
            await self._manager.handle_request(scope, receive, watch)
        finally:
            if opened is None:
                self._end_opening(user_id)
            else:
                self._touch(opened)

    def _end_opening(self, user_id: str) -> None:
        """Count an attempt to open a session as finished."""
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
        used = self._opening[user_id] + sum(
            each.user_id == user_id for each in self._open_sessions()
        )
        if used >= self._per_user:
            raise UserLimit(
                f"You have {used} MCP sessions open, as many as one user may. End one with "
                f"DELETE /mcp; one that is not used for {self._idle_seconds / 60:.0f} minutes "
                "ends by itself.",
                details={"what": "mcp_sessions", "limit": self._per_user, "used": used},
                retry_after_seconds=_RETRY_AFTER_SECONDS,
            )

    def _open_sessions(self) -> list[_OpenSession]:
        """The open sessions, without those that were idle for too long."""
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
    """Whether the SDK would open a session for a request that names none."""
    version = Headers(scope=scope).get(MCP_PROTOCOL_VERSION_HEADER)
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


TOOLS: tuple[EndpointTool, ...] = (AskTool(), ListSources(), DescribeTable(), RunSql())
_INSTRUCTIONS = (
    "DataAgent answers questions about a company's data, under its rules. Use `ask` for a question "
    "in plain words; `list_sources`, `describe_table` and `run_sql` to work with the data yourself."
)
_MOST_BODY = 4 * 1024 * 1024
_MOST_SESSIONS = 1_000
MAX_SESSIONS_PER_USER = 100
_IDLE_SECONDS = 30 * 60.0
_ENDED = "The login or key of this connection has ended."


def make_sdk_server(tools: Sequence[EndpointTool]) -> Server[Any]:
    """The SDK's server with these tools."""
    toolbox = Toolbox(tools)
    return Server(
        "dataagent",
        version=__version__,
        title="DataAgent",
        instructions=_INSTRUCTIONS,
        on_list_tools=toolbox.list,
        on_call_tool=toolbox.call,
    )


class McpEndpoint:
    """The server behind `/mcp`."""

    def __init__(self, container: Container, server: Server[Any]) -> None:
        self._container = container
        self._manager = StreamableHTTPSessionManager(
            server,
            stateless=container.core.peers.bus.is_shared,
            max_request_body_size=_MOST_BODY,
            max_sessions=_MOST_SESSIONS,
            session_idle_timeout=_IDLE_SECONDS,
        )
        self._sessions = UserSessions(
            self._manager,
            per_user=MAX_SESSIONS_PER_USER,
            idle_seconds=_IDLE_SECONDS,
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run the session manager; at the end every session is closed."""
        async with self._manager.run():
            yield

    def answer(self, caller: Principal) -> Response:
        """The response to a request of the caller's."""
        return _Exchange(self._container, self._sessions, caller)


@asynccontextmanager
async def open_endpoint(
    container: Container, server: Server[Any] | None = None
) -> AsyncGenerator[McpEndpoint]:
    """An endpoint with our tools, or with another server, open for the context's duration."""
    endpoint = McpEndpoint(container, server or make_sdk_server(TOOLS))
    async with endpoint.running():
        yield endpoint


class _Exchange(Response):
    """One request and its response, which may be a long stream; holds a connection slot.

    It ends early when its caller's login or key ends, and, if it is a stream of notifications, when
    the server shuts down. Active calls end by themselves.
    """

    def __init__(self, container: Container, sessions: UserSessions, caller: Principal) -> None:
        super().__init__()
        self._container = container
        self._sessions = sessions
        self._caller = caller
        self._revoked = asyncio.Event()
        self._has_begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it; 503 or 429 without a free slot."""
        scope["user"] = _owner(self._caller)
        capacity = self._container.capacity
        try:
            capacity.take(self._caller.user_id)
        except LimitReached as error:
            await error_response(error)(scope, receive, send)
            return
        try:
            with self._container.live_connections.register(self._caller, self._close_revoked):
                await self._serve(scope, receive, send)
        except UserLimit as error:
            await error_response(error)(scope, receive, send)
        finally:
            capacity.release(self._caller.user_id)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watched(message: Message) -> None:
            self._has_begun = True
            await send(message)

        handling = self._sessions.handle_request(
            scope, receive, watched, user_id=self._caller.user_id
        )
        work = asyncio.create_task(handling)
        ends = [asyncio.create_task(self._revoked.wait())]
        if Request(scope).method == "GET":
            ends.append(asyncio.create_task(self._container.closing.wait()))
        try:
            await asyncio.wait([work, *ends], return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
                return
        finally:
            for task in (work, *ends):
                task.cancel()
            await asyncio.gather(work, *ends, return_exceptions=True)
        if not self._has_begun:
            await error_response(NotAuthenticated(_ENDED))(scope, receive, send)

    async def _close_revoked(self) -> None:
        """End the exchange: the caller's login or key has ended."""
        self._revoked.set()


def _owner(caller: Principal) -> AuthenticatedUser:
    """The caller as the SDK identifies users: only who opened a session may use it."""
    key = caller.credential_ref.key_id if caller.credential_ref else None
    token = AccessToken(
        token="", client_id=f"{caller.via}:{key or ''}", scopes=[], subject=caller.user_id
    )
    return AuthenticatedUser(token)
