"""`/api/agents`: the agents of the web app's selector."""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import AgentsDep, OptionalUser
from dataagent_server.api.route import PublicRoute
from dataagent_server.models.agents import AgentChoice
from dataagent_server.models.fields import Page

router = APIRouter(prefix="/agents", tags=["web agents"], route_class=PublicRoute)


@router.get("", operation_id="list_agent_choices")
async def list_agent_choices(caller: OptionalUser, agents: AgentsDep) -> Page[AgentChoice]:
    """The agents to choose from, `general` last. Without a login, created agents are left out.

    With a login, agents that the tenant has switched off are left out.
    """
    items = [AgentChoice.of(each) for each in await agents.list_selectable(caller)]
    return Page[AgentChoice](items=items, total=len(items))
