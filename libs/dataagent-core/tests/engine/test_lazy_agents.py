"""What an agent's build leaves for later is done when the first task comes, and once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from deepagents import __version__, _version, graph
from deepagents.middleware import subagents as library
from langchain_core.runnables import RunnableLambda

from dataagent_core.engine import AgentConfig, AgentFactory, SubAgentConfig
from dataagent_core.engine.tuning import LazyAgent, lazy_subagents, without_version_lookup
from dataagent_core.events import AnyEvent, ToolResultEvent

Ask = Callable[..., Awaitable[list[AnyEvent]]]
HELPER = SubAgentConfig("helper", "d", "p")
subagents: Any = library  # generic over any state
graphs: Any = graph


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of sub-agents that were compiled."""
    names: list[str] = []
    compile_one = subagents.create_agent

    def noted(*args: Any, **kwargs: Any) -> Any:
        names.append(kwargs["name"])
        return compile_one(*args, **kwargs)

    monkeypatch.setattr(subagents, "create_agent", noted)
    return names


def test_an_agents_helpers_are_not_compiled_with_it(
    factory: AgentFactory, compiled: list[str]
) -> None:
    factory.create_agent(AgentConfig("agent", subagents=[HELPER]))
    assert compiled == []


async def test_a_helper_is_compiled_for_its_first_task_only(ask: Ask, compiled: list[str]) -> None:
    task = '!tool task {"subagent_type": "helper", "description": "!echo hi"}'
    for _ in range(2):
        events = await ask(task, subagents=[HELPER])
        assert [e.result for e in events if isinstance(e, ToolResultEvent)] == ["hi"]
        assert compiled == ["helper"]


def test_what_is_called_without_a_loop_is_compiled_too() -> None:
    made: list[int] = []

    def build() -> Any:
        made.append(1)
        return RunnableLambda[int, int](abs)

    late = LazyAgent(build)
    assert (late.invoke(1), late.invoke(2), made) == (1, 2, [1])


def test_the_library_is_as_it_was_after_a_build_that_failed() -> None:
    before = subagents.create_sub_agent
    with pytest.raises(KeyError), lazy_subagents():
        raise KeyError
    assert subagents.create_sub_agent is before


def test_an_agent_names_its_library_without_looking_at_what_is_installed(
    factory: AgentFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked() -> bool:
        raise AssertionError("every installed package is read for this")

    monkeypatch.setattr(_version, "_is_editable_install", looked)
    _version._lc_version.cache_clear()  # pyright: ignore[reportPrivateUsage] as in a new process
    agent, _ = factory.create_agent(AgentConfig("agent"))
    metadata = (agent.config or {}).get("metadata", {})
    assert metadata["lc_versions"] == {"deepagents": __version__}


def test_the_version_is_looked_up_again_after_a_build_that_failed() -> None:
    before = graphs._lc_version
    with pytest.raises(KeyError), without_version_lookup():
        raise KeyError
    assert graphs._lc_version is before
