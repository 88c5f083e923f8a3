"""`/api/v1/agents`: agents and the tools bound to them.

Callers list those they may choose; administrators create and change them.
"""

from __future__ import annotations

from fastapi import APIRouter

from dataagent_server.api.deps import AdminUser, AgentsDep, CurrentUser
from dataagent_server.api.route import PrivateRoute
from dataagent_server.models.agents import AgentChanged, AgentCreate, AgentInfo, AgentUpdate
from dataagent_server.models.fields import Page, PathId, check_same

router = APIRouter(prefix="/agents", tags=["agents"], route_class=PrivateRoute)


@router.get("", operation_id="list_agents")
async def list_agents(user: CurrentUser, agents: AgentsDep) -> Page[AgentInfo]:
    """The agents the caller may choose, `general` last."""
    found = await agents.list_for(user)
    items = [AgentInfo.of(each, has_prompt=user.is_admin) for each in found]
    return Page[AgentInfo](items=items, total=len(items))


@router.post("", operation_id="create_agent", status_code=201)
async def create_agent(body: AgentCreate, _: AdminUser, agents: AgentsDep) -> AgentChanged:
    """Create an agent with its tools. For administrators; 409 if the name is taken."""
    return AgentChanged.of(await agents.create(body.new))


@router.get("/{agent_id}", operation_id="get_agent")
async def get_agent(agent_id: PathId, user: CurrentUser, agents: AgentsDep) -> AgentInfo:
    """An agent the caller may choose, by id or name."""
    return AgentInfo.of(await agents.get_for(agent_id, user), has_prompt=user.is_admin)


@router.put("/{agent_id}", operation_id="update_agent")
async def update_agent(
    agent_id: PathId, body: AgentUpdate, _: AdminUser, agents: AgentsDep
) -> AgentChanged:
    """Change an agent; `toolIds` replace all its tools. For administrators.

    409 while a run of it is active. A built-in or package agent keeps its name. 422 if the body has
    another `id`.
    """
    check_same("id", agent_id, body.id)
    return AgentChanged.of(await agents.update(agent_id, body.changes))


@router.delete("/{agent_id}", operation_id="delete_agent", status_code=204)
async def delete_agent(agent_id: PathId, _: AdminUser, agents: AgentsDep) -> None:
    """Delete a created agent. For administrators; 409 while a run of it is active."""
    await agents.delete(agent_id)
