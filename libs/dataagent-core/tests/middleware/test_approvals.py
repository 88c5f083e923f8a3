from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest

# its saver is open
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from dataagent_core.middleware import ApprovalRules, ApprovalsMiddleware, ToolObserver
from dataagent_core.models.rule_based import Call
from dataagent_core.models.scripted import ScriptedChatModel
from tests.requirements import requirement

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py


@tool
def send(text: str) -> str:
    """Send a text."""
    return f"sent {text}"


def gated(agent_with: AgentWith, turns: list[Any]) -> Any:
    approvals = ApprovalsMiddleware(ApprovalRules({"send": "Send a text."}))
    return agent_with(turns, [approvals, ToolObserver()], [send])


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        ({"type": "approve"}, ("success", "sent a")),
        ({"type": "respond", "message": "it is done"}, ("success", "it is done")),
        ({"type": "reject", "message": "no"}, ("error", "reason: no")),
        (
            {"type": "edit", "edited_action": {"name": "send", "args": {"text": "b"}}},
            ("success", "sent b"),
        ),
    ],
)
async def test_a_gated_call_waits_for_one_of_four_decisions(
    agent_with: AgentWith, decision: dict[str, Any], outcome: tuple[str, str]
) -> None:
    agent = gated(agent_with, [Call("send", {"text": "a"}), "done"])
    assert await agent.results(auto_approve=False) == []
    [interrupt] = agent.interrupts
    assert interrupt.value == {
        "type": "tool_approval",
        "tool_call_id": ANY,
        "name": "send",
        "args": {"text": "a"},
        "description": "Send a text.",
        "args_schema": ANY,
    }
    assert interrupt.value["args_schema"]["required"] == ["text"]
    resume: Any = Command(resume={interrupt.id: decision})
    [(status, text)] = await agent.results(resume, auto_approve=False)
    assert status == outcome[0]
    assert text.endswith(outcome[1])


async def test_a_run_that_approves_by_itself_asks_nobody(agent_with: AgentWith) -> None:
    agent = gated(agent_with, [Call("send", {"text": "a"}), "done"])
    assert await agent.results(auto_approve=True) == [("success", "sent a")]
    assert agent.interrupts == []


async def test_calls_at_once_ask_one_by_one(agent_with: AgentWith) -> None:
    agent = gated(agent_with, [[Call("send", {"text": "a"}), Call("send", {"text": "b"})], "done"])
    await agent.run(auto_approve=False)
    assert [i.value["args"]["text"] for i in agent.interrupts] == ["a", "b"]
    assert len({i.id for i in agent.interrupts}) == 2


async def test_nobody_is_asked_about_a_tool_that_the_agent_does_not_have(
    agent_with: AgentWith,
) -> None:
    agent = agent_with(
        [Call("shell", {"command": "ls"}), "done"],
        [ApprovalsMiddleware(), ToolObserver()],
        [send],
    )
    [(status, text)] = await agent.results(auto_approve=False)
    assert agent.interrupts == []
    assert status == "error"
    assert "shell is not a valid tool" in text


@requirement("G16")
async def test_approvals_leave_no_class_behind() -> None:
    agent: Any = create_agent(
        ScriptedChatModel([Call("send", {"text": "a"}), "sent"]),
        tools=[send],
        middleware=[ApprovalsMiddleware(ApprovalRules({"send": "Send a text."}))],
        checkpointer=InMemorySaver(),
    )

    async def approve(number: int) -> None:
        config = {"configurable": {"thread_id": str(number)}}
        await agent.ainvoke({"messages": [HumanMessage("hi")]}, config)
        [waiting] = (await agent.aget_state(config)).tasks
        answer = {waiting.interrupts[0].id: {"type": "approve"}}
        ended = await agent.ainvoke(Command(resume=answer), config)
        assert ended["messages"][-1].text == "sent"

    async def classes_after(approvals: range) -> Counter[str]:
        for number in approvals:
            await approve(number)
        gc.unfreeze()  # else what is frozen now or later is not counted
        gc.collect()
        models = [each for each in gc.get_objects() if isinstance(each, type(BaseModel))]
        return Counter(f"{each.__module__}.{each.__qualname__}" for each in models)

    before = await classes_after(range(3))
    grown = await classes_after(range(3, 13)) - before
    assert [name for name, count in grown.items() if count >= 10] == []  # one for each approval
