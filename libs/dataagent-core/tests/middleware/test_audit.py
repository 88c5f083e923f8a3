"""Every tool call leaves a note with its arguments and its end, and is counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from langchain_core.tools import tool

from dataagent_core.audit import AuditLog, AuditRow
from dataagent_core.middleware import ApprovalRules, ApprovalsMiddleware, CallAudit, ToolObserver
from dataagent_core.models.rule_based import Call
from dataagent_core.storage import Database, open_database
from dataagent_core.storage.migrate import migrate
from dataagent_core.telemetry import Metrics
from tests.waiting import WAIT_SECONDS

AgentWith = Callable[..., Any]  # the class `Agent` of conftest.py

STARTED = asyncio.Event()


@tool
async def work(how: str) -> str:
    """Do it."""
    if how == "fail":
        raise RuntimeError("no")
    if how == "for ever":
        STARTED.set()
        await asyncio.Event().wait()
    return "done"


@pytest.fixture
async def database() -> AsyncGenerator[Database]:
    opened = open_database("sqlite:///:memory:")
    await migrate(opened)
    yield opened
    await opened.close()


async def rows_of(log: AuditLog) -> list[AuditRow]:
    await log.flush()
    return (await log.list())[0][::-1]


async def test_calls_are_noted_with_arguments_and_end(
    agent_with: AgentWith, database: Database
) -> None:
    log, metrics = AuditLog(database), Metrics()
    agent = agent_with(
        [[Call("work", {"how": "well"}), Call("work", {"how": "fail"})], "went on"],
        [ToolObserver([CallAudit(log, metrics)])],
        [work],
    )
    await agent.run(user_id="alice")
    rows = [row.record for row in await rows_of(log)]
    ends = {json.loads(row.details)["arguments"]["how"]: row.outcome for row in rows}
    assert ends == {"well": "success", "fail": "failed"}
    assert {(row.action, row.target, row.user_id, row.run_id) for row in rows} == {
        ("tool.call", "work", "alice", "r")
    }
    text = metrics.text().decode()
    assert 'dataagent_tool_calls_total{status="success",tool="work"} 1.0' in text
    assert 'dataagent_tool_calls_total{status="error",tool="work"} 1.0' in text


async def test_a_call_that_waits_for_a_person_is_noted_when_it_runs(
    agent_with: AgentWith, database: Database
) -> None:
    from langgraph.types import Command

    log = AuditLog(database)
    agent = agent_with(
        [Call("work", {"how": "well"}), "went on"],
        [
            ApprovalsMiddleware(ApprovalRules({"work": "Work."})),
            ToolObserver([CallAudit(log, Metrics())]),
        ],
        [work],
    )
    await agent.run(auto_approve=False)
    assert await rows_of(log) == []
    [interrupt] = agent.interrupts
    edited = {"type": "edit", "edited_action": {"name": "work", "args": {"how": "better"}}}
    resumed = Command(resume={interrupt.id: edited})
    await agent.run(resumed, auto_approve=False)
    [row] = await rows_of(log)
    assert json.loads(row.record.details)["arguments"] == {"how": "better"}


async def test_a_call_that_is_stopped_is_noted(agent_with: AgentWith, database: Database) -> None:
    log = AuditLog(database)
    agent = agent_with(
        [Call("work", {"how": "for ever"})], [ToolObserver([CallAudit(log, Metrics())])], [work]
    )
    running = asyncio.create_task(agent.run())
    async with asyncio.timeout(WAIT_SECONDS):
        await STARTED.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    [row] = await rows_of(log)
    assert row.record.outcome == "failed"
    assert json.loads(row.record.details)["status"] == "cancelled"
