"""Resolves a message before anything is stored: its agent, files and skill, and its user's rights.

The result becomes the run's input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dataagent_core.agents import AgentRegistry
from dataagent_core.agents.types import GENERAL_ALIAS
from dataagent_core.errors import FileNotFound, SkillNotFound
from dataagent_core.runs.admission import Admission
from dataagent_core.runs.agents import feature_names
from dataagent_core.runs.routing import decide_route
from dataagent_core.runs.skills import SkillChoice, SkillService
from dataagent_core.runs.types import SPEAKER
from dataagent_core.workspace import FileStore


@dataclass(frozen=True, slots=True)
class ResolvedMessage:
    """An admitted message: its agent, the run's input, and the metadata of the user's message."""

    assistant_id: str
    input: dict[str, Any]
    metadata: dict[str, Any]


class MessageResolver:
    """Resolves and admits messages."""

    def __init__(
        self,
        admission: Admission,
        *,
        files: FileStore | None = None,
        skills: SkillService | None = None,
        agents: AgentRegistry | None = None,
    ) -> None:
        self._admission = admission
        self._files = files
        self._skills = skills
        self._agents = agents

    async def resolve(
        self,
        message: str,
        assistant_id: str,
        *,
        owner: str,
        file_ids: Sequence[str] = (),
        skill: str | None = None,
    ) -> ResolvedMessage:
        """Resolve the agent, files and skill of a message.

        Raises:
            AgentNotFound: there is no such agent, or it was deleted.
            AgentDisabled: the owner's tenant has the agent off.
            BudgetExhausted: the owner's daily budget is used up.
            FileNotFound: a file is not the owner's.
            SkillNotFound: the owner has no such skill with this agent.
        """
        named = self._agents.assistant_id_of(assistant_id) if self._agents else assistant_id
        agent, route = decide_route(
            named, message, file_ids=file_ids, skill=skill, agents=self._agents
        )
        tenant_id = await self.admit(owner, agent)
        attached = await self._file_references(file_ids, owner)
        chosen = await self._choose_skill(message, skill, owner, agent)
        if chosen.skill is not None:
            attached["skill"] = chosen.skill
        tenant = {} if tenant_id is None else {"tenant_id": tenant_id}
        speaker = self._speaker(agent)
        found = {"message": chosen.task, **tenant, **attached, **route, **speaker}
        return ResolvedMessage(agent, found, attached)

    def _speaker(self, agent: str) -> dict[str, str]:
        """The name of a chosen agent, as input of the run; the default assistant has none."""
        if self._agents is None or agent == GENERAL_ALIAS:
            return {}
        spec = self._agents.find(agent)
        return {} if spec is None else {SPEAKER: spec.name}

    async def admit(self, owner: str, agent: str) -> str | None:
        """The id of the owner's tenant, if they may start a run of the agent.

        Raises:
            AgentNotFound, AgentDisabled, BudgetExhausted: as `resolve`.
        """
        return await self._admission.check(owner, *feature_names(self._agents, agent))

    async def _file_references(self, file_ids: Sequence[str], owner: str) -> dict[str, Any]:
        """The references of a message's files, as input of the run."""
        if not file_ids:
            return {}
        if self._files is None:
            raise FileNotFound(f"There is no file {file_ids[0][:64]!r}.")
        found = await self._files.get_all(file_ids, owner=owner)
        return {"files": [file.reference() for file in found]}

    async def _choose_skill(
        self, message: str, named: str | None, owner: str, agent: str
    ) -> SkillChoice:
        """The skill the user asks for, and the message without its name."""
        if self._skills is None:
            if named is not None:
                raise SkillNotFound("There are no skills here.")
            return SkillChoice(None, message)
        return await self._skills.choose(message, named, owner=owner, agent=agent)
