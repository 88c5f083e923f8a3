"""Every accepted message gets exactly one end, whatever happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest
from langchain_core.tools import tool

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.events import AnyEvent, DoneEvent, ErrorEvent
from dataagent_core.hitl import Decision
from dataagent_core.models.rule_based import Fail, Say
from dataagent_core.models.scripted import ScriptedChatModel
from tests.requirements import requirement

ChatIn = Callable[..., Any]
WithAgent = Callable[..., None]
WRITE = '!tool write_file {"file_path": "/files/a.txt", "content": "x"}'


@tool
def crash() -> str:
    """Raise."""
    raise MemoryError


def ends(events: list[AnyEvent]) -> list[DoneEvent]:
    return [event for event in events if isinstance(event, DoneEvent)]


async def check_end(chat: Any, run: Any, run_status: str, message_status: str, **done: Any) -> None:
    """One done event, the run ended, its answer marked, its session free again."""
    events = await chat.events(run)
    expected = DoneEvent(token_usage=ANY, timestamp=ANY, **done)
    assert ends(events) == [expected]
    assert events[-1] == expected
    assert (await chat.run(run)).status == run_status
    (answer,) = [m for m in await chat.history() if m.message_id == run.answer_id]
    assert answer.status == message_status
    assert await chat.core.runs.active_run(chat.session_id) is None
    assert (await chat.ask("!echo after"))[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)
    texts = [text for kind, text in await chat.thread() if kind == "human"]
    assert texts == [run.input.message, "!echo after"]


@requirement("G2", "R5.4")
@pytest.mark.parametrize("message", ["hello", "!tool teleport {}", "!tool crash {}", "!think hm"])
async def test_answered_message_is_done(chat: Any, with_agent: WithAgent, message: str) -> None:
    with_agent(chat.core, extra_tools=[crash])
    await check_end(chat, await chat.start(message), "done", "complete")


@requirement("G2", "R11.3", "R11.4")
@pytest.mark.parametrize(
    ("message", "code", "is_recoverable"),
    [
        ("!fail", "model_refused", False),
        ("!fail recoverable", "model_unavailable", True),
        ('!echo said\n!tool ls {"path": "/"}\n!echo more\n!fail', "model_refused", False),
    ],
)
async def test_failing_model_is_a_visible_failure(
    chat: Any, message: str, code: str, *, is_recoverable: bool
) -> None:
    run = await chat.start(message)
    events = await chat.events(run)
    assert [e for e in events if isinstance(e, ErrorEvent)] == [
        ErrorEvent(error=ANY, error_code=code, recoverable=is_recoverable, timestamp=ANY)
    ]
    await check_end(chat, run, "failed", "failed", reason="failed")
    assert (await chat.run(run)).error == {
        "error_code": code,
        "message": ANY,
        "recoverable": is_recoverable,
    }


@requirement("G2")
async def test_failed_answer_keeps_what_was_said(chat: Any) -> None:
    await chat.ask('!echo First.\n!tool ls {"path": "/"}\n!echo Then.\n!fail')
    (_, answer) = await chat.history()
    assert (answer.content, answer.status) == ("First.\n\nThen.", "failed")


@requirement("G2", "P13")
@pytest.mark.parametrize("error", [ValueError("x"), AssertionError(), RecursionError()])
async def test_bug_inside_is_a_failure_without_its_details(
    chat: Any, with_agent: WithAgent, error: Exception
) -> None:
    with_agent(chat.core, model=ScriptedChatModel([[Say("So "), Fail(error)]]))
    run = await chat.start("go")
    events = await chat.events(run)
    assert ErrorEvent(error=ANY, error_code="internal", timestamp=ANY) in events
    with_agent(chat.core)
    await check_end(chat, run, "failed", "failed", reason="failed")


@requirement("G2", "R24.3", "P39")
async def test_cancelled_message_is_cancelled(chat: Any) -> None:
    run = await chat.start("!slow 100000 10")
    await chat.seen(run, "text")
    await chat.core.runs.cancel(run.run_id, owner="anna")
    await check_end(chat, run, "cancelled", "cancelled", cancelled=True, reason="user_cancelled")


@requirement("G2", "R3.4", "P7")
async def test_rejected_message_is_cancelled(chat: Any) -> None:
    run = await chat.start(WRITE)
    (request,) = await chat.requests(run)
    await chat.decide(run, request.request_id, Decision("reject", "no"))
    await check_end(chat, run, "cancelled", "cancelled", cancelled=True, reason="rejected")
    assert await chat.files() == {}


@requirement("G2", "G11", "R18.4", "R18.5", "P29")
async def test_request_without_an_answer_in_time_is_rejected(
    make_settings: Callable[..., Settings], chat_in: ChatIn
) -> None:
    async with open_core(make_settings(hitl_timeout=0.1)) as core:
        chat = await chat_in(core)
        run = await chat.start(WRITE)
        await check_end(chat, run, "cancelled", "cancelled", cancelled=True, reason="rejected")
        (approval,) = await core.runs._store.approvals(run.run_id)
        assert approval.decision == Decision("reject", "No answer came in time.")
        assert await chat.files() == {}


@requirement("G2")
async def test_message_over_its_time_is_stopped(
    make_settings: Callable[..., Settings], chat_in: ChatIn
) -> None:
    async with open_core(make_settings(run_timeout=0.5)) as core:
        chat = await chat_in(core)
        run = await chat.start("!slow 100000 20")
        events = await chat.events(run)
        assert (
            ErrorEvent(error=ANY, error_code="run_timeout", recoverable=True, timestamp=ANY)
            in events
        )
        await check_end(chat, run, "failed", "failed", reason="timeout")


@requirement("G2")
async def test_message_to_an_agent_that_cannot_be_built_fails_at_once(
    chat: Any, with_agent: WithAgent
) -> None:
    with_agent(chat.core, model="nobody:knows")
    events = await chat.ask("hello")
    assert events == [
        ErrorEvent(error=ANY, error_code="misconfigured", timestamp=ANY),
        DoneEvent(reason="failed", timestamp=ANY),
    ]
    assert [m.status for m in await chat.history()] == ["complete", "failed"]


@requirement("G2")
async def test_many_messages_at_once_each_get_their_end(core: Core, chat_in: ChatIn) -> None:
    messages = ["hello", "!fail", "!slow 5 1", "!tool teleport {}", '!tool ls {"path": "/"}'] * 6
    chats = [await chat_in(core) for _ in messages]
    told = await asyncio.gather(
        *(chat.ask(message) for chat, message in zip(chats, messages, strict=True))
    )
    assert [len(ends(events)) for events in told] == [1] * len(messages)
    assert {type(events[-1]) for events in told} == {DoneEvent}
    assert core.worker._active_runs == {}


# -- the process stops ----------------------------------------------------------------------------


@requirement("G9", "G2")
async def test_run_that_outlasts_the_grace_ends_visibly_and_keeps_its_text(
    make_settings: Callable[..., Settings], chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=0.05) as core:
        chat = await chat_in(core)
        run = await chat.start("!slow 100000 10")
        await chat.seen(run, "text")
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        events = await chat.events(run)
        assert events[-2:] == [
            ErrorEvent(error=ANY, error_code="shutdown", recoverable=True, timestamp=ANY),
            DoneEvent(cancelled=True, reason="shutdown", timestamp=ANY),
        ]
        await check_end(chat, run, "failed", "failed", cancelled=True, reason="shutdown")
        assert (await chat.history())[1].content.startswith("chunk0 ")


@requirement("G9", "G2")
async def test_run_that_ends_within_the_grace_is_answered(
    make_settings: Callable[..., Settings], chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=5) as core:
        chat = await chat_in(core)
        run = await chat.start("!slow 10 10\n!echo end")
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        await check_end(chat, run, "done", "complete")
