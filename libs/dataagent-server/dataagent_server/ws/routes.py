"""`/ws/chat/{session_id}`: a socket's handshake, authentication and session.

Over the limit a client gets HTTP 503 with `Retry-After` before a socket exists. Refusals before
the handshake completes are HTTP responses in the error envelope; after it, an `error` message and
a close code, which browsers can read.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress

from fastapi import FastAPI
from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from dataagent_core.errors import (
    BadInput,
    DataAgentError,
    Denied,
    NotAuthenticated,
    NotFound,
    SessionDeleted,
    SessionNotFound,
    TooManyConnections,
    Unavailable,
    UserLimit,
)
from dataagent_core.identity import Principal
from dataagent_core.telemetry import bind_user
from dataagent_server.api.deps import container_of
from dataagent_server.auth import Credentials, read_credentials
from dataagent_server.deps.chat import DEFAULT_ASSISTANT
from dataagent_server.deps.container import Container
from dataagent_server.models.common import ErrorResponse
from dataagent_server.ws import protocol
from dataagent_server.ws.handlers import (
    NO_SUCH_SESSION,
    NOT_AUTHENTICATED,
    TRY_AGAIN_LATER,
    WebSocketChatHandler,
)
from dataagent_server.ws.manager import Connection, ConnectionManager
from dataagent_server.ws.outbox import ClientGone, Outbox
from dataagent_server.ws.protocol import AuthCommand

NOT_YOURS = 4403
AUTH_SECONDS = 10.0
"""How long a client may take to send its `auth` message."""
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,63}")
_MAX_SEQ = 2**53


class _HandshakeRefused(Exception):
    """The socket is closed with a code."""

    def __init__(self, code: int, error: DataAgentError) -> None:
        super().__init__(error.message)
        self.code = code
        self.error = error


class Handshake:
    """One client, from its handshake to its end."""

    def __init__(
        self,
        websocket: WebSocket,
        outbox: Outbox,
        container: Container,
        connections: ConnectionManager,
        connection: Connection,
    ) -> None:
        self._websocket = websocket
        self._outbox = outbox
        self._container = container
        self._connections = connections
        self._connection = connection
        self._session_id = connection.session_id

    async def run(self) -> None:
        """Authenticate the client, open its session and serve it until it leaves.

        Raises:
            ClientGone: it left before that.
        """
        refusal: NotAuthenticated | None = None
        principal: Principal | None = None
        try:
            after = _cursor(self._websocket.query_params)
            principal = await self._from_handshake()
        except NotAuthenticated as error:  # sent as a close code, which needs an open socket
            refusal, after = error, None
        except DataAgentError as error:
            await deny(self._websocket, error, _STATUS.get(type(error), 503))
            return
        await self._outbox.accept()
        try:
            if refusal is not None:
                raise _HandshakeRefused(NOT_AUTHENTICATED, refusal)
            principal = principal or await self._from_first_message()
            self._identify(principal)
            bind_user(principal.user_id, via=principal.via)
            await self._open_session(principal)
        except _HandshakeRefused as refused:
            await self._outbox.send(protocol.error_frame(refused.error))
            await self._outbox.close(refused.code, refused.error.code)
            return
        await self._serve_chat(principal, after)

    async def _serve_chat(self, principal: Principal, after: int | None) -> None:
        socket = WebSocketChatHandler(
            self._websocket,
            self._outbox,
            self._container,
            session_id=self._session_id,
            principal=principal,
        )
        self._connection.finish = socket.finish
        self._connection.notify = socket.notify
        try:
            with self._container.live_connections.register(principal, socket.close_revoked):
                await socket.serve(after)
        except DataAgentError as error:
            await self._outbox.close(TRY_AGAIN_LATER, error.code)
        finally:
            self._connections.close(self._connection)
            if self._cancels_on_disconnect():
                await socket.cancel_abandoned_run()

    def _cancels_on_disconnect(self) -> bool:
        return (
            self._container.settings.on_disconnect == "cancel"
            and not self._container.closing.is_set()
            and not self._connections.of_session(self._session_id)
        )

    # -- authentication ---------------------------------------------------------------------

    async def _from_handshake(self) -> Principal | None:
        """The caller, by the handshake's credential; None if it has none."""
        credentials = read_credentials(self._websocket.headers)
        auth = self._container.auth
        if credentials.is_empty and not auth.is_disabled:
            self._connections.expect_auth(self._connection)
            return None
        return await auth.authenticate(credentials, from_page=True)

    async def _from_first_message(self) -> Principal:
        """The caller, by an `auth` message, within a time limit."""
        try:
            async with asyncio.timeout(AUTH_SECONDS):
                while (command := await self._next_auth()) is None:
                    continue
        except TimeoutError:
            late = NotAuthenticated("No `auth` message arrived in time.")
            raise _HandshakeRefused(NOT_AUTHENTICATED, late) from None
        handshake = read_credentials(self._websocket.headers)
        credentials = Credentials(
            api_key=command.api_key, bearer=command.token, acting_for=handshake.acting_for
        )
        try:
            return await self._container.auth.authenticate(credentials, from_page=True)
        except (NotAuthenticated, Denied, BadInput) as error:
            raise _HandshakeRefused(NOT_AUTHENTICATED, error) from None
        except Unavailable as error:
            raise _HandshakeRefused(TRY_AGAIN_LATER, error) from None

    async def _next_auth(self) -> AuthCommand | None:
        """The next message if it is `auth`; others are answered with an error."""
        message = await self._websocket.receive()
        if message["type"] != "websocket.receive":
            raise ClientGone
        try:
            command = protocol.parse(message.get("text"), max_bytes=_MAX_AUTH)
        except BadInput as error:
            await self._outbox.send(protocol.error_frame(error))
            return None
        if isinstance(command, AuthCommand):
            return command
        missing = NotAuthenticated("Send an `auth` message first.")
        await self._outbox.send(protocol.error_frame(missing))
        return None

    def _identify(self, principal: Principal) -> None:
        try:
            self._connections.identify(self._connection, principal)
        except UserLimit as error:
            raise _HandshakeRefused(TRY_AGAIN_LATER, error) from None

    # -- the session ------------------------------------------------------------------------

    async def _open_session(self, principal: Principal) -> None:
        """Find the caller's session, or create it under a fresh UUID."""
        sessions = self._container.core.sessions
        is_uuid = _UUID.fullmatch(self._session_id) is not None
        try:
            if not _SESSION_ID.fullmatch(self._session_id):
                raise SessionNotFound("There is no such session.")
            if is_uuid:
                await sessions.get_or_create_session(
                    principal.user_id, DEFAULT_ASSISTANT, self._session_id
                )
            else:
                await sessions.get(self._session_id, owner=principal.user_id)
        except SessionDeleted as error:
            raise _HandshakeRefused(NO_SUCH_SESSION, error) from None
        except SessionNotFound as error:  # a new UUID would have been created
            raise _HandshakeRefused(NOT_YOURS if is_uuid else NO_SUCH_SESSION, error) from None
        except DataAgentError as error:
            raise _HandshakeRefused(TRY_AGAIN_LATER, error) from None


