"""Approvals inside a turn: who is asked, what each answer does, sub-agents included."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from unittest.mock import ANY

import pytest

from dataagent_core.engine import AgentExecutor, MemoryCheckpoints, Suspended
from dataagent_core.engine import graph as lg
from dataagent_core.errors import StorageUnavailable
from dataagent_core.events import (
    AnyEvent,
    DoneEvent,
    FileOperationEvent,
    HITLRequestEvent,
    TextEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, EditedAction
from dataagent_core.identity import RunContext
from dataagent_core.workspace import UserWorkspaceManager
from tests.requirements import requirement

Ask = Callable[..., Awaitable[list[AnyEvent]]]
Answering = Callable[..., Any]  # the class `Answers` of conftest.py
ExecutorOf = Callable[..., AgentExecutor]


def write(name: str, content: str = "x") -> dict[str, Any]:
    return {"name": "write_file", "args": {"file_path": f"/files/{name}", "content": content}}


def line(call: dict[str, Any]) -> str:
    return f"!tool {call['name']} {json.dumps(call['args'])}"


def delegated(inner: str) -> dict[str, Any]:
    return {"name": "task", "args": {"description": inner, "subagent_type": "general-purpose"}}


def requests(events: list[AnyEvent]) -> list[HITLRequestEvent]:
    return [e for e in events if isinstance(e, HITLRequestEvent)]


def results(events: list[AnyEvent]) -> list[tuple[str, str]]:
    return [(e.tool_name, e.status) for e in events if isinstance(e, ToolResultEvent)]


@pytest.fixture
def files(workspaces: UserWorkspaceManager) -> Callable[[], Awaitable[dict[str, str]]]:
    """Name and text of what is in the user's files."""

    async def files() -> dict[str, str]:
        folder = (await workspaces.prepare("u")) / "files"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())}

    return files


Files = Callable[[], Awaitable[dict[str, str]]]
GATED = [
    line(write("a.txt")),
    line(
        {
            "name": "edit_file",
            "args": {"file_path": "/files/old.txt", "old_string": "o", "new_string": "n"},
        }
    ),
    line({"name": "delete", "args": {"file_path": "/files/old.txt"}}),
    line({"name": "shell", "args": {"command": "touch files/a.txt"}}),
]


@requirement("R3.1", "R3.2")
async def test_handler_is_asked_with_the_call_and_the_session(ask: Ask, answers: Answering) -> None:
    handler = answers(Decision("approve"))
    events = await ask(line(write("a.txt")), hitl_handler=handler, hitl_timeout_seconds=60)
    (request,) = requests(events)
    assert handler.asked == [request.action]
    assert handler.sessions == ["s"]
    assert request == HITLRequestEvent(
        request_id=request.action.request_id,
        action=ActionRequest(
            "write_file",
            {"file_path": "/files/a.txt", "content": "x"},
            ANY,
            request.request_id,
            ANY,
            "--- a/files/a.txt\n+++ b/files/a.txt\n@@ -0,0 +1 @@\n+x",
        ),
        allowed=ALL_DECISIONS,
        expires_at=request.timestamp + 60,
        timestamp=ANY,
    )
    assert request.action.description
    assert request.action.args_schema is not None


@requirement("R3.4", "R5.5", "P7")
@pytest.mark.parametrize("message", GATED)
async def test_rejected_call_is_not_made_and_ends_the_turn_as_cancelled(
    ask: Ask, answers: Answering, files: Files, message: str
) -> None:
    await ask(line(write("old.txt", "old")))
    events = await ask(f"{message}\n!echo not reached", hitl_handler=answers(Decision("reject")))
    assert events[-1] == DoneEvent(
        token_usage=ANY, cancelled=True, reason="rejected", timestamp=ANY
    )
    assert [e for e in events if isinstance(e, DoneEvent)] == [events[-1]]
    assert not [e for e in events if isinstance(e, ToolResultEvent | TextEvent)]
    assert await files() == {"old.txt": "old"}


@requirement("R3.4", "R11.3")
async def test_after_a_rejection_the_conversation_goes_on(
    ask: Ask, answers: Answering, executor_of: ExecutorOf
) -> None:
    await ask(line(write("a.txt")), hitl_handler=answers(Decision("reject")))
    events = await ask("!echo still here")
    assert next(e.content for e in events if isinstance(e, TextEvent)).startswith("still")
    turn = executor_of()._turn("s", None, None)
    state = await lg.snapshot(turn.graph, turn.config)
    kinds = [message.type for message in state.messages]
    assert kinds == ["human", "ai", "tool", "human", "ai"]
    assert "rejected" in state.messages[2].text


