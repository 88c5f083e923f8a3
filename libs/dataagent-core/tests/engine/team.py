"""A team of three agents, and short forms of what is said to it and what it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import ANY

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from dataagent_core.agents.types import AgentSpec
from dataagent_core.engine import AgentExecutor
from dataagent_core.engine import graph as lg
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    TextEvent,
    ThinkingEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_core.identity import RunContext
from tests.waiting import WAIT_SECONDS

SQL = AgentSpec("sql", "sql", "Answers questions about data.", "builtin", system_prompt="You: sql")
WRITER = AgentSpec(
    "w1", "writer", "Writes.", "custom", system_prompt="You: writer", subagents=("sql",)
)
GENERAL = AgentSpec("general", "general", "Everything else.", "builtin")
AGENTS = (SQL, WRITER, GENERAL)
DONE = DoneEvent(token_usage=ANY, timestamp=ANY)
CANCELLED = DoneEvent(token_usage=ANY, cancelled=True, reason="rejected", timestamp=ANY)

ExecutorOf = Callable[..., AgentExecutor]


def to(agent: str, task: str = "it") -> str:
    args = json.dumps({"agent_name": agent, "task_description": task})
    return f"!tool route {args}"


def use(name: str, /, **args: Any) -> str:
    return f"!tool {name} {json.dumps(args)}"


def write(name: str) -> str:
    return use("write_file", file_path=f"/files/{name}", content="x")


def delegated(agent: str, inner: str) -> str:
    return use("task", subagent_type=agent, description=inner)


async def collect_events(
    executor: AgentExecutor, message: str, *, session_id: str = "s"
) -> list[AnyEvent]:
    """All events of a turn."""
    context = RunContext("u", session_id, "r", "supervisor")
    async with asyncio.timeout(WAIT_SECONDS):
        return [event async for event in executor.execute(message, session_id, context)]


def shape(events: Sequence[AnyEvent]) -> list[str]:
    """The events in short, texts of one message joined."""
    short: list[str] = []
    is_open = False
    for event in events:
        match event:
            case TextEvent():
                if event.content and is_open:
                    short[-1] += event.content
                elif event.content:
                    short.append(f"{event.agent or 'main'} says {event.content}")
                is_open = not event.is_final and (is_open or bool(event.content))
                continue
            case ThinkingEvent():
                short.append(f"thinks {event.content}")
            case ToolCallEvent():
                short.append(f"{event.agent or 'main'} calls {event.tool_name}")
            case ToolResultEvent():
                short.append(f"{event.tool_name} {event.status}")
            case _:
                short.append(event.event_type)
        is_open = False
    return short


async def thread_of(executor: AgentExecutor) -> list[BaseMessage]:
    turn = executor._turn("s", None, None)
    state = await lg.snapshot(turn.graph, turn.config)
    assert (state.results, state.interrupts, state.unmerged) == ([], (), [])
    calls = {c["id"] for m in state.messages if isinstance(m, AIMessage) for c in m.tool_calls}
    assert calls == {m.tool_call_id for m in state.messages if isinstance(m, ToolMessage)}
    return state.messages


def kinds(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.type for message in messages]
