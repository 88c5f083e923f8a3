"""`/api/v1/tools`: what agents can be bound to, each with its number."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.providers import AgentsDep, CurrentUser
from dataagent_server.models.agents import ToolInfo
from dataagent_server.models.fields import Page

router = APIRouter(prefix="/tools", tags=["agents"], route_class=PrivateRoute)


@router.get("", operation_id="list_tools")
async def list_tools(_: CurrentUser, agents: AgentsDep) -> Page[ToolInfo]:
    """The tools that can be bound to agents, by number."""
    items = [ToolInfo.of(each) for each in await agents.tools()]
    return Page[ToolInfo](items=items, total=len(items))
