"""Our middlewares in agents that no factory of ours built."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from pydantic import Field

from dataagent_core.middleware import AgentMemoryMiddleware, ShellMiddleware, SkillsMiddleware
from dataagent_core.models.rule_based import Turn
from dataagent_core.models.scripted import ScriptedChatModel
from tests.requirements import requirement

Build = Callable[[Any, Any], Any]


def by_langchain(model: Any, middleware: Any) -> Any:
    return create_agent(model, [], middleware=middleware)


def by_deepagents(model: Any, middleware: Any) -> Any:
    return create_deep_agent(model, [], middleware=middleware)


class Listening(ScriptedChatModel):
    """Notes what it is sent."""

    heard: list[str] = Field(default_factory=list[str])

    def turn_for(self, messages: Any) -> Turn:
        self.heard.append("\n".join(str(each.text) for each in messages))
        return super().turn_for(messages)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATAAGENT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture(params=[by_langchain, by_deepagents])
def build(request: pytest.FixtureRequest) -> Build:
    return request.param


async def answered(agent: Any, text: str) -> list[BaseMessage]:
    return (await agent.ainvoke({"messages": [("user", text)]}))["messages"]


def result(messages: list[BaseMessage]) -> str:
    return next(each.text for each in messages if isinstance(each, ToolMessage))


@requirement("R7.1")
@pytest.mark.parametrize("kind", [AgentMemoryMiddleware, SkillsMiddleware, ShellMiddleware])
def test_middleware_is_langchains_and_needs_nothing(kind: type[AgentMiddleware[Any, Any]]) -> None:
    assert isinstance(kind(), AgentMiddleware)


@requirement("R7.4")
async def test_shell_runs_in_the_folder_it_is_given(build: Build, tmp_path: Path) -> None:
    root = tmp_path / "spaces"
    agent = build(ScriptedChatModel(), [ShellMiddleware(workspace_root=root)])
    said = result(await answered(agent, '!tool shell {"command": "pwd; ls"}'))
    assert said.split() == [str(root / "default"), "files", "outputs", "uploads"]


@requirement("R7.3")
async def test_skills_of_a_folder_are_listed_and_handed_out(build: Build, tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "monthly-report"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: monthly-report\ndescription: How the report is made.\n---\n\nCount twice.\n"
    )
    model = Listening()
    agent = build(model, [SkillsMiddleware(skills_dir=tmp_path / "mine")])
    said = result(await answered(agent, '!tool activate_skill {"name": "monthly-report"}'))
    assert "Count twice." in said
    assert "How the report is made." in model.heard[0]


@requirement("R7.2", "R34.2")
async def test_memory_below_a_folder_is_in_the_prompt(build: Build, tmp_path: Path) -> None:
    note = tmp_path / "kept" / "memories" / "default" / "agent" / "AGENTS.md"
    note.parent.mkdir(parents=True)
    note.write_text("Prefers euros.")
    model = Listening()
    await answered(build(model, [AgentMemoryMiddleware(storage_root=tmp_path / "kept")]), "hi")
    assert "Prefers euros." in model.heard[0]
