"""An agent has the tools that are bound to it; the rest is refused, with a way out, and noted."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import (
    create_agent,  # pyright: ignore[reportUnknownVariableType] generic over any state
)
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from dataagent_core.config.models.scripted import ScriptedChatModel
from dataagent_core.config.models.steps import Call
from dataagent_core.middleware import ToolPolicyMiddleware
from tests.requirements import requirement


@tool
def look(path: str) -> str:
    """Look at a path."""
    return f"saw {path}"


@tool
def remove(path: str) -> str:
    """Remove a path."""
    raise AssertionError(path)


def _call(name: str) -> Any:
    return {"name": name, "args": {"path": "/a"}, "id": f"call-{name}"}


def _agent(bound: frozenset[str], denied: list[str], tools: list[BaseTool]) -> Any:
    names = ("look", "remove", "invented")
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


async def test_blocking_callers_are_held_to_the_same() -> None:
    denied: list[str] = []
    policy = ToolPolicyMiddleware(frozenset(), lambda r: denied.append(r.tool_call["name"]))
    request: Any = type("Request", (), {"tool_call": _call("remove")})()
    refused = await asyncio.to_thread(policy.wrap_tool_call, request, lambda _: "ran")  # pyright: ignore[reportArgumentType] never called
    assert isinstance(refused, ToolMessage)
    assert "No tool is: answer without one." in str(refused.content)
    planning: Any = type("Request", (), {"tool_call": _call("write_todos")})()
    assert policy.wrap_tool_call(planning, lambda _: "ran") == "ran"  # pyright: ignore[reportArgumentType] stands for a result
    assert denied == ["remove"]
