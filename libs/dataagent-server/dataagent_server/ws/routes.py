"""`/ws/chat/{session_id}`: the route, and the room there is for sockets.

Over the limit a client gets HTTP 503 with `Retry-After` before a socket exists. Everything after
that is a `Handshake`.
"""

from __future__ import annotations

from fastapi import FastAPI
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from dataagent_core.errors import NotFound, TooManyConnections
from dataagent_server.api.deps import container_of
from dataagent_server.ws.handshake import Handshake, deny
from dataagent_server.ws.manager import ConnectionManager
from dataagent_server.ws.outbox import ClientGone, Outbox


def add_socket_route(app: FastAPI) -> None:
    """Open the door, and put up a sign everywhere else."""
    app.router.routes.append(WebSocketRoute("/ws/chat/{session_id}", chat, name="ws_chat"))
    app.router.routes.append(WebSocketRoute("/{path:path}", refuse_socket, name="ws_nowhere"))


async def refuse_socket(websocket: WebSocket) -> None:
    """Refuse a socket at an address that has none."""
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
