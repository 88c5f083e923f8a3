"""Whether the process can take work, and how much of it there is; asked without waiting for long.

What cannot be told because the database is away is None. Above: the health and system routes.
Below: the container.
"""

from __future__ import annotations

import asyncio

from dataagent_core.errors import Unavailable
from dataagent_core.mcp.views import ServerView
from dataagent_core.runs.peers import Peers
from dataagent_core.storage import Database
from dataagent_core.storage.migrate import pending
from dataagent_server.deps.container import Container

_CHECK_SECONDS = 2.0


async def readiness(container: Container) -> dict[str, str]:
    """Each thing that has to work for the process to take work: `ok`, or what is wrong with it."""
    if container.is_draining:
        return {"server": "shutting down"}
    database, peers = await asyncio.gather(
        _of_database(container.core.database), _of_peers(container.core.peers)
    )
    return database | peers


async def _of_database(database: Database) -> dict[str, str]:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await database.ping()
            is_behind = await pending(database)
    except Exception:  # whatever it is, the answer is the same
        return {"database": "does not answer"}
    return {"database": "ok", "migrations": "pending" if is_behind else "ok"}


async def _of_peers(peers: Peers) -> dict[str, str]:
    if not peers.bus.is_shared:
        return {}
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await peers.bus.ping()
            has_workers = peers.queue is None or await peers.queue.has_workers()
    except Exception:  # as above
        return {"bus": "does not answer"}
    if peers.queue is None:
        return {"bus": "ok"}
    return {"bus": "ok", "workers": "ok" if has_workers else "none is alive"}


async def queued_runs(container: Container) -> int | None:
    """How many runs wait for a place."""
    try:
        return await container.core.runs.queue_depth()
    except Unavailable:
        return None


async def mcp_servers(container: Container) -> list[ServerView] | None:
    """All MCP servers, users' too, as they are now."""
    try:
        return await container.mcp.administration.list()
    except Unavailable:
        return None
