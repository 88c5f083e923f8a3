"""`/api/v1/system`: the state of the installation. For administrators."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import AdminUser, ContainerDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.container import Container
from dataagent_server.deps.readiness import mcp_servers, queued_runs, readiness
from dataagent_server.models.system import (
    ConnectionsInfo,
    McpInfo,
    RunsInfo,
    SandboxInfo,
    SystemInfo,
    Versions,
    is_offline,
)

router = APIRouter(prefix="/system", tags=["health"], route_class=PrivateRoute)


@router.get("", operation_id="get_system")
async def get_system(_: AdminUser, container: ContainerDep) -> SystemInfo:
    """The state of the installation: checks, load and versions. For administrators."""
    checks = await readiness(container)
    settings, core = container.settings, container.core
    return SystemInfo(
        status="ready" if all(each == "ok" for each in checks.values()) else "not_ready",
        checks=checks,
        uptime=round(container.uptime, 3),
        versions=Versions.here(),
        model=settings.default_model,
        is_offline=is_offline(settings),
        database=core.database.dialect,
        runs_in=settings.runs_in,
        runs=RunsInfo(active=core.worker.active, queued=await queued_runs(container)),
        connections=ConnectionsInfo(used=container.capacity.used, limit=container.capacity.limit),
        sandbox=None if core.sandboxes is None else SandboxInfo.of(core.sandboxes),
        mcp=await _mcp(container),
    )


async def _mcp(container: Container) -> McpInfo | None:
    servers = await mcp_servers(container)
    return None if servers is None else McpInfo.of(servers)