_MAX_AUTH = 16 * 1024
_STATUS: dict[type[DataAgentError], int] = {BadInput: 422, Denied: 403, TooManyConnections: 503}


def _cursor(query: QueryParams) -> int | None:
    """`?after=`: the last `seq` the client has seen; None for new events only.

    Raises:
        BadInput: not a number that can be a `seq`.
    """
    text = query.get("after")
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and int(text) < _MAX_SEQ):
        raise BadInput("`after` is the `seq` of the last event you have seen, 0 for none.")
    return int(text)


async def deny(websocket: WebSocket, error: DataAgentError, status: int) -> None:
    """Refuse the handshake with an HTTP answer in the error envelope."""
    if "websocket.http.response" not in (websocket.scope.get("extensions") or {}):
        await websocket.close(TRY_AGAIN_LATER, error.code)
        return
    body = ErrorResponse(error_code=error.code, message=error.message)
    headers = {"Retry-After": "5"} if status == 503 else None
    response = Response(
        body.model_dump_json(exclude_none=True),
        status_code=status,
        media_type="application/json",
        headers=headers,
    )
    with suppress(OSError):  # the client has left
        await websocket.send_denial_response(response)


def add_socket_route(app: FastAPI) -> None:
    """Add the chat socket, and a refusal for all other addresses."""
    app.router.routes.append(WebSocketRoute("/ws/chat/{session_id}", chat, name="ws_chat"))
    app.router.routes.append(WebSocketRoute("/{path:path}", refuse_socket, name="ws_unknown"))


async def refuse_socket(websocket: WebSocket) -> None:
    """Refuse a socket at an unknown address."""
    await deny(websocket, NotFound("There is no socket here. Use /ws/chat/{session_id}."), 404)


async def chat(websocket: WebSocket) -> None:
    """Serve one socket from handshake to end."""
    connections: ConnectionManager = websocket.app.state.connections
    outbox = Outbox(websocket)
    try:
        connection = connections.open(websocket.path_params["session_id"], outbox)
    except TooManyConnections as error:
        await deny(websocket, error, 503)
        return
    try:
        await Handshake(websocket, outbox, container_of(websocket), connections, connection).run()
    except ClientGone:
        return
    finally:
        connections.close(connection)
