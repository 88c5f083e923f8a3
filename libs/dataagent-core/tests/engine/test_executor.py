"""One turn of a real agent, as events: text, tools, files, sub-agents, failures."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, get_args
from unittest.mock import ANY
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import tool

from dataagent_core.engine import AgentExecutor
from dataagent_core.errors import ModelRefused, ModelUnavailable
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    ErrorEvent,
    FileOperationEvent,
    TextEvent,
    ThinkingEvent,
    TodoUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from dataagent_core.models.directives import read_turns
from dataagent_core.models.rule_based import Call, Fail, Say, Step
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement
from tests.tiers import examples

Ask = Callable[..., Awaitable[list[AnyEvent]]]
ExecutorOf = Callable[..., AgentExecutor]
many = settings(max_examples=examples(100))
done = DoneEvent(token_usage=ANY, timestamp=ANY)


@tool
def crash(how: str) -> str:
    """Raise."""
    raise ValueError(f"{how} at /srv/host/path")


def said(events: list[AnyEvent]) -> str:
    return "".join(e.content for e in events if isinstance(e, TextEvent))


def ends(events: list[AnyEvent]) -> list[DoneEvent]:
    return [e for e in events if isinstance(e, DoneEvent)]


@requirement("R5.1", "R5.2", "P12")
async def test_execute_takes_input_session_and_context_and_iterates_events(
    executor_of: ExecutorOf,
) -> None:
    parameters = inspect.signature(AgentExecutor.execute).parameters.values()
    positional = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    assert positional == ["self", "user_input", "session_id", "context"]
    events = executor_of().execute("hello", "s")
    assert isinstance(events, AsyncIterator)
    assert {type(event) async for event in events} <= set(get_args(AnyEvent))


@requirement("P12", "P14", "R5.4", "R2.2")
@many
@given(text=st.text(min_size=1, max_size=60).filter(lambda t: read_turns(t) == [[Say(t)]]))
async def test_any_normal_turn_ends_with_one_done_that_is_not_cancelled(
    ask: Ask, text: str
) -> None:
    events = await ask(text, session_id=str(uuid4()))
    assert said(events) == text
    assert events[-1] == done
    assert ends(events) == [done]
    assert all(event.timestamp > 0 for event in events)


@requirement("R2.2", "R2.3", "R2.4", "R5.4")
async def test_turn_with_a_tool_is_told_in_order(ask: Ask) -> None:
    model = ScriptedChatModel([[Say(["Let me ", "see."]), Call("ls", {"path": "/"})], "Empty."])
    events = await ask("what is there?", model=model)
    assert events == [
        TextEvent(content="Let me ", timestamp=ANY),
        TextEvent(content="see.", timestamp=ANY),
        TextEvent(content="", is_final=True, timestamp=ANY),
        ToolCallEvent(tool_name="ls", tool_args={"path": "/"}, tool_call_id=ANY, timestamp=ANY),
        ToolResultEvent(tool_call_id=ANY, tool_name="ls", result=ANY, timestamp=ANY),
        TextEvent(content="Empty.", timestamp=ANY),
        TextEvent(content="", is_final=True, timestamp=ANY),
        DoneEvent(
            token_usage={"input_tokens": ANY, "output_tokens": 4, "total_tokens": ANY},
            timestamp=ANY,
        ),
    ]
    call, result = events[3], events[4]
    assert isinstance(call, ToolCallEvent)
    assert isinstance(result, ToolResultEvent)
    assert call.tool_call_id == result.tool_call_id


@requirement("S4b", "S2.2.5.1b")
async def test_thinking_is_shown_from_the_model_and_from_the_tool(ask: Ask) -> None:
    message = '!think let me see\n!tool think_tool {"reflection": "enough"}\n!echo Yes.'
    events = await ask(message)
    thoughts = "|".join(e.content for e in events if isinstance(e, ThinkingEvent))
    assert thoughts.replace("|", "") == "let me seeenough"
    assert said(events) == "Yes."
    assert not [e for e in events if isinstance(e, ToolCallEvent | ToolResultEvent)]


async def test_plan_is_reported_when_it_changes(ask: Ask) -> None:
    todos = [{"content": "count", "status": "in_progress"}]
    events = await ask(f"!tool write_todos {json.dumps({'todos': todos})}")
    assert TodoUpdateEvent(todos=todos, timestamp=ANY) in events


async def test_sub_agents_text_and_calls_carry_its_name(ask: Ask) -> None:
    inner = '!echo I look.\n!tool ls {"path": "/"}\n!echo Nothing.'
    task = {"description": inner, "subagent_type": "general-purpose"}
    events = await ask(f"!tool task {json.dumps(task)}\n!echo As told.")
    spoken: dict[str | None, str] = {}
    for event in events:
        if isinstance(event, TextEvent):
            spoken[event.agent] = spoken.get(event.agent, "") + event.content
    assert spoken == {"general-purpose": "I look.Nothing.", None: "As told."}
    calls = [(e.tool_name, e.agent) for e in events if isinstance(e, ToolCallEvent)]
    assert calls == [("task", None), ("ls", "general-purpose")]
    results = [e.tool_name for e in events if isinstance(e, ToolResultEvent)]
    assert results == ["ls", "task"]


# -- files ----------------------------------------------------------------------------------------


HEAD = "--- a/files/a.txt\n+++ b/files/a.txt\n"


def operation(kind: Any, metrics: dict[str, int], diff: str | None = None) -> FileOperationEvent:
    return FileOperationEvent(
        operation=kind, file_path="/files/a.txt", metrics=metrics, diff=diff, timestamp=ANY
    )


@requirement("R5.6", "R8.2", "P15")
async def test_file_operations_come_with_diff_and_figures(ask: Ask) -> None:
    events = await ask(
        '!tool write_file {"file_path": "/files/a.txt", "content": "one\\ntwo\\n"}\n'
        '!tool edit_file {"file_path": "/files/a.txt", "old_string": "two", "new_string": "2"}\n'
        '!tool read_file {"file_path": "/files/a.txt"}\n'
        '!tool delete {"file_path": "/files/a.txt"}'
    )
    assert [e for e in events if isinstance(e, FileOperationEvent)] == [
        operation(
            "write",
            {"lines_added": 2, "lines_removed": 0, "lines_written": 2, "bytes_written": 8},
            f"{HEAD}@@ -0,0 +1,2 @@\n+one\n+two",
        ),
        operation(
            "edit",
            {"lines_added": 1, "lines_removed": 1, "lines_written": 2, "bytes_written": 6},
            f"{HEAD}@@ -1,2 +1,2 @@\n one\n-two\n+2",
        ),
        operation("read", {"lines_read": 2}),
        operation(
            "delete",
            {"lines_added": 0, "lines_removed": 2},
            f"{HEAD}@@ -1,2 +0,0 @@\n-one\n-2",
        ),
    ]


@pytest.mark.slow
@requirement("P15", "R5.6")
@many
@given(content=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60))
async def test_any_file_that_is_written_is_reported(
    ask: Ask, workspaces: UserWorkspaceManager, content: str
) -> None:
    args = json.dumps({"file_path": "/files/any.txt", "content": content})
    events = await ask(f"!tool write_file {args}", session_id=str(uuid4()))
    (event,) = [e for e in events if isinstance(e, FileOperationEvent)]
    assert (event.operation, event.file_path, event.status) == (
        "write",
        "/files/any.txt",
        "success",
    )
    assert event.metrics["bytes_written"] == len(content.encode())
    kept = (await workspaces.prepare("u")) / "files" / "any.txt"
    assert kept.read_bytes() == content.encode()


@requirement("P15", "R8.5")
async def test_failed_file_operation_is_reported_as_failed(ask: Ask) -> None:
    events = await ask('!tool read_file {"file_path": "/files/none.txt"}')
    (event,) = [e for e in events if isinstance(e, FileOperationEvent)]
    assert (event.operation, event.status, event.diff) == ("read", "error", None)
    assert events[-1] == done


PLAN: list[Step] = []
PLANNED = ScriptedChatModel(
    lambda _messages: list(PLAN)
)  # one model, so one graph for all examples


# -- failures -------------------------------------------------------------------------------------


@requirement("R11.3")
@pytest.mark.parametrize("kind", [OSError, ConnectionResetError, PermissionError])
async def test_connection_or_file_that_fails_is_worth_another_try(
    ask: Ask, kind: type[Exception]
) -> None:
    PLAN[:] = [Fail(kind("gone"))]
    events = await ask("hello", model=PLANNED, session_id=str(uuid4()))
    assert events[-2:] == [
        ErrorEvent(error=ANY, error_code="connection_lost", recoverable=True, timestamp=ANY),
        DoneEvent(reason="failed", timestamp=ANY),
    ]


@requirement("R5.3", "R11.1", "P13")
@many
@given(
    kind=st.sampled_from(
        [ValueError, KeyError, RuntimeError, LookupError, TypeError, ZeroDivisionError]
    ),
    text=st.text(min_size=12, max_size=30),
    before=st.sampled_from(["", "half an answer"]),
)
async def test_any_exception_becomes_an_error_and_then_the_end(
    ask: Ask, kind: type[Exception], text: str, before: str
) -> None:
    PLAN[:] = [*([Say(before)] if before else []), Fail(kind(text))]
    events = await ask("hello", model=PLANNED, session_id=str(uuid4()))
    assert said(events) == before
    assert events[-2:] == [
        ErrorEvent(error=ANY, error_code="internal", recoverable=False, timestamp=ANY),
        DoneEvent(reason="failed", timestamp=ANY),
    ]
    assert len(ends(events)) == 1
    assert isinstance(events[-2], ErrorEvent)
    assert text not in events[-2].error


@requirement("R11.2", "R11.3", "R11.4", "P13")
@pytest.mark.parametrize(
    ("directive", "error"),
    [("!fail", ModelRefused), ("!fail recoverable", ModelUnavailable)],
)
async def test_failing_model_says_whether_to_try_again_and_the_next_turn_works(
    ask: Ask, directive: str, error: type[ModelRefused | ModelUnavailable]
) -> None:
    events = await ask(directive)
    assert events == [
        ErrorEvent(error=ANY, error_code=error.code, recoverable=error.recoverable, timestamp=ANY),
        DoneEvent(reason="failed", timestamp=ANY),
    ]
    assert said(await ask("!echo again")) == "again"


@requirement("R8.5", "R5.4", "P13")
async def test_tool_that_raises_is_an_error_result_and_the_turn_goes_on(ask: Ask) -> None:
    events = await ask('!tool crash {"how": "badly"}\n!echo Sorry.', extra_tools=[crash])
    (result,) = [e for e in events if isinstance(e, ToolResultEvent)]
    assert (result.status, result.tool_name) == ("error", "crash")
    assert "/srv/host/path" not in result.result
    assert said(events) == "Sorry."
    assert events[-1] == done


async def test_unknown_tool_is_an_error_result(ask: Ask) -> None:
    events = await ask("!tool teleport {}\n!echo Well.")
    (result,) = [e for e in events if isinstance(e, ToolResultEvent)]
    assert (result.status, result.tool_name) == ("error", "teleport")
    assert said(events) == "Well."


@requirement("P13", "R11.3")
async def test_turn_over_its_step_limit_fails_with_a_way_out(ask: Ask) -> None:
    endless: list[Any] = [[Call("ls", {"path": "/"})]]
    events = await ask("go", model=ScriptedChatModel(endless), recursion_limit=6)
    assert events[-2:] == [
        ErrorEvent(error=ANY, error_code="step_limit", recoverable=True, timestamp=ANY),
        DoneEvent(token_usage=ANY, reason="failed", timestamp=ANY),
    ]


@pytest.mark.slow
@requirement("P13", "R11.3")
async def test_turn_over_its_time_is_stopped_and_keeps_what_it_said(ask: Ask) -> None:
    model = ScriptedChatModel([[Say("begun "), Say(["never"], delay_seconds=60)]])
    events = await ask("go", model=model, timeout=2)  # a busy machine has begun by then
    assert events == [
        TextEvent(content="begun ", timestamp=ANY),
        ErrorEvent(error=ANY, error_code="run_timeout", recoverable=True, timestamp=ANY),
        DoneEvent(reason="timeout", timestamp=ANY),
    ]


async def test_turn_within_its_time_is_not_disturbed(ask: Ask) -> None:
    events = await ask('!tool ls {"path": "/"}\n!echo Fine.', timeout=60)
    assert said(events) == "Fine."
    assert events[-1] == done
