"""The agents every installation has."""

from __future__ import annotations

from dataagent_core.agents import BUILTIN_AGENTS, builtin_agent
from dataagent_core.config import Settings
from dataagent_core.runs.assembly import agent_config
from dataagent_core.runs.types import Run
from dataagent_core.session import now


def run_of(assistant_id: str) -> Run:
    return Run("r", "s", "u", assistant_id, "running", 1, now(), "m", "a")


def test_names_are_unique_and_described() -> None:
    names = [agent.name for agent in BUILTIN_AGENTS]
    assert len(set(names)) == len(names)
    assert all(agent.description for agent in BUILTIN_AGENTS)


def test_sql_agent_has_the_rules_for_numbers_in_its_prompt() -> None:
    prompt = agent_config(Settings(), run_of("sql")).system_prompt
    assert prompt is not None
    assert "Each figure you state comes from a result" in prompt


def test_other_assistants_have_the_general_prompt() -> None:
    assert builtin_agent("nobody") is None
    assert agent_config(Settings(), run_of("nobody")).system_prompt is None
