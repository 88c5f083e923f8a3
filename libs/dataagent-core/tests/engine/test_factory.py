"""From a definition to a graph: what is built in, what is left out, what is shared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool
from langgraph.pregel import Pregel  # pyright: ignore[reportMissingTypeStubs] the package has none

from dataagent_core.config import Settings
from dataagent_core.engine import AgentConfig, AgentFactory, SubAgentConfig
from dataagent_core.engine import factory as factory_module
from dataagent_core.errors import Misconfigured
from dataagent_core.events import AnyEvent, TextEvent, ToolResultEvent
from dataagent_core.middleware import (
    ApprovalsMiddleware,
    FileToolsMiddleware,
    ToolGuard,
    ToolObserver,
)
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.workspace import UserWorkspaceManager
from dataagent_offline.model import OfflineChatModel
from tests.requirements import requirement
from tests.tiers import examples

Ask = Callable[..., Awaitable[list[AnyEvent]]]
Listening = Callable[..., Any]  # the class `ListeningModel` of conftest.py


@tool
def weather(city: str) -> str:
    """Say the weather."""
    return f"sun in {city}"


class CountingMiddleware(AgentMiddleware[Any, Any, Any]):
    """Counts model calls; brings a tool of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        self.calls += 1
        return await handler(request)


def said(events: list[AnyEvent]) -> str:
    return "".join(e.content for e in events if isinstance(e, TextEvent))


@requirement("R4.1")
def test_config_has_the_fields_of_the_specification() -> None:
    assert {f.name for f in fields(AgentConfig)} >= {
        "assistant_id",
        "user_id",
        "tenant_id",
        "model",
        "enable_memory",
        "enable_skills",
        "enable_shell",
        "enable_mcp",
        "auto_approve",
        "sandbox_type",
        "sandbox_id",
        "system_prompt",
        "extra_tools",
        "extra_middleware",
        "mcp_config",
        "workspace_root",
        "recursion_limit",
        "timeout",
    }
    made = AgentConfig("agent")
    assert (made.enable_memory, made.enable_skills, made.enable_shell) == (True, True, True)
    assert (made.auto_approve, made.sandbox_type, made.model) == (False, None, None)


@requirement("R4.2", "P9")
@settings(max_examples=examples(100))
@given(
    memory=st.booleans(),
    skills=st.booleans(),
    shell=st.booleans(),
    approve=st.booleans(),
    sandbox=st.sampled_from([None, "local"]),
    prompt=st.sampled_from([None, "Be brief."]),
)
def test_factory_returns_graph_and_backend(
    factory: AgentFactory,
    *,
    memory: bool,
    skills: bool,
    shell: bool,
    approve: bool,
    sandbox: str | None,
    prompt: str | None,
) -> None:
    made = factory.create_agent(
        AgentConfig(
            "agent",
            enable_memory=memory,
            enable_skills=skills,
            enable_shell=shell,
            auto_approve=approve,
            sandbox_type=sandbox,
            system_prompt=prompt,
        )
    )
    graph, backend = made
    assert isinstance(graph, Pregel)
    assert isinstance(backend, CompositeBackend)


@requirement("R4.3")
async def test_without_a_model_the_default_of_the_settings_answers(
    settings: Settings, workspaces: UserWorkspaceManager, ask: Ask
) -> None:
    assert said(await ask("!echo by directive")) == "by directive"
    offline = AgentFactory(settings.model_copy(update={"model": "offline"}), workspaces)
    assert isinstance(offline._model(None), OfflineChatModel)
    assert isinstance(offline._model("scripted"), ScriptedChatModel)


@requirement("R4.3")
def test_model_that_is_not_there_is_refused_with_what_to_do(factory: AgentFactory) -> None:
    with pytest.raises(Misconfigured):
        factory.create_agent(AgentConfig("agent", model="nobody:knows"))


