"""The skills of a user and agent, and the one that a message asks for.

A user names a skill in the request's `skill` field, or begins their message with `/skill-name`.
Nothing else chooses one: not a file, a tool's result or the model's text. An unknown name is
refused with suggestions.
"""

from __future__ import annotations

from dataclasses import dataclass

from dataagent_core.agents import AgentRegistry
from dataagent_core.errors import SkillNotFound
from dataagent_core.skills import (
    Folders,
    SkillEntry,
    SkillLibrary,
    SkillSet,
    SkillText,
    split_command,
)


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """The skill a message asks for, and the message as the agent gets it."""

    skill: str | None
    task: str


class SkillService:
    """The skills by user and agent, for transports and runs."""

    def __init__(self, library: SkillLibrary, agents: AgentRegistry | None = None) -> None:
        self._library = library
        self._agents = agents

    async def list(self, *, owner: str, agent: str) -> SkillSet:
        """The skills the owner can use with an agent."""
        return await self._library.skill_set(owner, self._folders_of(agent))

    async def read(self, name: str, *, owner: str, agent: str) -> SkillText:
        """One skill, with its instructions.

        Raises:
            SkillNotFound: there is none of this name.
        """
        return await self._library.read(owner, name, self._folders_of(agent))

    async def put(self, name: str, content: str, *, owner: str) -> SkillEntry:
        """Store a skill of the owner's own.

        Raises:
            BadInput: it cannot be used; nothing is stored.
            QuotaExceeded: the owner has no space for it.
        """
        return await self._library.put(owner, name, content)

    async def delete(self, name: str, *, owner: str) -> None:
        """Delete one of the owner's own skills.

        Raises:
            SkillNotFound: they have none of this name.
        """
        await self._library.delete(owner, name)

    async def choose(
        self, message: str, named: str | None = None, *, owner: str, agent: str
    ) -> SkillChoice:
        """The skill that a request names, or that its message begins with.

        Raises:
            SkillNotFound: there is none of this name for the owner with this agent.
        """
        typed = split_command(message) if named is None and message.startswith("/") else None
        name = named if typed is None else typed[0]
        if name is None:
            return SkillChoice(None, message)
        skill_set = await self.list(owner=owner, agent=agent)
        if name not in skill_set.skills:
            raise await self._not_found(name, skill_set, is_typed=typed is not None)
        return SkillChoice(name, message if typed is None else typed[1] or message)

    async def _not_found(self, name: str, skill_set: SkillSet, *, is_typed: bool) -> SkillNotFound:
        for spec in self._agents.known() if self._agents else ():
            if spec.skills and name in (await self._library.shared(spec.skills)).skills:
                return SkillNotFound(
                    f"{name!r} is a skill of agent {spec.name!r}. Choose that agent to use it.",
                    details={"skill": name, "agent": spec.name},
                )
        as_it_is = "Begin with a space to send the text as it is." if is_typed else ""
        return skill_set.missing(name, as_it_is)

    def _folders_of(self, agent: str) -> Folders:
        spec = self._agents.find(agent) if self._agents else None
        return spec.skills if spec else ()
