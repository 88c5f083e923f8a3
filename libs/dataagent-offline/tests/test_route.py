"""The offline model as supervisor: who gets a question, by its words."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from dataagent_core.models.rule_based import Call, Say, conversation_of
from dataagent_offline.model import next_turn

AGENTS = ["research", "sql", "general"]


def function(name: str, **properties: Any) -> dict[str, Any]:
    return {"function": {"name": name, "parameters": {"properties": properties}}}


def route_tool(agents: list[str]) -> dict[str, Any]:
    return function("route", agent_name={"type": "string", "enum": agents}, task_description={})


def turn_for(
    *messages: BaseMessage, agents: list[str] | None = None, others: tuple[str, ...] = ()
) -> Any:
    tools = [] if agents is None else [route_tool(agents)]
    return next_turn(conversation_of(messages, [*tools, *map(function, others)]))


@pytest.mark.parametrize(
    ("question", "agent"),
    [
        ("How many customers are there?", "sql"),
        ("Total sales by country", "sql"),
        ("Top 5 artists by revenue", "sql"),
        ("一共有多少客户？", "sql"),
        ("按月统计销售额", "sql"),
        ("```sql\nSELECT 1\n```", "sql"),
        ("```python\nprint(1)\n```", "general"),
        ("```sql\nSELECT 1\n```\n```python\nprint(1)\n```", "general"),
        ("list files", "general"),
        ("read /files/report.md", "general"),
        ("write hello to /files/a.txt", "general"),
        ("Please write a poem about the rain in spring, my friend", "general"),
    ],
)
def test_a_question_goes_whole_to_the_agent_it_sounds_like(question: str, agent: str) -> None:
    wanted = Call("route", {"agent_name": agent, "task_description": question})
    assert turn_for(HumanMessage(question), agents=AGENTS) == [wanted]


@pytest.mark.parametrize("greeting", ["hello", "你好", "what can you do?"])
def test_a_greeting_is_answered_at_once(greeting: str) -> None:
    (said,) = turn_for(HumanMessage(greeting), agents=AGENTS)
    assert isinstance(said, Say)
    assert "offline model" in str(said.text) or "离线模型" in str(said.text)


def test_without_the_agent_that_fits_the_last_one_gets_it() -> None:
    (call,) = turn_for(HumanMessage("How many customers?"), agents=["research", "general"])
    assert call.args["agent_name"] == "general"


def test_nobody_else_hands_over() -> None:
    (said,) = turn_for(HumanMessage("How many customers?"))
    assert isinstance(said, Say)


def test_being_handed_a_question_is_no_answer_to_it() -> None:
    question = HumanMessage("list files")
    handed = [
        AIMessage("", tool_calls=[{"name": "route", "args": {}, "id": "r"}]),
        ToolMessage("Handed over.", tool_call_id="r", name="route"),
    ]
    turn = turn_for(question, *handed, others=("ls",))
    assert [step for step in turn if isinstance(step, Call)] == [Call("ls", {"path": "/"})]
    listed = [
        AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "l"}]),
        ToolMessage("['/a']", tool_call_id="l", name="ls"),
    ]
    (said,) = turn_for(question, *handed, *listed, others=("ls",))
    assert "['/a']" in said.text
    assert "Handed over" not in said.text
