"""An agent has the tools that are bound to it; the rest is refused, with a way out, and noted."""

from __future__ import annotations

from typing import Any

from langchain.agents import (
    create_agent,  # pyright: ignore[reportUnknownVariableType] generic over any state
)
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from dataagent_core.middleware import ToolPolicyMiddleware
from dataagent_core.models.rule_based import Call
from dataagent_core.models.scripted import ScriptedChatModel
from tests.requirements import requirement


@tool
def look(path: str) -> str:
    """Look at a path."""
    return f"saw {path}"


@tool
def remove(path: str) -> str:
    """Remove a path."""
    raise AssertionError(path)


@tool
def write_todos(path: str) -> str:
    """Plan."""
    return f"planned {path}"


def _agent(bound: frozenset[str], denied: list[str], tools: list[BaseTool]) -> Any:
    names = [*(each.name for each in tools), "invented"]
    model = ScriptedChatModel([[Call(name, {"path": "/a"}) for name in names], "done"])
    policy = ToolPolicyMiddleware(bound, lambda request: denied.append(request.tool_call["name"]))
    return create_agent(model, tools, middleware=[policy])


def _results(state: Any) -> dict[str, ToolMessage]:
    return {each.name or "": each for each in state["messages"] if isinstance(each, ToolMessage)}


@requirement("B1")
async def test_calls_of_other_tools_are_refused_and_told() -> None:
    denied: list[str] = []
    agent = _agent(frozenset({"look"}), denied, [look, remove])
    found = _results(await agent.ainvoke({"messages": [HumanMessage("go")]}))
    assert found["look"].content == "saw /a"
    assert sorted(denied) == ["invented", "remove"]
    for name in denied:
        assert found[name].additional_kwargs == {"status": "denied"}
        assert found[name].content == (
            f"Tool {name!r} is not bound to this agent. It was not called. Use one of: look."
        )


@requirement("B1")
async def test_an_agent_that_has_no_tool_is_told_to_do_without_and_still_plans() -> None:
    denied: list[str] = []
    agent = _agent(frozenset(), denied, [remove, write_todos])
    found = _results(await agent.ainvoke({"messages": [HumanMessage("go")]}))
    assert "No tool is: answer without one." in str(found["remove"].content)
    assert found["write_todos"].content == "planned /a"
    assert sorted(denied) == ["invented", "remove"]
