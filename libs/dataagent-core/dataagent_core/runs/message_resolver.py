"""Resolves a message before anything is stored: its agent, files and skill, and its user's rights.

A message to the supervisor may be routed by rule (`agents/routing.py`). The decision is stored with
the run, so it survives a restart: a run that a rule gave to an agent is that agent's run, as if the
user had chosen it; its readers also see a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dataagent_core.agents import SUPERVISOR, AgentRegistry
from dataagent_core.agents.routing import choose
from dataagent_core.agents.types import GENERAL_ALIAS
from dataagent_core.errors import FileNotFound, SkillNotFound
from dataagent_core.runs.admission import Admission
from dataagent_core.runs.agents import SkillChoice, SkillService, feature_names
from dataagent_core.runs.types import RuleRoute, RunInput
from dataagent_core.skills import split_command
from dataagent_core.workspace import FileStore


@dataclass(frozen=True, slots=True)
class ResolvedMessage:
    """An admitted message: its agent and the run's input."""

    assistant_id: str
    input: RunInput

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the user's message: its files and skill."""
        files = {"files": list(self.input.files)} if self.input.files else {}
        return files if self.input.skill is None else {**files, "skill": self.input.skill}


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
        agent = self._agents.assistant_id_of(assistant_id) if self._agents else assistant_id
        agent, route = _route_by_rule(
            agent, message, file_ids=file_ids, skill=skill, agents=self._agents
        )
        tenant_id = await self.admit(owner, agent)
        files = await self._file_references(file_ids, owner)
        choice = await self._choose_skill(message, skill, owner, agent)
        run_input = RunInput(
            message=choice.task,
            files=files,
            skill=choice.skill,
            tenant_id=tenant_id,
            route=route,
            speaker=self._speaker(agent),
        )
        return ResolvedMessage(agent, run_input)

    async def admit(self, owner: str, agent: str) -> str | None:
        """The id of the owner's tenant, if they may start a run of the agent.

        Raises:
            AgentNotFound, AgentDisabled, BudgetExhausted: as `resolve`.
        """
        return await self._admission.check(owner, *feature_names(self._agents, agent))

    def _speaker(self, agent: str) -> str | None:
        """The name of a chosen agent; the default assistant has none."""
        if self._agents is None or agent == GENERAL_ALIAS:
            return None
        spec = self._agents.find(agent)
        return None if spec is None else spec.name

    async def _file_references(
        self, file_ids: Sequence[str], owner: str
    ) -> tuple[dict[str, Any], ...]:
        if not file_ids:
            return ()
        if self._files is None:
            raise FileNotFound(f"There is no file {file_ids[0][:64]!r}.")
        files = await self._files.get_all(file_ids, owner=owner)
        return tuple(file.reference() for file in files)

    async def _choose_skill(
        self, message: str, named: str | None, owner: str, agent: str
    ) -> SkillChoice:
        """The skill the user asks for, and the message without its name."""
        if self._skills is None:
            if named is not None:
                raise SkillNotFound("There are no skills here.")
            return SkillChoice(None, message)
        return await self._skills.choose(message, named, owner=owner, agent=agent)


def _route_by_rule(
    assistant_id: str,
    message: str,
    *,
    file_ids: Sequence[str],
    skill: str | None,
    agents: AgentRegistry | None,
) -> tuple[str, RuleRoute | None]:
    """The assistant that answers a message, and the rule that chose it, if one did."""
    if assistant_id != SUPERVISOR or agents is None:
        return assistant_id, None
    if skill is None and message.startswith("/") and (typed := split_command(message)):
        skill = typed[0]
    route = choose(message, file_ids=file_ids, skill=skill, agents=agents.known())
    if route is None:
        return assistant_id, None
    return route.agent or assistant_id, RuleRoute(route.rule, route.note, route.agent is not None)
