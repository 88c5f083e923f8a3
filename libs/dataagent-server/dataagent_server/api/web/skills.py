"""`/api/skills`: the skills a user can choose; users store and delete their own."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from dataagent_server.api.deps import CurrentUser, SkillsDep
from dataagent_server.api.route import PrivateRoute
from dataagent_server.deps.chat import DEFAULT_ASSISTANT
from dataagent_server.models.agents import SkillBody, SkillDetail, SkillInfo, SkillList, SkillName
from dataagent_server.models.fields import Name

router = APIRouter(prefix="/skills", tags=["skills"], route_class=PrivateRoute)
Agent = Annotated[Name, Query(description="The agent: some have skills of their own.")]


@router.get("", operation_id="list_skills")
async def list_skills(
    user: CurrentUser, skills: SkillsDep, agent: Agent = DEFAULT_ASSISTANT
) -> SkillList:
    """The skills the caller can choose: everyone's, the agent's, and their own."""
    return SkillList.of(await skills.list(owner=user.user_id, agent=agent), user)


@router.get("/{skill_name}", operation_id="get_skill")
async def get_skill(
    skill_name: SkillName, user: CurrentUser, skills: SkillsDep, agent: Agent = DEFAULT_ASSISTANT
) -> SkillDetail:
    """A skill with its full instructions."""
    return SkillDetail.full(await skills.read(skill_name, owner=user.user_id, agent=agent))


@router.put("/{skill_name}", operation_id="put_skill")
async def put_skill(
    skill_name: SkillName, body: SkillBody, user: CurrentUser, skills: SkillsDep
) -> SkillInfo:
    """Store a skill for the caller alone; it replaces one of this name."""
    return SkillInfo.of(await skills.put(skill_name, body.content, owner=user.user_id))


@router.delete("/{skill_name}", operation_id="delete_skill", status_code=204)
async def delete_skill(skill_name: SkillName, user: CurrentUser, skills: SkillsDep) -> None:
    """Delete one of the caller's own skills; a shared one of that name is then visible again."""
    await skills.delete(skill_name, owner=user.user_id)
