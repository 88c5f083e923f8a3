"""An agent as data (`AgentSpec`) → how to build it (`AgentConfig`), helpers included. Pure.

The same agent gets the same definition whether it is chosen directly or by the supervisor, so both
use one graph. Above: `app/assembly.py`, `factory.py`. Below: `agents/types.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from dataagent_core.agents.types import GENERAL, SUPERVISOR, AgentSpec
from dataagent_core.engine.config import AgentConfig, SubAgentConfig

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
