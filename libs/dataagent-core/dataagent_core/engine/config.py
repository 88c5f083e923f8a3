"""Defines how an agent's graph is built: `AgentConfig`, also made of an `AgentSpec`.

The same agent gets the same definition whether it is chosen directly or by the supervisor, so both
use one graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataagent_core.agents.types import GENERAL, SUPERVISOR, AgentSpec

if TYPE_CHECKING:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

    from dataagent_core.mcp import MCPConfig


@dataclass(slots=True)
class AgentConfig:
    """How to build an agent, and for whom it runs where a run does not say so itself.

    `assistant_id`, `user_id`, `tenant_id`, `auto_approve` and `sandbox_id` travel with the agent as
    the defaults of its runs (`RunContext`), `recursion_limit` and `timeout` (seconds) as those of
    its executors; the graph is the same for all users. `workspace_root` is the folder below which
    the users' folders are, `mcp_config` names MCP servers whose tools the agent has besides.
    """

    assistant_id: str
    user_id: str | None = None
    tenant_id: str | None = None
    model: str | BaseChatModel | None = None
    enable_memory: bool = True
    enable_skills: bool = True
    enable_shell: bool = True
    enable_mcp: bool = True
    auto_approve: bool = False
    sandbox_type: str | None = None
    sandbox_id: str | None = None
    system_prompt: str | None = None
    extra_tools: list[BaseTool] = field(default_factory=list["BaseTool"])
    extra_middleware: list[AgentMiddleware[Any, Any, Any]] = field(
        default_factory=list["AgentMiddleware[Any, Any, Any]"]
    )
    mcp_config: MCPConfig | None = None
    workspace_root: Path | None = None
    recursion_limit: int = 1000
    timeout: float | None = None
    subagents: list[SubAgentConfig] = field(default_factory=list["SubAgentConfig"])
    tools: frozenset[str] | None = None  # names of those it is bound to; None: all there are
    skill_folders: tuple[Path, ...] = ()  # of skills of its own, beside everyone's
    agents: tuple[AgentSpec, ...] = ()  # for a supervisor: those it can hand over to
    graph: Any = None  # a compiled graph that is the agent; then nothing is built of the rest

    def cache_key(self) -> tuple[Any, ...]:
        """The parts that the compiled graph depends on; the same key gets the same graph.

        Not the assistant's id: it comes with each run, as the user's does.
        """
        return (
            self.model if isinstance(self.model, str | None) else id(self.model),
            self.enable_memory,
            self.enable_skills,
            self.enable_shell,
            self.enable_mcp,
            self.sandbox_type,
            self.system_prompt,
            tuple(id(tool) for tool in self.extra_tools),
            tuple(id(middleware) for middleware in self.extra_middleware),
            tuple(subagent.cache_key() for subagent in self.subagents),
            self.tools,
            self.skill_folders,
            self.agents,
            id(self.graph),
            None if self.mcp_config is None else id(self.mcp_config),
            self.workspace_root,
        )


@dataclass(frozen=True, slots=True)
class SubAgentConfig:
    """An agent that another one can call with `task`."""

    name: str
    description: str
    system_prompt: str
    tools: tuple[BaseTool, ...] | None = None
    model: str | BaseChatModel | None = None
    bound: frozenset[str] | None = None
    """Names of the tools it is bound to. None: those of the agent that calls it."""
    skill_folders: tuple[Path, ...] = ()
    agent_id: str | None = None
    """Whose MCP tools it has. None: those of the agent that calls it."""
    graph: Any = None
    """A compiled graph that is the agent."""

    def cache_key(self) -> tuple[Any, ...]:
        """See `AgentConfig.cache_key`."""
        tools = None if self.tools is None else tuple(id(tool) for tool in self.tools)
        model = self.model if isinstance(self.model, str | None) else id(self.model)
        named = (self.name, self.description, self.system_prompt)
        own = (self.bound, self.skill_folders, self.agent_id, id(self.graph))
        return (*named, tools, model, *own)


_AS_HELPER = "You do one task for another agent. Report the result, complete and concise."


def define(spec: AgentSpec, agents: Sequence[AgentSpec], base: AgentConfig) -> AgentConfig:
    """How to build an agent; what its spec leaves open is as in `base`.

    Whose memory it works with stays as in `base`: the assistant that was asked for. Only an agent
    that was chosen by its name, or by the supervisor, has that of its id.
    """
    return replace(
        base,
        assistant_id=spec.agent_id if base.assistant_id in _names(spec) else base.assistant_id,
        system_prompt=spec.system_prompt,
        model=spec.model or base.model,
        tools=spec.tools,
        skill_folders=spec.skills,
        subagents=[define_subagent(each) for each in reachable(spec, agents)],
        agents=(),
        graph=spec.graph,
    )


def define_supervisor(agents: Sequence[AgentSpec], base: AgentConfig) -> AgentConfig:
    """How to build the supervisor of these agents."""
    return replace(base, agents=tuple(agents))


def reachable(spec: AgentSpec, agents: Sequence[AgentSpec]) -> list[AgentSpec]:
    """The agents one can give tasks to: for `general` all others, else those its spec names."""
    if spec.name == GENERAL:
        return [each for each in agents if each.name != GENERAL]
    named = set(spec.subagents) - {spec.name}
    return [each for each in agents if each.name in named]


@lru_cache(maxsize=512)
def define_subagent(spec: AgentSpec) -> SubAgentConfig:
    """An agent as another one reaches it with `task`: it answers that one, not the user."""
    prompt = f"{spec.system_prompt}\n\n{_AS_HELPER}" if spec.system_prompt else _AS_HELPER
    return SubAgentConfig(
        name=spec.name,
        description=" ".join(spec.description.split()),
        system_prompt=prompt,
        model=spec.model,
        bound=spec.tools,
        skill_folders=spec.skills,
        agent_id=spec.agent_id,
        graph=spec.graph,
    )


def _names(spec: AgentSpec) -> tuple[str, ...]:
    return (spec.agent_id, spec.name, SUPERVISOR)