@requirement("R4.4", "P10")
@pytest.mark.parametrize("is_enabled", [True, False])
async def test_memory_is_in_the_prompt_when_enabled(
    *, is_enabled: bool, ask: Ask, listening: Listening, settings: Settings
) -> None:
    note = settings.home_dir / "memories" / "u" / "agent" / "AGENTS.md"
    note.parent.mkdir(parents=True)
    note.write_text("Prefers euros.")
    model = listening()
    await ask("hi", model=model, enable_memory=is_enabled)
    assert ("Prefers euros." in model.prompt) is is_enabled
    assert ("<agent_memory>" in model.prompt) is is_enabled


@requirement("R4.5", "P11")
@pytest.mark.parametrize("is_enabled", [True, False])
async def test_skills_are_in_the_prompt_when_enabled(
    *,
    is_enabled: bool,
    tmp_path: Path,
    settings: Settings,
    ask: Ask,
    listening: Listening,
) -> None:
    folder = tmp_path / "skills" / "monthly-report"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: monthly-report\ndescription: How the report is made.\n---\n\nSteps.\n"
    )
    settings.skills_dirs = [str(folder.parent)]
    model = listening()
    await ask("hi", model=model, enable_skills=is_enabled)
    assert ("How the report is made." in model.prompt) is is_enabled
    assert ("activate_skill" in model.bound[0]) is is_enabled


@requirement("R4.1")
@pytest.mark.parametrize("is_enabled", [True, False])
async def test_shell_is_bound_when_enabled(
    *, is_enabled: bool, ask: Ask, listening: Listening
) -> None:
    model = listening()
    await ask("hi", model=model, enable_shell=is_enabled)
    assert ("shell" in model.bound[0]) is is_enabled
    assert {"ls", "read_file", "write_file", "edit_file", "task", "write_todos"} <= model.bound[0]


@requirement("R4.6")
async def test_sandbox_type_selects_where_commands_run(ask: Ask, factory: AgentFactory) -> None:
    events = await ask('!tool shell {"command": "echo from the $0"}', sandbox_type="local")
    assert any(isinstance(e, ToolResultEvent) and "from the" in e.result for e in events)
    with pytest.raises(Misconfigured, match="submarine"):
        factory.create_agent(AgentConfig("agent", sandbox_type="submarine"))


@requirement("P19", "R7.5")
async def test_extra_middleware_wraps_every_model_call(ask: Ask) -> None:
    first, second = CountingMiddleware(), NamedMiddleware()
    await ask('!tool ls {"path": "/"}', extra_middleware=[first, second])
    assert (first.calls, second.calls) == (2, 2)


class NamedMiddleware(CountingMiddleware):
    """A second one beside the first."""


@requirement("P20", "R8.3")
async def test_extra_tools_are_bound_and_run(ask: Ask, listening: Listening) -> None:
    model = listening()
    events = await ask('!tool weather {"city": "Bonn"}', model=model, extra_tools=[weather])
    assert "weather" in model.bound[0]
    results = [e.result for e in events if isinstance(e, ToolResultEvent)]
    assert results == ["sun in Bonn"]


async def test_system_prompt_replaces_ours(ask: Ask, listening: Listening) -> None:
    model = listening()
    await ask("hi", model=model)
    assert "DataAgent" in model.prompt
    await ask("hi", model=model, system_prompt="You count sheep.")
    assert "You count sheep." in model.prompt
    assert "You are DataAgent" not in model.prompt


def test_model_of_another_agent_is_never_taken_for_ones_own(factory: AgentFactory) -> None:
    for number in range(20):
        model = ScriptedChatModel([f"{number}"])
        factory.create_agent(AgentConfig("agent", model=model))
        del model  # its memory may be the next one's
    assert len(factory._built) == 20


# -- one graph for all ----------------------------------------------------------------------------


@requirement("R4.2")
def test_same_definition_gets_the_same_graph_for_all_users(factory: AgentFactory) -> None:
    graph, backend = factory.create_agent(AgentConfig("agent", user_id="a", auto_approve=True))
    again, same = factory.create_agent(
        AgentConfig("other", user_id="b", tenant_id="t", recursion_limit=7, timeout=1.0)
    )
    assert again.nodes is graph.nodes
    assert again.defaults != graph.defaults
    assert same is backend
    assert factory.create_agent(AgentConfig("agent", user_id="a", auto_approve=True))[0] is graph


