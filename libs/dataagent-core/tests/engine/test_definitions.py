"""From an agent as data to how it is built: its helpers, its memory, its tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataagent_core.agents.types import AgentSpec
from dataagent_core.engine import AgentConfig
from dataagent_core.engine.config import define, define_supervisor, reachable
from tests.requirements import requirement

SQL = AgentSpec("sql", "sql", "Data.", "builtin", "You: sql", tools=frozenset({"ls"}))
WRITER = AgentSpec(
    "w1",
    "writer",
    "Writes\n  things.",
    "custom",
    model="openai:x",
    skills=(Path("/s"),),
    subagents=("sql", "writer", "gone"),
)
GENERAL = AgentSpec("general", "general", "All.", "builtin")
AGENTS = (SQL, WRITER, GENERAL)


@pytest.mark.parametrize(
    ("spec", "names"), [(GENERAL, ["sql", "writer"]), (WRITER, ["sql"]), (SQL, [])]
)
def test_general_reaches_all_others_and_the_rest_whom_they_name(
    spec: AgentSpec, names: list[str]
) -> None:
    assert [each.name for each in reachable(spec, AGENTS)] == names


def test_an_agent_is_built_as_its_spec_says() -> None:
    base = AgentConfig("w1", user_id="u", model="scripted", recursion_limit=7, auto_approve=True)
    made = define(WRITER, AGENTS, base)
    assert (made.model, made.tools, made.skill_folders) == ("openai:x", None, (Path("/s"),))
    assert (made.user_id, made.recursion_limit, made.auto_approve) == ("u", 7, True)
    assert define(SQL, AGENTS, base).model == "scripted"
    (sql,) = made.subagents
    assert (sql.name, sql.bound, sql.model) == ("sql", frozenset({"ls"}), None)
    assert sql.system_prompt.startswith("You: sql\n\n")
    writer = define(GENERAL, AGENTS, base).subagents[1]
    assert (writer.description, writer.skill_folders) == ("Writes things.", (Path("/s"),))


@pytest.mark.parametrize(
    ("spec", "asked_as", "memory"),
    [
        (GENERAL, "general", "general"),
        (GENERAL, "agent", "agent"),
        (GENERAL, "supervisor", "general"),
        (GENERAL, "my-notes", "my-notes"),
        (WRITER, "writer", "w1"),
        (WRITER, "w1", "w1"),
        (SQL, "supervisor", "sql"),
    ],
)
@requirement("R34.2")
def test_memory_is_that_of_the_assistant_that_was_asked_for(
    spec: AgentSpec, asked_as: str, memory: str
) -> None:
    assert define(spec, AGENTS, AgentConfig(asked_as)).assistant_id == memory


def test_the_supervisor_is_defined_by_its_agents() -> None:
    one = define_supervisor(AGENTS, AgentConfig("supervisor"))
    other = define_supervisor(AGENTS[1:], AgentConfig("supervisor"))
    assert one.agents == AGENTS
    assert one.cache_key() == define_supervisor(list(AGENTS), AgentConfig("x")).cache_key()
    assert one.cache_key() != other.cache_key()
