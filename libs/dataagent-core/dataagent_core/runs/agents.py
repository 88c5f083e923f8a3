"""Opens the agent registry, and finds the agent and the skill for a run.

A user names a skill in the request's `skill` field, or begins their message with `/skill-name`.
Nothing else chooses one: not a file, a tool's result or the model's text. An unknown name is
refused with suggestions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from dataagent_core.agents import (
    BUILTIN_AGENTS,
    GENERAL,
    SUPERVISOR,
    AgentRegistry,
    AgentService,
    AgentSpec,
    builtin_agent,
)
from dataagent_core.agents.packages import load_packages, shipped_packages
from dataagent_core.agents.registration import load_registered_agents
from dataagent_core.agents.service import names_of
from dataagent_core.agents.store import AgentStore, definitions
from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, AgentFactory
from dataagent_core.engine.config import define, define_supervisor
from dataagent_core.errors import SkillNotFound
from dataagent_core.identity.tenancy import Tenancy
from dataagent_core.runs.cluster.bus import Bus
from dataagent_core.runs.store import RunStore
from dataagent_core.runs.types import Run
from dataagent_core.skills import (
    Folders,
    SkillEntry,
    SkillLibrary,
    SkillSet,
    SkillText,
    split_command,
)
from dataagent_core.storage import Database

logger = logging.getLogger(__name__)
AGENTS_TOPIC = "agents"
"""The bus topic of changed agents; messages are empty."""


@dataclass(frozen=True, slots=True)
class Agents:
    """The open agents: the registry for runs, the service for administration."""

    registry: AgentRegistry
    service: AgentService

    def share(self, bus: Bus) -> None:
        """Announce changes to other processes, and reload when they announce one."""
        if not bus.is_shared:
            return
        self.registry.tell(lambda: bus.publish(AGENTS_TOPIC, b""))
        bus.subscribe(AGENTS_TOPIC, lambda _: self.registry.check_for_changes())


async def open_agents(
    settings: Settings,
    database: Database,
    runs: RunStore,
    tenancy: Tenancy,
    factory: AgentFactory,
    *,
    stack: AsyncExitStack,
) -> Agents:
    """Read agent packages and tables and number new tools; the stack closes the registry.

    Raises:
        StorageUnavailable: the database does not answer.
    """
    packages = await asyncio.to_thread(load_packages, package_folders(settings))
    packages = [*packages, *load_registered_agents(settings.agent_modules)]
    store = AgentStore(database)
    tools = definitions(factory.bindable_tools())
    _log_missing_tools(packages, {tool.name for tool in tools})
    registry = AgentRegistry(
        store, packages=packages, tools=tools, takes_any_name=settings.takes_any_assistant
    )
    await registry.open()
    stack.push_async_callback(registry.aclose)
    return Agents(registry, AgentService(registry, store, tenancy, runs.active_agents))


def _log_missing_tools(packages: Sequence[AgentSpec], installed: Set[str]) -> None:
    """Log the tools that packages name and that are missing: misspelt, or not set up."""
    for spec in packages:
        missing = sorted((spec.tools or frozenset[str]()) - installed)
        if missing:
            logger.info("package %s asks for tools that are not installed: %s", spec.name, missing)


def package_folders(settings: Settings) -> list[Path]:
    """The folders of agent packages: ours, then those the settings name."""
    own = (Path(folder).expanduser() for folder in settings.packages_dirs)
    return [shipped_packages(), *own]


def feature_names(registry: AgentRegistry | None, assistant_id: str) -> Sequence[str]:
    """The names by which a tenant may have switched off the agent behind an assistant.

    Raises:
        AgentNotFound: there is no such agent.
    """
    if registry is None or assistant_id == SUPERVISOR:
        return (assistant_id,)
    return tuple(dict.fromkeys((assistant_id, *names_of(registry.resolve(assistant_id)))))


def agent_config(
    settings: Settings, run: Run, registry: AgentRegistry | None = None
) -> AgentConfig:
    """The agent that answers a run; without a registry, one of the built-in ones."""
    base = AgentConfig(
        assistant_id=run.assistant_id,
        user_id=run.user_id,
        tenant_id=run.input.tenant_id,
        enable_shell=settings.has_shell,
        auto_approve=settings.auto_approve,
        sandbox_type=settings.shell_sandbox,
        timeout=settings.run_timeout,
    )
    agents = BUILTIN_AGENTS if registry is None else registry.known()
    if run.assistant_id == SUPERVISOR:
        config = define_supervisor(agents, base)
    else:
        config = define(_spec(run.assistant_id, registry), agents, base)
    model = run.input.model
    return config if model is None else replace(config, model=model)


def _spec(assistant_id: str, registry: AgentRegistry | None) -> AgentSpec:
    if registry is not None:
        return registry.resolve(assistant_id)
    spec = builtin_agent(assistant_id) or builtin_agent(GENERAL)
    assert spec is not None  # noqa: S101 we ship it
    return spec


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
        hint = "Begin with a space to send the text as it is." if is_typed else ""
        return skill_set.missing(name, hint)

    def _folders_of(self, agent: str) -> Folders:
        spec = self._agents.find(agent) if self._agents else None
        return spec.skills if spec else ()
