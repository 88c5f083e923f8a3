"""`/api/v1/health`: whether the process is alive, and whether it is ready."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from dataagent_server import __version__
from dataagent_server.api.deps import ContainerDep
from dataagent_server.api.errors import envelope
from dataagent_server.api.route import PublicRoute
from dataagent_server.deps.readiness import readiness
from dataagent_server.models.common import ErrorResponse
from dataagent_server.models.system import Health, Readiness

router = APIRouter(prefix="/health", tags=["health"], route_class=PublicRoute)
_NOT_READY: dict[int | str, dict[str, Any]] = {503: {"model": ErrorResponse}}


@router.get("", operation_id="health")
@router.get("/live", operation_id="health_live")
async def health(container: ContainerDep) -> Health:
    """The process answers: its version, and its uptime in seconds."""
    return Health(status="ok", version=__version__, uptime=round(container.uptime, 3))


@router.get("/ready", operation_id="health_ready", response_model=Readiness, responses=_NOT_READY)
async def ready(container: ContainerDep) -> Readiness | Response:
    """The process is ready: everything it depends on answers.

    That is a database that is migrated and writable, free disk space, with several processes Redis,
    and, where workers execute the runs, at least one worker.
    """
    checks = await readiness(container)
    if all(result == "ok" for result in checks.values()):
        return Readiness(status="ready", checks=dict.fromkeys(checks, "ok"))
    return envelope(503, "not_ready", "The server cannot take work yet.", details=checks)
