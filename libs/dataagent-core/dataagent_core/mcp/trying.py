"""Trying a server out: connect as a user's sessions would, and tell how it went.

The first answer counts, a failure too; nobody waits for a second try. Above: `service.py`,
`administration.py`. Below: `hub.py`.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from dataagent_core.mcp.connection import ServerConnection
from dataagent_core.mcp.types import ConnectionStatus, ServerSpec
from dataagent_core.mcp.views import Trial, view_of

if TYPE_CHECKING:
    from dataagent_core.mcp.hub import McpHub

_SHARED = "shared"
_FAILING = frozenset({"backoff", "auth_required"})
_OVER = frozenset({"ready", "closed", "disabled"})


async def try_out(hub: McpHub, spec: ServerSpec, *, user_id: str) -> Trial:
    """Connect to a server, and say how it went.

    Raises:
        TooManyServers: the user has as many connections as they may.
    """
    started = time.monotonic()
    session_id = f"test:{uuid.uuid4().hex}"
    status = ConnectionStatus("disabled", "It is disabled.")
    if not spec.disabled:
        try:
            connection = await _fresh(hub, spec, user_id=user_id, session_id=session_id)
            await _first_answer(hub, connection, spec.connect_timeout_seconds)
            status = connection.status
        finally:
            hub.pool.release(session_id)
    view = replace(await view_of(hub, spec, user_id=user_id), status=status)
    return Trial(view, status.state == "ready", (time.monotonic() - started) * 1000)


async def _fresh(
    hub: McpHub, spec: ServerSpec, *, user_id: str, session_id: str
) -> ServerConnection:
    """The user's connection; in place of one of their own that fails, a new one."""
    connection = hub.pool.lease(spec, user_id=user_id, session_id=session_id)
    principal = connection.key.principal
    if connection.status.state in _FAILING and principal != _SHARED:
        await hub.pool.drop(spec.server_id, principal=principal)
        connection = hub.pool.lease(spec, user_id=user_id, session_id=session_id)
    return connection


async def _first_answer(hub: McpHub, connection: ServerConnection, seconds: float) -> None:
    """Wait until it is ready, or a try has failed."""
    failed_before = connection.status.fail_count
    turned = asyncio.Event()
    stop = hub.listen(lambda _: turned.set())
    connection.wake()
    try:
        async with asyncio.timeout(seconds):
            while not _is_told(connection.status, failed_before):
                await turned.wait()
                turned.clear()
    except TimeoutError:
        return
    finally:
        stop()


def _is_told(status: ConnectionStatus, failed_before: int) -> bool:
    has_failed = status.state in _FAILING and status.fail_count != failed_before
    return status.state in _OVER or has_failed
