"""`route`: the supervisor's way to hand a conversation to an agent.

It leaves the supervisor's node of the outer graph for the agent's, and puts the call with its
result into the outer thread, where the agent and later turns find them. A name that there is not is
an error the model can act on. Only the supervisor has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.types import Command

from dataagent_core.agents.routing import unknown_agent_note
from dataagent_core.agents.types import AgentSpec

ROUTE = "route"
_DESCRIPTION = (
    "Hand the conversation to an agent. It sees what was said and answers the user itself; "
    "nothing you say comes after it."
)
_NOT_TAKEN = "Not done: one agent answers, and another call has chosen it."


def route_tool(agents: Sequence[AgentSpec]) -> BaseTool:
    """The tool, for these agents."""

    async def route(
        runtime: ToolRuntime[Any, Any],
        agent_name: str = "",
        task_description: str = "",  # for who watches: it is shown as thinking
    ) -> Command[Any] | ToolMessage:
        call_id = runtime.tool_call_id or ""
        spec = next((each for each in agents if each.name == agent_name), None)
        if spec is None:
            told = unknown_agent_note(str(agent_name or ""), agents)
            return ToolMessage(told, name=ROUTE, tool_call_id=call_id, status="error")
        update = {"messages": _close_calls(runtime.state["messages"], call_id, spec.name)}
        return Command(goto=spec.name, graph=Command.PARENT, update=update)

    return StructuredTool.from_function(
        name=ROUTE,
        description=_DESCRIPTION,
        coroutine=route,
        infer_schema=False,
        args_schema=_arguments([each.name for each in agents]),
    )


def _close_calls(messages: Sequence[BaseMessage], call_id: str, agent: str) -> list[BaseMessage]:
    """What the supervisor did about the question, each call with a result: none stays open."""
    last = max(at for at, each in enumerate(messages) if isinstance(each, HumanMessage))
    done = list(messages[last + 1 :])
    asking = done[-1]
    for call in asking.tool_calls if isinstance(asking, AIMessage) else ():
        is_this = call["id"] == call_id
        result = ToolMessage(
            f"Handed over. You are `{agent}` now: answer the user." if is_this else _NOT_TAKEN,
            id=f"{ROUTE}-{call['id']}",
            name=call["name"],
            tool_call_id=call["id"] or "",
        )
        done.append(result)
    return done


def _arguments(names: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of what a model passes to `route`.

    It is shown the names and nothing checks them but `route`, which says what to do about a wrong
    one.
    """
    task = "What is wanted, whole, in the user's language."
    return {
        "type": "object",
        "properties": {
            "agent_name": {"type": "string", "enum": list(names), "description": "Who answers."},
            "task_description": {"type": "string", "description": task},
        },
        "required": ["agent_name", "task_description"],
    }
