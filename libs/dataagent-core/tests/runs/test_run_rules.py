"""What a caller says about a run's tools holds: denied, allowed, planned, with so many tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from pydantic import Field

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.audit import AuditFilter
from dataagent_core.config import Settings
from dataagent_core.errors import BadInput
from dataagent_core.events import AnyEvent, DoneEvent, HITLRequestEvent, TextEvent, ToolResultEvent
from dataagent_core.hitl import Decision
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.runs import RunOptions
from tests.requirements import requirement

LS = '!tool ls {"path": "/"}'
WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x\\n"}'
EDIT = '!tool edit_file {"file_path": "/files/a.txt", "old_string": "x", "new_string": "y"}'
PLAN = RunOptions(is_plan=True, auto_approve=True)


def alone(*lines: str) -> str:
    """The lines, done by the agent itself."""
    return "\n".join(lines)


def helped(*lines: str) -> str:
    """The lines, done by a helper."""
    task = {"description": "\n".join(lines), "subagent_type": "general-purpose"}
    return f"!tool task {json.dumps(task)}"


def results_of(events: Sequence[AnyEvent]) -> list[tuple[str, str]]:
    return [(e.tool_name, e.status) for e in events if isinstance(e, ToolResultEvent)]


def said_by(tool_name: str, events: Sequence[AnyEvent]) -> str:
    found = [e for e in events if isinstance(e, ToolResultEvent) and e.tool_name == tool_name]
    return str(found[0].result)


@pytest.mark.parametrize("around", [alone, helped])
async def test_a_denied_tool_is_not_called_by_agent_or_helper(
    chat: Any, around: Callable[..., str]
) -> None:
    options = RunOptions(deny=("write_*",), allow=("*",))
    events = await chat.ask(f"{around(WRITE, LS)}\n!echo on", options=options)
    found = dict(results_of(events))
    assert (found["write_file"], found["ls"]) == ("denied", "success")
    assert "The user does not allow 'write_file' in this run" in said_by("write_file", events)
    assert await chat.files() == {}
    assert events[-1].reason == "completed"


async def test_a_refused_call_is_in_the_audit_log(core: Core, chat: Any) -> None:
    await chat.ask(f"{WRITE}\n!echo on", options=RunOptions(deny=("write_file",)))
    await core.observers.audit.flush()
    rows, _ = await core.observers.audit.list(AuditFilter(action="tool.call"))
    assert [(row.record.target, row.record.outcome) for row in rows] == [("write_file", "denied")]


async def test_an_allowed_tool_asks_nobody_and_others_still_ask(chat: Any) -> None:
    options = RunOptions(allow=("write_file",))
    run = await chat.start(f"{WRITE}\n{EDIT}\n!echo on", options=options)
    (request,) = await chat.requests(run)
    assert request.action.name == "edit_file"
    await chat.decide(run, request.request_id, Decision("approve"))
    assert results_of(await chat.events(run)) == [
        ("write_file", "success"),
        ("edit_file", "success"),
    ]
    assert await chat.files() == {"a.txt": "y\n"}


@pytest.mark.parametrize("around", [alone, helped])
async def test_a_plan_changes_nothing_and_asks_nobody(
    chat: Any, around: Callable[..., str]
) -> None:
    events = await chat.ask(f"{around(WRITE, LS)}\n!echo my plan", options=PLAN)
    found = dict(results_of(events))
    assert (found["write_file"], found["ls"]) == ("denied", "success")
    assert "plan mode: say what you would do" in said_by("write_file", events)
    assert not [event for event in events if isinstance(event, HITLRequestEvent)]
    assert await chat.files() == {}
    again = await chat.ask(f"{WRITE}\n!echo done", auto_approve=True)  # a rule is a run's
    assert results_of(again) == [("write_file", "success")]


class Seen(ScriptedChatModel):
    """Notes the prompt and the tools it was given."""

    prompts: list[str] = Field(default_factory=list[str])
    offered: list[set[str]] = Field(default_factory=list[set[str]])

    def turn_for(self, messages: Sequence[BaseMessage]) -> Any:
        self.prompts.append(messages[0].text)
        return super().turn_for(messages)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self.offered.append({getattr(tool, "name", "") for tool in tools})
        return super().bind_tools(tools, **kwargs)


async def test_the_model_is_told_of_a_plan_and_not_shown_what_is_denied(
    core: Core, chat: Any, with_agent: Callable[..., None]
) -> None:
    model = Seen(turns=["one", "two"])
    with_agent(core, model=model)
    await chat.ask("plan it", options=RunOptions(is_plan=True, deny=("ls", "edit_*")))
    await chat.ask("do it")
    planned, free = model.prompts
    assert "## Plan mode" in planned
    assert "## Plan mode" not in free
    assert model.offered[1] - model.offered[0] == {"ls", "edit_file"}


async def test_a_request_to_change_a_file_shows_what_would_change(chat: Any) -> None:
    await chat.ask(WRITE, auto_approve=True)
    run = await chat.start(EDIT)
    (request,) = await chat.requests(run)
    diff = "--- a/files/a.txt\n+++ b/files/a.txt\n@@ -1 +1 @@\n-x\n+y"
    assert request.action.diff == diff
    view = await chat.core.runs.get(run.run_id, owner="anna")
    assert [approval.action.diff for approval in view.pending] == [diff]
    await chat.decide(run, request.request_id, Decision("reject"))
    await chat.events(run)


@requirement("G2")
async def test_a_run_ends_visibly_when_its_own_budget_is_used_up(chat: Any) -> None:
    events = await chat.ask("\n".join([LS] * 60), options=RunOptions(max_tokens=60_000))
    done = events[-1]
    assert isinstance(done, DoneEvent)
    assert done.metadata is not None
    assert (done.reason, done.metadata["budget"]["limit"]) == ("budget", 60_000)
    assert 1 < len(results_of(events)) < 60
    text = "".join(event.content for event in events if isinstance(event, TextEvent))
    assert "60,000 tokens, is used up" in text
    assert (await chat.ask("!echo next"))[-1].reason == "completed"


async def test_a_callers_budget_is_never_above_the_one_that_is_set(
    make_settings: Callable[..., Settings], chat_in: Callable[..., Any]
) -> None:
    async with open_core(make_settings(run_max_tokens=10)) as core:
        events = await (await chat_in(core)).ask("!echo x", options=RunOptions(max_tokens=10**6))
        assert events[-1].metadata["budget"]["limit"] == 10


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput):
        RunOptions(max_tokens=0)
