"""Trying a server out: connect as a user's sessions would, and tell how it went.

The first answer counts, a failure too; nobody waits for a second try. Above: `service.py`,
`administration.py`. Below: `hub.py`.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from dataagent_core.mcp.connections.connection import ServerConnection
from dataagent_core.mcp.servers.views import Trial, view_of
from dataagent_core.mcp.types import ConnectionStatus, ServerSpec

if TYPE_CHECKING:
    from dataagent_core.mcp.hub import McpHub

_SHARED = "shared"
_FAILING = frozenset({"backoff", "auth_required"})


async def run_trial(hub: McpHub, spec: ServerSpec, *, user_id: str) -> Trial:
    """Connect to a server, and say how it went.

    Raises:
        TooManyServers: the user has as many connections as they may.
    """
    started = time.monotonic()
    session_id = f"test:{uuid.uuid4().hex}"
    status = ConnectionStatus("disabled", "It is disabled.")
    if not spec.disabled:
        try:
            connection = await _fresh_connection(hub, spec, user_id=user_id, session_id=session_id)
            status = await connection.wait_for_outcome(spec.connect_timeout_seconds)
        finally:
            hub.pool.release(session_id)
    view = replace(await view_of(hub, spec, user_id=user_id), status=status)
    return Trial(view, status.state == "ready", (time.monotonic() - started) * 1000)


async def _fresh_connection(
    hub: McpHub, spec: ServerSpec, *, user_id: str, session_id: str
) -> ServerConnection:
    """The user's connection; in place of one of their own that fails, a new one."""
    connection = hub.pool.lease(spec, user_id=user_id, session_id=session_id)
    principal = connection.key.principal
    if connection.status.state in _FAILING and principal != _SHARED:
        await hub.pool.drop(spec.server_id, principal=principal)
        connection = hub.pool.lease(spec, user_id=user_id, session_id=session_id)
    return connection
