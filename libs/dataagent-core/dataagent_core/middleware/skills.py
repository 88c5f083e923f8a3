"""Skills: their names and descriptions in every prompt, their text when they are used.

deepagents' middleware does the work: it lists the sources once per conversation (a run that passes
`skills_metadata: None` lists them anew) and pins the skills a run names in `pinned_skills`. It pins
in a step before each model call; here that is done in the step it needs anyway at the start of a
run. Above: `engine/`. Below: `skills/` says where skills are.
"""

from __future__ import annotations

from typing import Any

from deepagents.middleware.skills import SkillsMiddleware as DeepSkills
from langchain.agents.middleware import AgentMiddleware
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime


class SkillsMiddleware(DeepSkills[Any, Any]):
    """Loads and injects skills from the given sources."""

    before_model = AgentMiddleware.before_model  # pyright: ignore[reportAssignmentType] the graph gets no step for it
    abefore_model = AgentMiddleware.abefore_model  # pyright: ignore[reportAssignmentType] the graph gets no step for it

    def before_agent(self, state: Any, runtime: Runtime[Any], config: RunnableConfig) -> Any:
        """List the skills if that is still to do, and pin those the run names."""
        loaded: Any = super().before_agent(state, runtime, config) or {}
        merged: Any = {**state, **loaded}
        pinned = DeepSkills.before_model(self, merged, runtime) or {}
        return {**loaded, **pinned} or None

    async def abefore_agent(self, state: Any, runtime: Runtime[Any], config: RunnableConfig) -> Any:
        """List the skills if that is still to do, and pin those the run names."""
        loaded: Any = await super().abefore_agent(state, runtime, config) or {}
        merged: Any = {**state, **loaded}
        pinned = await DeepSkills.abefore_model(self, merged, runtime) or {}
        return {**loaded, **pinned} or None
