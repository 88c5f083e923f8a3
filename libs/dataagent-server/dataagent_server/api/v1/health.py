"""`/api/v1/health`: is the process alive, can it work."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

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
    """The process can take work: the database answers and its tables are up to date."""
    checks = await _checks(container)
    if all(result == "ok" for result in checks.values()):
        return Readiness(status="ready", checks=dict.fromkeys(checks, "ok"))
    return envelope(503, "not_ready", "The server cannot take work yet.", details=checks)


async def _checks(container: Container) -> dict[str, str]:
    if container.closing.is_set():
        return {"server": "shutting down"}
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await container.core.database.ping()
            is_behind = await pending(container.core.database)
    except Exception:  # whatever it is, the answer is the same
        return {"database": "does not answer"}
    return {"database": "ok", "migrations": "pending" if is_behind else "ok"}