@pytest.mark.parametrize(
    "other",
    [
        {"enable_memory": False},
        {"enable_skills": False},
        {"enable_shell": False},
        {"system_prompt": "x"},
        {"model": "offline"},
        {"model": ScriptedChatModel()},
        {"extra_tools": [weather]},
        {"extra_middleware": [CountingMiddleware()]},
        {"subagents": [SubAgentConfig("counter", "Counts.", "You count.")]},
    ],
)
def test_other_definition_gets_another_graph(factory: AgentFactory, other: dict[str, Any]) -> None:
    graph, _ = factory.create_agent(AgentConfig("agent"))
    assert factory.create_agent(AgentConfig("agent", **other))[0] is not graph
    assert factory.create_agent(AgentConfig("agent"))[0] is graph


def test_graphs_not_used_for_long_are_dropped(
    factory: AgentFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factory_module, "_MAX_GRAPHS", 2)
    first, _ = factory.create_agent(AgentConfig("agent", system_prompt="1"))
    factory.create_agent(AgentConfig("agent", system_prompt="2"))
    assert factory.create_agent(AgentConfig("agent", system_prompt="1"))[0] is first
    factory.create_agent(AgentConfig("agent", system_prompt="3"))
    assert factory.create_agent(AgentConfig("agent", system_prompt="1"))[0] is first
    assert len(factory._built) == 2


@requirement("R32.4", "R32.6")
async def test_users_of_one_graph_have_their_own_files(ask: Ask) -> None:
    await ask(
        '!tool write_file {"file_path": "/files/a.txt", "content": "anna"}',
        user_id="anna",
        session_id="1",
    )
    mine = await ask('!tool read_file {"file_path": "/files/a.txt"}', user_id="anna")
    theirs = await ask(
        '!tool read_file {"file_path": "/files/a.txt"}', user_id="bert", session_id="2"
    )
    assert "anna" in result_of(mine).result
    assert "anna" not in result_of(theirs).result
    assert result_of(theirs).status == "error"


def result_of(events: list[AnyEvent]) -> ToolResultEvent:
    return next(e for e in events if isinstance(e, ToolResultEvent))


# -- sub-agents -----------------------------------------------------------------------------------


async def test_sub_agent_has_its_own_model_prompt_and_tools(ask: Ask, listening: Listening) -> None:
    model: BaseChatModel = listening(["It is sunny."])
    tools: tuple[BaseTool, ...] = (weather,)
    sub = SubAgentConfig("meteorologist", "Knows the weather.", "You know clouds.", tools, model)
    task = '{"description": "how is it?", "subagent_type": "meteorologist"}'
    events = await ask(f"!tool task {task}", subagents=[sub])
    assert result_of(events).result == "It is sunny."
    heard: Any = model
    assert "weather" in heard.bound[0]
    assert "shell" not in heard.bound[0]
    assert "You know clouds." in heard.prompt


def test_a_model_is_made_once_for_all_agents_and_summaries_that_name_it(
    factory: AgentFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str | None] = []
    create = Settings.create_model

    def noted(given: Settings, model_name: str | None = None) -> BaseChatModel:
        made.append(model_name)
        return create(given, model_name)

    monkeypatch.setattr(Settings, "create_model", noted)
    factory.create_agent(AgentConfig("agent", system_prompt="One."))
    factory.create_agent(AgentConfig("agent", system_prompt="Two.", model="scripted"))
    for _ in range(3):
        factory.summarization(AgentConfig("agent"))
    factory.create_agent(AgentConfig("agent", model="offline"))
    assert made == ["scripted", "offline"]


@requirement("R7.1")
async def test_a_call_passes_one_guard_one_approval_and_one_observer(
    factory: AgentFactory,
) -> None:
    agent, _ = factory.create_agent(AgentConfig("agent", tools=frozenset({"think"})))
    wrapping = [
        type(each)
        for each in agent.middleware
        if type(each).awrap_tool_call is not AgentMiddleware.awrap_tool_call
    ]
    assert wrapping == [FileToolsMiddleware, ToolGuard, ApprovalsMiddleware, ToolObserver]
