"""What a chosen agent says has its name; the default assistant and the supervisor have none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataagent_core.agents import SUPERVISOR
from dataagent_core.agents.service import NewAgent
from dataagent_core.app.assembly import Core
from dataagent_core.events import AnyEvent, TextEvent, ThinkingEvent, ToolCallEvent
from tests.requirements import requirement


def use(name: str, /, **args: Any) -> str:
    return f"!tool {name} {json.dumps(args)}"


def spoken(events: list[AnyEvent]) -> list[tuple[str, str | None, str | None]]:
    """What was said, thought and called, in order: by whom, and whether by a sub-agent."""
    found: list[tuple[str, str | None, str | None]] = []
    for event in events:
        if isinstance(event, TextEvent | ThinkingEvent | ToolCallEvent):
            who = (event.event_type, event.agent, event.subagent)
            found += [who] if not found or found[-1] != who else []
    return found


@requirement("S2.2.1a", "S2.2.1b")
@pytest.mark.parametrize("message", ["[ROUTE_TO: sql] hi", "[ROUTE_TO: agent] hi", "[SKILL: x] hi"])
async def test_an_agent_that_a_rule_chose_speaks_with_its_name(chat: Any, message: str) -> None:
    name = "sql" if "sql" in message else "general"
    events = await chat.ask(message, assistant_id=SUPERVISOR)
    assert spoken(events) == [("thinking", None, None), ("text", name, None)]


async def test_an_agent_that_the_model_chose_speaks_with_its_name_and_the_supervisor_without(
    chat: Any,
) -> None:
    task = use("task", subagent_type="general-purpose", description="!echo Below.")
    route = use("route", agent_name="sql", task_description="it")
    events = await chat.ask(
        f"!think Hm.\n{route}\n!think Hm.\n!echo First.\n{task}\n!slow 5 1", assistant_id=SUPERVISOR
    )
    assert spoken(events) == [
        ("thinking", None, None),
        ("thinking", "sql", None),
        ("text", "sql", None),
        ("tool_call", "sql", None),
        ("text", "general-purpose", "general-purpose"),
        ("text", "sql", None),
    ]
    said = [e for e in events if isinstance(e, TextEvent) and e.subagent is None]
    assert "".join(e.content for e in said) == "First.chunk0 chunk1 chunk2 chunk3 chunk4 "


async def test_the_supervisor_that_answers_itself_has_no_name(chat: Any) -> None:
    events = await chat.ask("!echo Hello.", assistant_id=SUPERVISOR)
    assert spoken(events) == [("text", None, None)]


async def test_an_agent_that_is_named_speaks_with_its_name_and_the_default_without(
    chat: Any, core: Core
) -> None:
    made = await core.agents.service.create(NewAgent(name="auditor"))
    for chosen, name in (
        ("sql", "sql"),
        ("auditor", "auditor"),
        (made.spec.agent_id, "auditor"),
        ("general", "general"),
        ("agent", None),
        ("a-place-for-memories", None),
    ):
        events = await chat.ask("!echo Hi.", assistant_id=chosen)
        assert spoken(events) == [("text", name, None)], chosen


async def test_what_was_said_by_name_is_the_answer(chat: Any, core: Core) -> None:
    await chat.ask("!slow 20 1", assistant_id="sql")
    messages, _ = await core.sessions.messages(chat.session_id, owner="anna")
    assert messages[-1].content == "".join(f"chunk{n} " for n in range(20))
