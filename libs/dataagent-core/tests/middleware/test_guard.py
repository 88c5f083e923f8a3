"""Calls that may not run are refused in one order, with a way out, and reported."""

from __future__ import annotations

from typing import Any

from langchain.agents import (
    create_agent,  # pyright: ignore[reportUnknownVariableType] generic over any state
)
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from dataagent_core.identity import RunContext
from dataagent_core.identity.budgets import BudgetLimits, RunBudget
from dataagent_core.middleware import (
    CHECKS,
    BoundTools,
    McpAccess,
    RunRulesCheck,
    SingleTodoList,
    TenantFeatures,
    ToolCallBudget,
    ToolGuard,
)
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
    guard = ToolGuard(
        [BoundTools(bound)], on_refused=lambda call: denied.append(call.tool_call["name"])
    )
    return create_agent(model, tools, middleware=[guard])


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


def test_a_guard_checks_in_the_one_order_that_is_written_down() -> None:
    assert (
        SingleTodoList,
        McpAccess,
        BoundTools,
        RunRulesCheck,
        TenantFeatures,
        ToolCallBudget,
    ) == CHECKS
    given = [ToolCallBudget(), RunRulesCheck(()), BoundTools(frozenset()), SingleTodoList()]
    made = [type(check) for check in ToolGuard(given).checks]
    assert made == [SingleTodoList, BoundTools, RunRulesCheck, ToolCallBudget]


@requirement("G2")
async def test_a_refused_call_takes_nothing_from_the_budget() -> None:
    budget = RunBudget(BudgetLimits(tool_calls=2))
    model = ScriptedChatModel(
        [[Call("remove", {"path": "/a"}), Call("look", {"path": "/a"})], "ok"]
    )
    guard = ToolGuard([ToolCallBudget(), BoundTools(frozenset({"look"}))])
    agent: Any = create_agent(model, [look, remove], middleware=[guard], context_schema=RunContext)
    context = RunContext("u", "s", "r", "agent", budget=budget)
    found = _results(await agent.ainvoke({"messages": [HumanMessage("go")]}, context=context))
    assert (found["remove"].status, found["look"].status) == ("error", "success")
    assert budget.take_tool_call()
    assert not budget.take_tool_call()


async def test_a_plan_is_written_once_a_message() -> None:
    model = ScriptedChatModel([[Call("write_todos", {"path": path}) for path in "ab"], "ok"])
    agent: Any = create_agent(model, [write_todos], middleware=[ToolGuard([SingleTodoList()])])
    state = await agent.ainvoke({"messages": [HumanMessage("go")]})
    results = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    assert [each.status for each in results] == ["error", "error"]
    assert "Call `write_todos` once" in str(results[0].content)
