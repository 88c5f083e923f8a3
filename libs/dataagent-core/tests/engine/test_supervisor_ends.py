"""How turns of the supervisor end: stopped, broken, rejected, or gone on with after a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool

from dataagent_core.engine import AgentExecutor, Suspended
from dataagent_core.errors import ModelRefused
from dataagent_core.events import (
    AnyEvent,
    ErrorEvent,
    HITLRequestEvent,
    TextEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.identity import RunContext
from dataagent_core.models.merge import TextWindow, merge_chunks
from dataagent_core.models.rule_based import Call, Fail, Say, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.workspace import UserWorkspaceManager
from tests.waiting import WAIT_SECONDS

from .team import (
    AGENTS,
    CANCELLED,
    DONE,
    ExecutorOf,
    collect_events,
    delegated,
    kinds,
    shape,
    thread_of,
    to,
    use,
    write,
)

# -- ends -----------------------------------------------------------------------------------------


async def stopped_after(
    executor: AgentExecutor, message: str, is_last: Callable[[AnyEvent], bool]
) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    seen = asyncio.Event()

    async def read() -> None:
        async for event in executor.execute(message, "s"):
            events.append(event)
            if is_last(event):
                seen.set()

    task = asyncio.create_task(read())
    async with asyncio.timeout(WAIT_SECONDS):
        await seen.wait()
    task.cancel()
    await asyncio.wait({task}, timeout=WAIT_SECONDS)
    assert task.cancelled()
    return events


async def test_cancelled_while_the_supervisor_speaks(executor_of: ExecutorOf) -> None:
    team, before = executor_of(agents=AGENTS), asyncio.all_tasks()
    await stopped_after(team, "!slow 1000 60", lambda e: isinstance(e, TextEvent))
    assert asyncio.all_tasks() <= before
    assert [(m.type, m.text.strip()) for m in await thread_of(team)] == [
        ("human", "!slow 1000 60"),
        ("ai", "chunk0"),
    ]


async def test_cancelled_while_the_routed_agent_speaks_keeps_what_it_did_and_said(
    executor_of: ExecutorOf,
) -> None:
    team, before = executor_of(agents=AGENTS), asyncio.all_tasks()
    message = f"{to('sql')}\n!echo First.\n{use('ls', path='/')}\n!slow 1000 60"
    await stopped_after(team, message, lambda e: isinstance(e, TextEvent) and "chunk" in e.content)
    assert asyncio.all_tasks() <= before
    thread = await thread_of(team)
    assert kinds(thread) == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert [m.text.strip() for m in thread if m.type == "ai"] == ["", "First.", "chunk0"]
    assert (await collect_events(team, f"{to('writer')}\n!echo On."))[-1] == DONE
    assert kinds(await thread_of(executor_of())) == [*kinds(thread), "human", "ai", "tool", "ai"]


async def test_cancelled_tool_of_the_routed_agent_is_marked_and_its_finished_sibling_kept(
    executor_of: ExecutorOf,
) -> None:
    @tool
    async def stuck() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return ""

    extra: list[BaseTool] = [stuck]
    team = executor_of(agents=AGENTS, extra_tools=extra)
    calls: list[Any] = [{"name": "ls", "args": {"path": "/"}}, {"name": "stuck", "args": {}}]
    message = f"{to('general')}\n!tools {json.dumps(calls)}"
    await stopped_after(team, message, lambda e: isinstance(e, ToolResultEvent))
    results = {m.name: m for m in await thread_of(team) if isinstance(m, ToolMessage)}
    assert results["ls"].status == "success"
    assert "stopped before it finished" in results["stuck"].text


async def test_model_that_breaks_in_the_routed_agent_ends_the_turn_visibly(
    executor_of: ExecutorOf,
) -> None:
    turns: list[Turn] = [
        [Call("route", {"agent_name": "sql"})],
        [Say("so far "), Fail(ModelRefused("no"))],
        [Say("again")],
    ]
    executor = executor_of(
        agents=AGENTS, model=merge_chunks(ScriptedChatModel(turns), TextWindow(0.02))
    )
    events = await collect_events(executor, "go")
    assert shape(events) == ["thinks → sql", "main says so far ", "error", "done"]
    assert [(m.type, m.text) for m in (await thread_of(executor))[-1:]] == [("ai", "so far ")]


async def test_step_limit_holds_for_the_routed_agent(executor_of: ExecutorOf) -> None:
    executor = executor_of(agents=AGENTS, recursion_limit=8)
    lines = "\n".join([to("sql"), *[use("ls", path="/")] * 20])
    events = await collect_events(executor, lines)
    assert [e.error_code for e in events if isinstance(e, ErrorEvent)] == ["step_limit"]


# -- approvals ------------------------------------------------------------------------------------


async def test_routed_agents_call_is_asked_for_once_and_made(
    executor_of: ExecutorOf, answers: Any, workspaces: UserWorkspaceManager
) -> None:
    handler = answers(Decision("approve"))
    team = executor_of(agents=AGENTS, hitl_handler=handler)
    events = await collect_events(team, f"{to('sql')}\n{write('a.txt')}\n!echo Written.")
    assert [action.name for action in handler.asked] == ["write_file"]
    assert len([e for e in events if isinstance(e, HITLRequestEvent)]) == 1
    assert shape(events)[-3:] == ["write_file success", "main says Written.", "done"]
    assert ((await workspaces.prepare("u")) / "files" / "a.txt").read_text() == "x"


async def test_rejection_in_the_routed_agent_ends_the_turn_and_leaves_the_thread_whole(
    executor_of: ExecutorOf, answers: Any
) -> None:
    team = executor_of(agents=AGENTS, hitl_handler=answers(Decision("reject")))
    inner = delegated("general-purpose", write("a.txt"))
    for calls in (write("a.txt"), inner):
        assert (await collect_events(team, f"{to('general')}\n{calls}"))[-1] == CANCELLED
        assert "rejected" in (await thread_of(team))[-1].text


@pytest.mark.parametrize("where", ["the agent", "its helper"])
async def test_a_waiting_routed_agent_goes_on_after_a_restart(
    executor_of: ExecutorOf, answers: Any, where: str
) -> None:
    class Dying:
        async def request_approval(
            self, action_request: ActionRequest, session_id: str
        ) -> Decision:
            raise Suspended

    call = write("a.txt") if where == "the agent" else delegated("sql", write("a.txt"))
    message = f"{to('general')}\n!echo First.\n{call}\n!echo Last."
    with pytest.raises(Suspended):
        await collect_events(executor_of(agents=AGENTS, hitl_handler=Dying()), message)
    handler = answers(Decision("approve"))
    again = executor_of(agents=AGENTS, hitl_handler=handler)
    events = [event async for event in again.resume("s", RunContext("u", "s", "r", "supervisor"))]
    assert [action.name for action in handler.asked] == ["write_file"]
    assert shape(events)[-2:] == ["main says Last.", "done"]
    spoken = [m.text for m in await thread_of(again) if m.type == "ai" and m.text]
    assert spoken == ["First.", "Last."]
