"""`/api/v1/health`: is the process alive, can it work."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from dataagent_core.runs.peers import Peers
from dataagent_core.storage import Database
from dataagent_core.storage.migrate import pending
from dataagent_server import __version__
from dataagent_server.api.errors import envelope
from dataagent_server.api.route import PublicRoute
from dataagent_server.deps.container import Container
from dataagent_server.deps.providers import ContainerDep
from dataagent_server.models.fields import ErrorResponse
from dataagent_server.models.health import Health, Readiness

router = APIRouter(prefix="/health", tags=["health"], route_class=PublicRoute)
_NOT_READY: dict[int | str, dict[str, Any]] = {503: {"model": ErrorResponse}}
_CHECK_SECONDS = 2.0


@router.get("", operation_id="health")
@router.get("/live", operation_id="health_live")
async def health(container: ContainerDep) -> Health:
    """The process answers, which version it is and since when, in seconds."""
    return Health(status="ok", version=__version__, uptime=round(container.uptime, 3))


@router.get("/ready", operation_id="health_ready", response_model=Readiness, responses=_NOT_READY)
async def ready(container: ContainerDep) -> Readiness | Response:
    """The process can take work: whatever it needs for that answers.

    That is the database with its tables up to date, with several processes Redis, and where
    workers execute the runs at least one of them.
    """
    checks = await _checks(container)
    if all(result == "ok" for result in checks.values()):
        return Readiness(status="ready", checks=dict.fromkeys(checks, "ok"))
    return envelope(503, "not_ready", "The server cannot take work yet.", details=checks)


async def _checks(container: Container) -> dict[str, str]:
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
