"""Runs of agents that are data: their tools and their helpers', packages put into a folder."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from dataagent_core.agents.service import NewAgent
from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.errors import AgentBusy
from dataagent_core.events import AnyEvent, ToolResultEvent
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.runs.agents import agent_config
from dataagent_core.runs.types import Run
from tests.requirements import requirement

ChatIn = Callable[..., Any]
MakeSettings = Callable[..., Settings]
LS = '!tool ls {"path": "/"}'
WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'


@pytest.fixture
async def core(make_settings: MakeSettings) -> AsyncGenerator[Core]:
    settings = make_settings(enable_shell=True, auto_approve=True)
    async with open_core(settings, grace_seconds=0) as opened:
        yield opened


def results_of(events: list[AnyEvent]) -> list[tuple[str, str]]:
    found = [event for event in events if isinstance(event, ToolResultEvent)]
    return [(event.tool_name, event.status) for event in found]


async def made(core: Core, *tools: str, **fields: Any) -> str:
    """A created agent with these tools; its id."""
    numbers = core.agents.registry.now.tool_ids
    new = NewAgent(name="helper", tool_ids=[numbers[name] for name in tools], **fields)
    return (await core.agents.service.create(new)).spec.agent_id


@requirement("B1")
async def test_helpers_of_an_agent_have_its_tools_and_no_others(
    core: Core, chat_in: ChatIn
) -> None:
    agent = await made(core, "ls")
    task = json.dumps({"description": f"{WRITE}\n{LS}", "subagent_type": "general-purpose"})
    chat = await chat_in(core)
    events = await chat.ask(f"!tool task {task}", assistant_id=agent, auto_approve=False)
    assert sorted(results_of(events)) == [
        ("ls", "success"),
        ("task", "success"),
        ("write_file", "denied"),
    ]
    assert {event.event_type for event in events}.isdisjoint({"hitl_request", "file_operation"})
    assert await chat.files() == {}


@requirement("B1")
async def test_an_agent_that_is_given_a_task_keeps_to_its_own_tools(
    core: Core, chat_in: ChatIn
) -> None:
    shell = '!tool shell {"command": "touch files/made"}'
    task = json.dumps({"description": f"{shell}\n{LS}", "subagent_type": "sql"})
    chat = await chat_in(core)
    events = await chat.ask(f"{shell}\n!tool task {task}")  # general has the shell, sql has not
    assert sorted(results_of(events)) == [
        ("ls", "success"),
        ("shell", "denied"),
        ("shell", "success"),
        ("task", "success"),
    ]


@requirement("B1")
async def test_the_model_is_shown_what_is_bound_and_what_every_agent_works_with(
    core: Core, chat_in: ChatIn
) -> None:
    shown: list[set[str]] = []

    class Listening(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            shown.append({tool.name for tool in tools})
            return super().bind_tools(tools, **kwargs)

    def config_for(run: Run) -> Any:
        config = agent_config(core.settings, run, core.agents.registry)
        config.model = model
        return config

    model = Listening()
    core.worker._config_for = config_for
    agent = await made(core, "ls", "think_tool", "sql_db_query")
    chat = await chat_in(core)
    await chat.ask("!echo hi", assistant_id=agent)
    await chat.ask("!echo hi")
    assert shown[0] - {"activate_skill"} == {
        "ls",
        "think_tool",
        "sql_db_query",
        "task",
        "write_todos",
    }
    bindable = {tool.name for tool in core.agents.registry.now.tools}
    assert bindable <= shown[1]
    assert shown[1] - bindable - {"activate_skill"} == {"task", "write_todos"}


async def test_the_shell_is_denied_to_an_agent_without_it(core: Core, chat_in: ChatIn) -> None:
    agent = await made(core, "ls")
    message = '!tool shell {"command": "touch files/made"}'
    chat = await chat_in(core)
    assert results_of(await chat.ask(message, assistant_id=agent)) == [("shell", "denied")]
    assert await chat.files() == {}
    assert results_of(await chat.ask(message)) == [("shell", "success")]


async def test_a_choice_of_an_agent_reads_no_table_of_agents(core: Core, chat_in: ChatIn) -> None:
    agent = await made(core, "ls")
    chat = await chat_in(core)
    await chat.ask("!echo hi", assistant_id=agent)
    registry = core.agents.registry
    asked: list[str] = []
    await registry.aclose()  # no look in between
    store: Any = registry._store
    store.version = store.load = lambda: asked.append("read")  # counts, and would break the turn
    graphs = len(core.factory._built)
    await chat.ask("!echo hi", assistant_id=agent)
    assert asked == []
    assert len(core.factory._built) == graphs


@requirement("S2.2.2a")
async def test_agents_with_the_same_definition_share_a_graph_until_one_changes(
    core: Core, chat_in: ChatIn
) -> None:
    agent = await made(core, "ls")
    chat = await chat_in(core)
    await chat.ask("!echo hi", assistant_id=agent)
    graphs = len(core.factory._built)
    await chat.ask("!echo hi", assistant_id="helper")
    assert len(core.factory._built) == graphs
    await core.agents.service.update(agent, {"tool_ids": []})
    assert results_of(await chat.ask(LS, assistant_id=agent)) == [("ls", "denied")]
    assert len(core.factory._built) == graphs + 1


@requirement("S8.2", "S2.2.4a")
async def test_a_package_dropped_into_a_folder_answers_after_a_restart(
    make_settings: MakeSettings, tmp_path: Path, chat_in: ChatIn
) -> None:
    folder = tmp_path / "packages"
    settings = make_settings(packages_dirs=[str(folder)])
    async with open_core(settings, grace_seconds=0) as core:
        assert core.agents.registry.find("haiku") is None
    (folder / "haiku").mkdir(parents=True)
    (folder / "haiku" / "AGENTS.md").write_text("---\ntools: [ls]\n---\nYou write haiku.")
    (folder / "broken").mkdir()
    async with open_core(settings, grace_seconds=0) as core:
        spec = await core.agents.registry.get("haiku")
        assert (spec.kind, spec.system_prompt) == ("package", "You write haiku.")
        assert core.agents.registry.find("broken") is None
        chat = await chat_in(core)
        events = await chat.ask(f"{LS}\n{WRITE}", assistant_id="haiku")
        assert results_of(events) == [("ls", "success"), ("write_file", "denied")]


@requirement("B8")
async def test_another_process_sees_that_an_agent_works_and_what_was_changed(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    settings = make_settings()
    async with open_core(settings, grace_seconds=0) as one, open_core(settings) as two:
        agent = await made(one, "ls", "write_file")
        chat = await chat_in(one)
        run = await chat.start(WRITE, assistant_id=agent)
        await chat.requests(run)
        with pytest.raises(AgentBusy):
            await two.agents.service.update(agent, {"tool_ids": []})
        await one.runs.cancel(run.run_id, owner=chat.owner)
        await two.agents.service.update(agent, {"tool_ids": []})
        await one.agents.registry.refresh()  # what it does once a second
        assert results_of(await chat.ask(LS, assistant_id=agent)) == [("ls", "denied")]
