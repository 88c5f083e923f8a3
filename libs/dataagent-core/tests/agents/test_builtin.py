"""The agents every installation has."""

from __future__ import annotations

from dataagent_core.agents import BUILTIN_AGENTS, builtin_agent
from dataagent_core.config import Settings
from dataagent_core.runs.agents import agent_config
from dataagent_core.runs.types import Run
from dataagent_core.session import now
from tests.requirements import requirement


def run_of(assistant_id: str) -> Run:
    return Run("r", "s", "u", assistant_id, "running", 1, now(), "m", "a")


@requirement("S2.2.2b")
def test_general_comes_last_and_has_all_tools() -> None:
    assert [agent.name for agent in BUILTIN_AGENTS] == ["research", "sql", "general"]
    assert all(agent.description and agent.icon for agent in BUILTIN_AGENTS)
    assert [agent.name for agent in BUILTIN_AGENTS if agent.tools is None] == ["general"]
    assert builtin_agent("agent") is builtin_agent("general")


def test_an_agent_that_searches_the_web_has_no_data_and_the_other_way_round() -> None:
    research, sql = builtin_agent("research"), builtin_agent("sql")
    assert research is not None
    assert sql is not None
    assert research.tools is not None
    assert sql.tools is not None
    assert not any(name.startswith("sql_") for name in research.tools)
    assert sql.tools.isdisjoint({"web_search", "fetch_url", "http_request", "shell"})


def test_sql_agent_has_the_rules_for_numbers_in_its_prompt() -> None:
    config = agent_config(Settings(), run_of("sql"))
    assert config.system_prompt is not None
    assert "Each figure you state comes from a result" in config.system_prompt
    assert config.tools is not None
    assert "sql_db_query" in config.tools


def test_other_assistants_are_served_by_the_general_agent() -> None:
    assert builtin_agent("nobody") is None
    config = agent_config(Settings(), run_of("nobody"))
    assert (config.system_prompt, config.tools) == (None, None)
