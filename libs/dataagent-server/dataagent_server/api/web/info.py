"""`/api/info`: the installation, as the web pages need it before login."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import ContainerDep, OptionalUser
from dataagent_server.api.route import PublicRoute
from dataagent_server.models.system import Info

router = APIRouter(prefix="/info", tags=["info"], route_class=PublicRoute)


@router.get("", operation_id="get_info")
async def get_info(caller: OptionalUser, container: ContainerDep) -> Info:
    """The installation. The model's name is shown after login only."""
    has_sandbox = container.core.sandboxes is not None
    return Info.of(container.settings, is_known=caller is not None, has_sandbox=has_sandbox)