@requirement("R3.5", "P8")
@pytest.mark.parametrize("message", GATED)
async def test_without_a_handler_every_call_is_made(ask: Ask, files: Files, message: str) -> None:
    await ask(line(write("old.txt", "old")))
    before = await files()
    events = await ask(message)
    assert len(requests(events)) == 1
    assert [status for _, status in results(events)] == ["success"]
    assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)
    assert await files() != before


async def test_auto_approved_run_asks_nobody(executor_of: ExecutorOf, answers: Answering) -> None:
    handler = answers(Decision("reject"))
    context = RunContext("u", "s", "r", "agent", auto_approve=True)
    executor = executor_of(hitl_handler=handler)
    events = [e async for e in executor.execute(line(write("a.txt")), "s", context)]
    assert handler.asked == []
    assert requests(events) == []
    assert results(events) == [("write_file", "success")]


async def test_edited_call_is_made_with_the_edited_arguments(
    ask: Ask, answers: Answering, files: Files
) -> None:
    edited = EditedAction("write_file", write("b.txt", "edited")["args"])
    events = await ask(
        line(write("a.txt")), hitl_handler=answers(Decision("edit", edited_action=edited))
    )
    assert await files() == {"b.txt": "edited"}
    operations = [e.file_path for e in events if isinstance(e, FileOperationEvent)]
    assert operations == ["/files/b.txt"]
    assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


async def test_answer_in_place_of_the_call_is_what_the_model_reads(
    ask: Ask, answers: Answering, files: Files
) -> None:
    events = await ask(
        line(write("a.txt")), hitl_handler=answers(Decision("respond", "Use the other folder."))
    )
    (result,) = [e for e in events if isinstance(e, ToolResultEvent)]
    assert "Use the other folder." in result.result
    assert await files() == {}
    assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


async def test_parallel_calls_are_asked_for_together_and_answered_one_by_one(
    ask: Ask, answers: Answering, files: Files
) -> None:
    calls = [write("a.txt"), write("b.txt"), {"name": "shell", "args": {"command": "true"}}]
    handler = answers({"write_file": Decision("approve"), "shell": Decision("respond", "no")})
    events = await ask(f"!tools {json.dumps(calls)}\n!echo All.", hitl_handler=handler)
    assert len({request.request_id for request in requests(events)}) == 3
    assert sorted(results(events)) == [
        ("shell", "success"),
        ("write_file", "success"),
        ("write_file", "success"),
    ]
    assert await files() == {"a.txt": "x", "b.txt": "x"}
    assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


@requirement("R3.4", "P7")
async def test_one_rejection_among_parallel_calls_makes_none_of_them(
    ask: Ask, answers: Answering, files: Files
) -> None:
    calls = [write("a.txt"), {"name": "shell", "args": {"command": "touch files/b.txt"}}]
    handler = answers({"write_file": Decision("approve"), "shell": Decision("reject")})
    events = await ask(f"!tools {json.dumps(calls)}", hitl_handler=handler)
    assert await files() == {}
    assert events[-1] == DoneEvent(
        token_usage=ANY, cancelled=True, reason="rejected", timestamp=ANY
    )


async def test_ungated_sibling_runs_while_the_other_waits(ask: Ask, answers: Answering) -> None:
    calls = [write("a.txt"), {"name": "ls", "args": {"path": "/"}}]
    events = await ask(f"!tools {json.dumps(calls)}", hitl_handler=answers(Decision("approve")))
    assert results(events) == [("ls", "success"), ("write_file", "success")]
    first_result = next(i for i, e in enumerate(events) if isinstance(e, ToolResultEvent))
    asked = next(i for i, e in enumerate(events) if isinstance(e, HITLRequestEvent))
    assert first_result < asked


# -- sub-agents -----------------------------------------------------------------------------------


async def test_sub_agents_call_is_asked_for_once_and_made(
    ask: Ask, answers: Answering, files: Files
) -> None:
    handler = answers(Decision("approve"))
    message = line(delegated(line(write("sub.txt"))))
    events = await ask(message, hitl_handler=handler)
    assert [action.name for action in handler.asked] == ["write_file"]
    assert len(requests(events)) == 1
    assert results(events) == [("write_file", "success"), ("task", "success")]
    assert await files() == {"sub.txt": "x"}


