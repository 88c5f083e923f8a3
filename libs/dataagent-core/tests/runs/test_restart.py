"""What a process that stopped or died has left behind is ended visibly, or goes on waiting."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from dataagent_core.app.assembly import open_core
from dataagent_core.config import Settings
from dataagent_core.errors import AlreadyDecided, RequestNotFound
from dataagent_core.events import (
    DoneEvent,
    ErrorEvent,
    HITLRequestEvent,
    TextEvent,
    ToolResultEvent,
)
from dataagent_core.hitl import Decision
from tests.programs import quick
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

ChatIn = Callable[..., Any]
MakeSettings = Callable[..., Settings]
DONE = DoneEvent(token_usage=ANY, timestamp=ANY)
LOST = [
    ErrorEvent(error=ANY, error_code="interrupted", recoverable=True, timestamp=ANY),
    DoneEvent(reason="failed", timestamp=ANY),
]


def write(name: str) -> str:
    args = {"file_path": f"/files/{name}", "content": "x"}
    return f"!tool write_file {json.dumps(args)}"


async def died(home: Path, *arguments: str) -> tuple[str, str]:
    """Run `dying_core.py` to its death; the ids it printed."""
    process = await asyncio.create_subprocess_exec(
        quick("python"),
        str(Path(__file__).with_name("dying_core.py")),
        str(home),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ},
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == -signal.SIGKILL, err.decode()
    session_id, run_id = out.decode().split()
    return session_id, run_id


@requirement("G1", "G2", "G3", "G8")
async def test_run_of_a_killed_process_ends_visibly_once_and_keeps_its_text(
    home: Path, make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    session_id, run_id = await died(home, "!slow 100000 5", "text", "", "3")
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, session_id)
        run = (await core.runs.get(run_id, owner="anna")).run
        entries = await chat.entries(run)
        events = [entry.event for entry in entries]
        assert events[-2:] == LOST
        assert [e.event_type for e in events].count("done") == 1
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        said = "".join(e.content for e in events if isinstance(e, TextEvent))
        assert said.startswith("chunk0 ")
        question, answer = await chat.history()
        assert (question.content, question.status) == ("!slow 100000 5", "complete")
        assert (answer.content, answer.status) == (said, "failed")
        run = await chat.run(run)
        assert (run.status, run.attempt, run.error["error_code"]) == ("failed", 2, "interrupted")

        assert (await chat.ask("!echo next"))[-1] == DONE
        assert await chat.thread() == [
            ("human", "!slow 100000 5"),
            ("ai", said),
            ("human", "!echo next"),
            ("ai", "next"),
        ]
    async with open_core(make_settings()) as core:  # and a third start finds nothing to do
        assert await (await chat_in(core, session_id)).events(run) == events


@requirement("G3", "G2")
async def test_tool_that_was_running_is_not_run_again(
    home: Path, make_settings: MakeSettings, chat_in: ChatIn, tmp_path: Path
) -> None:
    count = tmp_path / "count"
    command = f"echo once >> {count}; kill -9 $PPID"
    message = f"!echo First.\n!tool shell {json.dumps({'command': command})}\n!echo Last."
    session_id, run_id = await died(home, message, "never", "approve")
    async with open_core(make_settings(enable_shell=True)) as core:
        chat = await chat_in(core, session_id)
        events = await chat.events((await core.runs.get(run_id, owner="anna")).run)
        assert events[-2:] == LOST
        assert count.read_text() == "once\n"
        assert (await chat.ask("!echo next"))[-1] == DONE
        thread = await chat.thread()
    assert [kind for kind, _ in thread] == ["human", "ai", "tool", "human", "ai"]
    assert [text for kind, text in thread if kind == "human"] == [message, "!echo next"]
    assert thread[1][1] == "First."
    assert "may have had effects" in thread[2][1]


@requirement("G11", "G2")
async def test_request_of_a_killed_process_still_waits_and_can_be_answered(
    home: Path, make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    message = f"!echo First.\n{write('a.txt')}\n!echo Last."
    session_id, run_id = await died(home, message, "hitl_request")
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, session_id)
        view = await core.runs.get(run_id, owner="anna")
        assert (view.run.status, view.run.attempt) == ("waiting", 2)
        (pending,) = view.pending
        await chat.decide(view.run, pending.request_id, Decision("approve"))
        events = await chat.events(view.run)
        assert len([e for e in events if isinstance(e, HITLRequestEvent)]) == 1
        assert events[-1] == DONE
        assert await chat.files() == {"a.txt": "x"}
        assert (await chat.history())[1].content == "First.\n\nLast."


@requirement("G3", "G11")
async def test_requests_of_a_routed_agent_and_its_helper_outlive_a_killed_process(
    home: Path, make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    calls = [
        {"name": "task", "args": {"subagent_type": "sql", "description": write("a.txt")}},
        {"name": "write_file", "args": {"file_path": "/files/b.txt", "content": "x"}},
        {"name": "ls", "args": {"path": "/"}},
    ]
    route = '!tool route {"agent_name": "general", "task_description": "t"}'
    message = f"{route}\n!echo First.\n!tools {json.dumps(calls)}\n!echo Last."
    session_id, run_id = await died(home, message, "hitl_request", "", "2", "supervisor")
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, session_id)
        view = await core.runs.get(run_id, owner="anna")
        for pending in reversed(view.pending):
            await chat.decide(view.run, pending.request_id, Decision("approve"))
        events = await chat.events(view.run)
        assert events[-1] == DONE
        results = [e.tool_name for e in events if isinstance(e, ToolResultEvent)]
        assert sorted(results) == ["ls", "task", "write_file", "write_file"]
        assert await chat.files() == {"a.txt": "x", "b.txt": "x"}
        assert (await chat.history())[1].content == "First.\n\nLast."


# -- a process that is closed ---------------------------------------------------------------------


@requirement("G11")
async def test_request_survives_a_restart_and_is_shown_once(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=1) as core:
        chat = await chat_in(core)
        run = await chat.start(f"!echo First.\n{write('a.txt')}\n!echo Last.")
        (request,) = await chat.requests(run)
    for _ in range(2):
        async with open_core(make_settings(), grace_seconds=1) as core:
            chat = await chat_in(core, chat.session_id)
            view = await core.runs.get(run.run_id, owner="anna")
            assert view.run.status == "waiting"
            assert [p.request_id for p in view.pending] == [request.request_id]
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        with pytest.raises(RequestNotFound):
            await chat.decide(run, "another", Decision("approve"))
        first = await chat.decide(run, request.request_id, Decision("approve"))
        assert await chat.decide(run, request.request_id, Decision("approve")) == first
        entries = await chat.entries(run)
        with pytest.raises(AlreadyDecided):
            await chat.decide(run, request.request_id, Decision("reject"))
        assert [e.event_type for e in entries].count("hitl_request") == 1
        assert [e.event_type for e in entries].count("done") == 1
        assert [e.seq for e in entries] == list(range(1, len(entries) + 1))
        assert entries[-1].event == DONE
        assert await chat.files() == {"a.txt": "x"}
        assert [kind for kind, _ in await chat.thread()] == ["human", "ai", "tool", "ai"]


@requirement("G11", "R3.4")
async def test_request_can_be_rejected_after_a_restart(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=1) as core:
        chat = await chat_in(core)
        run = await chat.start(write("a.txt"))
        (request,) = await chat.requests(run)
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        await chat.decide(run, request.request_id, Decision("reject"))
        assert (await chat.events(run))[-1] == DoneEvent(
            cancelled=True, reason="rejected", timestamp=ANY
        )
        assert await chat.files() == {}
        assert (await chat.ask("!echo on"))[-1] == DONE


@requirement("G11")
async def test_waiting_run_can_be_cancelled_after_a_restart(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=1) as core:
        chat = await chat_in(core)
        run = await chat.start(write("a.txt"))
        await chat.requests(run)
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        assert (await core.runs.cancel(run.run_id, owner="anna")).status == "cancelled"
        assert (await chat.events(run))[-1].reason == "user_cancelled"


@requirement("G11", "G2")
async def test_waiting_run_whose_agent_is_not_to_be_had_ends_visibly_and_keeps_nobody_from_starting(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=1) as core:
        chat = await chat_in(core)
        run = await chat.start(write("a.txt"))
        await chat.requests(run)
    async with open_core(make_settings(model="openai:gone")) as core:
        chat = await chat_in(core, chat.session_id)
        assert (await chat.events(run))[-2:] == [
            ErrorEvent(error=ANY, error_code="misconfigured", timestamp=ANY),
            DoneEvent(reason="failed", timestamp=ANY),
        ]
        assert (await chat.run(run)).status == "failed"
        assert core.limits.budgets.active_of("anna") == 0
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        assert (await chat.ask("!echo on"))[-1] == DONE


@requirement("G11", "G2")
async def test_run_cancelled_while_nobody_had_it_is_cancelled_without_its_agent_too(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=1) as core:
        chat = await chat_in(core)
        run = await chat.start(write("a.txt"))
        await chat.requests(run)
        await core.runs._store.request_cancel(run.run_id)
    async with open_core(make_settings(model="openai:gone")) as core:
        chat = await chat_in(core, chat.session_id)
        assert (await chat.events(run))[-1] == DoneEvent(
            cancelled=True, reason="user_cancelled", timestamp=ANY
        )


@requirement("G11", "R18.5")
async def test_request_that_expired_while_nobody_ran_is_rejected_at_the_next_start(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(hitl_timeout=300), grace_seconds=1) as core:
        chat = await chat_in(core)
        run = await chat.start(write("a.txt"))
        await chat.requests(run)
        await core.database.write(
            lambda c: c.exec_driver_sql(
                "UPDATE approvals SET expires_at = '2020-01-01 00:00:00.000'"
            )
        )
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        assert (await chat.events(run))[-1].reason == "rejected"
        assert await chat.files() == {}


@requirement("G11")
async def test_partly_answered_requests_keep_their_answers_over_a_restart(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    calls = [
        {"name": "write_file", "args": {"file_path": f"/files/{name}", "content": "x"}}
        for name in ("a.txt", "b.txt")
    ]
    async with open_core(make_settings(), grace_seconds=1) as core:
        chat = await chat_in(core)
        run = await chat.start(f"!tools {json.dumps(calls)}")
        first, second = await chat.requests(run, times=2)
        await chat.decide(run, first.request_id, Decision("approve"))
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        view = await core.runs.get(run.run_id, owner="anna")
        assert [p.request_id for p in view.pending] == [second.request_id]
        await chat.decide(run, second.request_id, Decision("respond", "enough"))
        assert (await chat.events(run))[-1] == DONE
        assert len(await chat.files()) == 1


@requirement("G11")
async def test_run_that_asks_while_the_process_closes_waits_for_the_next(
    make_settings: MakeSettings, chat_in: ChatIn
) -> None:
    async with open_core(make_settings(), grace_seconds=5) as core:
        chat = await chat_in(core)
        run = await chat.start(f"!slow 5 10\n{write('a.txt')}")
        await chat.seen(run, "text")
    async with open_core(make_settings()) as core:
        chat = await chat_in(core, chat.session_id)
        view = await core.runs.get(run.run_id, owner="anna")
        assert view.run.status == "waiting"
        await chat.decide(run, view.pending[0].request_id, Decision("approve"))
        assert (await chat.events(run))[-1] == DONE
        assert await chat.files() == {"a.txt": "x"}
