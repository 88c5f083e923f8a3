"""A compiled graph that a program brings along is an agent like any other."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool

from dataagent_core.agents import SUPERVISOR, AgentEntry, register_agent
from dataagent_core.agents.registration import unregister_agent
from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.errors import BadInput, Misconfigured
from dataagent_core.events import AnyEvent, DoneEvent, TextEvent, ToolResultEvent
from dataagent_core.models.rule_based import Call, Say, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.workspace import run_context
from tests.requirements import requirement


@tool
def weather(city: str) -> str:
    """Say the weather."""
    return f"sun in {city}, {run_context().user_id}"


def looks_first(messages: Sequence[BaseMessage]) -> Turn:
    has_looked = isinstance(messages[-1], ToolMessage) and messages[-1].name == "weather"
    return [Say("It is sunny.")] if has_looked else [Call("weather", {"city": "Bonn"})]


@pytest.fixture
def entry() -> Any:
    graph = create_deep_agent(ScriptedChatModel(looks_first), [weather], name="meteorologist")
    yield register_agent(
        name="meteorologist",
        description="Knows the weather.",
        graph=graph,
        tools=[weather],
        icon="sun",
    )
    unregister_agent("meteorologist")


@pytest.fixture
async def chat(
    entry: AgentEntry, make_settings: Callable[..., Settings], chat_in: Callable[..., Any]
) -> AsyncGenerator[Any]:
    async with open_core(make_settings(), grace_seconds=2) as core:
        yield await chat_in(core)


def said(events: list[AnyEvent]) -> str:
    return "".join(e.content for e in events if isinstance(e, TextEvent))


def results(events: list[AnyEvent]) -> list[Any]:
    return [e.result for e in events if isinstance(e, ToolResultEvent)]


@requirement("S2.2.2a")
def test_entry_has_the_fields_of_the_specification(entry: AgentEntry) -> None:
    assert (entry.name, entry.description, entry.icon) == (
        "meteorologist",
        "Knows the weather.",
        "sun",
    )
    assert (entry.tools, entry.show_in_selector) == ([weather], True)
    with pytest.raises(BadInput):
        register_agent("supervisor", "", entry.graph)


async def test_registered_agent_is_listed(chat: Any) -> None:
    found = await chat.core.agents.registry.get("meteorologist")
    assert (found.description, found.icon, found.show_in_selector) == (
        "Knows the weather.",
        "sun",
        True,
    )


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("How is it?", {"assistant_id": "meteorologist"}),
        ("[ROUTE_TO: meteorologist] How is it?", {"assistant_id": SUPERVISOR}),
        (
            '!tool route {"agent_name": "meteorologist", "task_description": "the weather"}',
            {"assistant_id": SUPERVISOR},
        ),
    ],
)
async def test_registered_agent_answers_when_it_is_meant(
    chat: Any, message: str, options: dict[str, Any]
) -> None:
    events = await chat.ask(message, **options)
    assert said(events) == "It is sunny."
    assert results(events)[-1:] == ["sun in Bonn, anna"]
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].reason == "completed"


async def test_general_gives_it_tasks(chat: Any) -> None:
    task = {"description": "the weather", "subagent_type": "meteorologist"}
    events = await chat.ask(f"!tool task {json.dumps(task)}", auto_approve=True)
    assert "It is sunny." in str(results(events))


async def test_conversation_goes_on_between_it_and_others(chat: Any) -> None:
    await chat.ask("How is it?", assistant_id="meteorologist")
    events = await chat.ask("!echo and then")
    assert said(events) == "and then"
    kinds = [kind for kind, _ in await chat.thread()]
    assert kinds == ["human", "ai", "tool", "ai", "human", "ai"]


async def test_modules_that_the_settings_name_are_imported(
    make_settings: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_weather_agent.py").write_text(
        "from deepagents import create_deep_agent\n"
        "from dataagent_core.agents import register_agent\n"
        "from dataagent_core.models.scripted import ScriptedChatModel\n"
        "graph = create_deep_agent(ScriptedChatModel(['Hi.']), [])\n"
        "register_agent('from-a-module', 'Says hi.', graph)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    async with open_core(make_settings(agent_modules=["my_weather_agent"])) as core:
        assert (await core.agents.registry.get("from-a-module")).description == "Says hi."
    unregister_agent("from-a-module")
    del sys.modules["my_weather_agent"]
    with pytest.raises(Misconfigured, match="no_such_module"):
        async with open_core(make_settings(agent_modules=["no_such_module"])):
            pass