@requirement("P7")
async def test_rejection_inside_a_sub_agent_ends_the_whole_turn(
    ask: Ask, answers: Answering, files: Files
) -> None:
    message = line(delegated(line(write("sub.txt"))))
    events = await ask(message, hitl_handler=answers(Decision("reject")))
    assert events[-1] == DoneEvent(
        token_usage=ANY, cancelled=True, reason="rejected", timestamp=ANY
    )
    assert await files() == {}


async def test_parallel_sub_agents_are_answered_together(
    ask: Ask, answers: Answering, files: Files
) -> None:
    calls = [delegated(line(write("a.txt"))), delegated(line(write("b.txt"))), write("c.txt")]
    handler = answers(Decision("approve"))
    events = await ask(f"!tools {json.dumps(calls)}\n!echo Done.", hitl_handler=handler)
    assert len(handler.asked) == 3
    assert await files() == {"a.txt": "x", "b.txt": "x", "c.txt": "x"}
    assert [name for name, _ in results(events)].count("task") == 2
    assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)


async def test_approvals_one_after_another_are_each_asked_for(
    ask: Ask, answers: Answering, files: Files
) -> None:
    handler = answers(Decision("approve"))
    await ask(f"{line(write('a.txt'))}\n{line(write('b.txt'))}", hitl_handler=handler)
    assert [action.args["file_path"] for action in handler.asked] == [
        "/files/a.txt",
        "/files/b.txt",
    ]
    assert await files() == {"a.txt": "x", "b.txt": "x"}


# -- handlers that do not answer ------------------------------------------------------------------


async def listen(events: AsyncIterator[AnyEvent], told: list[AnyEvent]) -> None:
    async for event in events:
        told.append(event)


class Leaving:
    """A handler whose process stops."""

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        raise Suspended


@requirement("G11")
async def test_suspended_turn_waits_in_its_thread_and_goes_on_from_there(
    executor_of: ExecutorOf, answers: Answering, files: Files, checkpoints: MemoryCheckpoints
) -> None:
    context = RunContext("u", "s", "r", "agent")
    message = f"!echo First.\n{line(write('a.txt'))}\n!echo Last."
    told: list[AnyEvent] = []
    first = executor_of(hitl_handler=Leaving())
    with pytest.raises(Suspended):
        await listen(first.execute(message, "s", context), told)
    (asked,) = requests(told)
    assert await files() == {}

    again = executor_of(hitl_handler=answers(Decision("approve")))
    events = [e async for e in again.resume("s", context)]

    assert requests(events)[0].request_id == asked.request_id
    assert results(events) == [("write_file", "success")]
    assert events[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)
    assert await files() == {"a.txt": "x"}


@requirement("G11", "P7")
@pytest.mark.parametrize(
    ("failure", "told"),
    [(StorageUnavailable("away"), ["error", "done"]), (asyncio.CancelledError(), ["done"])],
)
async def test_resumed_turn_that_cannot_read_its_thread_ends_and_leaves_nothing_open(
    executor_of: ExecutorOf,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    told: list[str],
) -> None:
    with pytest.raises(Suspended):
        await listen(executor_of(hitl_handler=Leaving()).execute(line(write("a.txt")), "s"), [])
    read, failures = lg.snapshot, [failure]

    async def away(*arguments: Any) -> lg.ThreadSnapshot:
        if failures:
            raise failures.pop()
        return await read(*arguments)

    monkeypatch.setattr(lg, "snapshot", away)
    again = executor_of(hitl_handler=Leaving())
    events: list[AnyEvent] = []
    with suppress(asyncio.CancelledError):
        await listen(again.resume("s"), events)

    assert [e.event_type for e in events] == told
    turn = again._turn("s", None, None)
    state = await read(turn.graph, turn.config)
    assert state.interrupts == ()
    assert [m.type for m in state.messages] == ["human", "ai", "tool"]


async def test_handler_that_breaks_fails_the_turn_and_makes_no_call(ask: Ask, files: Files) -> None:
    class Broken:
        async def request_approval(self, action_request: Any, session_id: str) -> Decision:
            raise RuntimeError("no terminal")

    events = await ask(line(write("a.txt")), hitl_handler=Broken())
    assert events[-1] == DoneEvent(token_usage=ANY, reason="failed", timestamp=ANY)
    assert await files() == {}
