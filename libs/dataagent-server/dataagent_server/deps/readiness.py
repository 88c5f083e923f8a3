"""Whether the process can take work and how much there is, asked with short time limits.

A number that cannot be read because the database is unavailable is None.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from dataagent_core.config import Settings
from dataagent_core.errors import StorageFull, Unavailable
from dataagent_core.mcp.servers.server_views import ServerView
from dataagent_core.runs.cluster.peers import Peers
from dataagent_core.storage import Database
from dataagent_core.storage.migrate import pending
from dataagent_server.deps.container import Container

_CHECK_SECONDS = 2.0
_LEAST_FREE_BYTES = 1024 * 1024
"""With less free space than this a message or a result may not fit."""


async def readiness(container: Container) -> dict[str, str]:
    """The state of each dependency: `ok`, or what is wrong with it."""
    if container.is_draining:
        return {"server": "shutting down"}
    database, disk, peers = await asyncio.gather(
        _check_database(container.core.database),
        asyncio.to_thread(_check_disks, container.core.settings),
        _check_bus(container.core.peers),
    )
    return database | disk | peers


async def _check_database(database: Database) -> dict[str, str]:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await database.ping()
            is_behind = await pending(database)
    except Exception:  # any failure means the same
        return {"database": "does not answer"}
    if is_behind:
        return {"database": "ok", "migrations": "pending"}
    return {"database": await _check_writable(database), "migrations": "ok"}


async def _check_writable(database: Database) -> str:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await database.check_writable()
    except StorageFull:
        return "its disk is full"
    except Exception:  # as above
        return "accepts no writes"
    return "ok"


def _check_disks(settings: Settings) -> dict[str, str]:
    """Whether there is space for results, uploads and workspaces."""
    is_full = any(_is_full(each) for each in (settings.home_dir, settings.workspaces_dir))
    return {"disk": "full" if is_full else "ok"}


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LEAST_FREE_BYTES
    except OSError:  # the folder does not exist yet
        return False


async def _check_bus(peers: Peers) -> dict[str, str]:
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
    return {"bus": "ok", "workers": "ok" if has_workers else "none is running"}


async def queued_runs(container: Container) -> int | None:
    """How many runs are queued."""
    try:
        return await container.core.runs.queue_depth()
    except Unavailable:
        return None


async def mcp_servers(container: Container) -> list[ServerView] | None:
    """All MCP servers, users' too, with their status."""
    try:
        return await container.mcp.administration.list()
    except Unavailable:
        return None
