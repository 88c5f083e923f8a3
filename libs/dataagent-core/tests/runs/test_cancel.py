"""Cancel reaches the model call, the tool and its process, and leaves nothing running."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import psutil
import pytest
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool

from dataagent_core.app.assembly import Core, open_core
from dataagent_core.config import Settings
from dataagent_core.events import DoneEvent, TextEvent
from dataagent_core.models.rule_based import Call, Say, Turn
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.runs import execution
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

ChatIn = Callable[..., Any]
WithAgent = Callable[..., None]
CANCELLED = DoneEvent(cancelled=True, reason="user_cancelled", token_usage=ANY, timestamp=ANY)


class Pipe:
    """A named pipe a command can write to; the test waits for what it says."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._reader = asyncio.StreamReader()

    async def line(self) -> str:
        descriptor = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), os.fdopen(descriptor, "rb", 0)
        )
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return (await self._reader.readline()).decode().strip()
        finally:
            transport.close()


@requirement("R24.2", "R24.3", "P39", "G6")
async def test_cancel_stops_the_text_and_ends_the_run(chat: Any) -> None:
    run = await chat.start("!slow 100000 10")
    await chat.seen(run, "text", times=2)
    ended = await chat.core.runs.cancel(run.run_id, owner="anna")
    assert ended.status == "cancelled"
    events = await chat.events(run)
    assert events[-1] == CANCELLED
    said = "".join(e.content for e in events if isinstance(e, TextEvent))
    (_, answer) = await chat.history()
    assert (answer.content, answer.status) == (said, "cancelled")
    assert said.startswith("chunk0 chunk1 ")


@requirement("R24.6", "P41", "G6")
async def test_after_a_cancel_no_task_event_or_model_call_is_left(
    chat: Any, with_agent: WithAgent
) -> None:
    calls = 0

    def turns(messages: Sequence[BaseMessage]) -> Turn:
        nonlocal calls
        calls += 1
        return [Say(["one "]), Say(["two"], delay_seconds=60), Call("ls", {"path": "/"})]

    with_agent(chat.core, model=ScriptedChatModel(turns))
    before = asyncio.all_tasks()
    run = await chat.start("go")
    await chat.seen(run, "text")
    await chat.core.runs.cancel(run.run_id, owner="anna")
    assert asyncio.all_tasks() <= before
    assert chat.core.worker._active_runs == {}
    assert chat.core.worker.approvals._runs == {}
    last_seq = await chat.core.runs.last_seq(chat.session_id)
    assert (await chat.entries(run))[-1].seq == last_seq
    assert calls == 1


@requirement("G6", "R24.2", "R24.6")
async def test_cancel_ends_the_commands_processes(chat: Any, tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "started")
    command = f"sleep 300 & echo $$ $! > {pipe.path}; sleep 300; echo late >> {tmp_path}/late"
    run = await chat.start(
        f"!tool shell {json.dumps({'command': command})}\n!echo not reached", auto_approve=True
    )
    processes = [psutil.Process(int(pid)) for pid in (await pipe.line()).split()]
    assert all(process.is_running() for process in processes)
    await chat.core.runs.cancel(run.run_id, owner="anna")
    gone, alive = psutil.wait_procs(processes, timeout=WAIT_SECONDS)
    assert (len(gone), alive) == (2, [])
    events = await chat.events(run)
    assert [e.event_type for e in events] == ["tool_call", "done"]
    assert events[-1] == CANCELLED
    assert not (tmp_path / "late").exists()


@requirement("G6", "R24.2")
async def test_cancel_reaches_a_tool_inside_a_sub_agent(chat: Any, with_agent: WithAgent) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def stuck() -> str:
        """Never return."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    with_agent(chat.core, extra_tools=[stuck])
    task = {"description": "!tool stuck {}", "subagent_type": "general-purpose"}
    run = await chat.start(f"!tool task {json.dumps(task)}\n!echo not reached")
    async with asyncio.timeout(WAIT_SECONDS):
        await begun.wait()
    await chat.core.runs.cancel(run.run_id, owner="anna")
    assert ended.is_set()
    assert (await chat.events(run))[-1] == CANCELLED
    assert [kind for kind, _ in await chat.thread()] == ["human", "ai", "tool"]


@requirement("G6")
async def test_cancel_that_a_tool_does_not_hear_is_sent_again(
    chat: Any, with_agent: WithAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_RECANCEL_SECONDS", 0.1)
    begun, heard, released = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool
    async def deaf() -> str:
        """Go on when told to stop."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.set()
        await released.wait()
        return ""

    with_agent(chat.core, extra_tools=[deaf])
    run = await chat.start("!tool deaf {}\n!echo not reached")
    async with asyncio.timeout(WAIT_SECONDS):
        await begun.wait()
        ended = await chat.core.runs.cancel(run.run_id, owner="anna")
    assert (ended.status, heard.is_set()) == ("cancelled", True)
    assert (await chat.events(run))[-1] == CANCELLED
    assert (await chat.ask("!echo next"))[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)
    released.set()


@requirement("G6")
async def test_what_a_tool_clears_away_is_not_cut_off_by_another_cancel(
    chat: Any, with_agent: WithAgent
) -> None:
    begun, clearing, may_end, cleared = (asyncio.Event() for _ in range(4))

    @tool
    async def tidy() -> str:
        """Clear away when told to stop, which takes a while."""
        begun.set()
        try:
            return str(await asyncio.Event().wait())
        finally:
            clearing.set()
            await may_end.wait()
            cleared.set()

    with_agent(chat.core, extra_tools=[tidy])
    run = await chat.start("!tool tidy {}")
    async with asyncio.timeout(WAIT_SECONDS):
        await begun.wait()
        stopped = asyncio.create_task(chat.core.runs.cancel(run.run_id, owner="anna"))
        await clearing.wait()
        chat.core.worker.cancel(run.run_id)  # as an impatient person does, or another process
        ended, _ = await asyncio.wait({stopped}, timeout=0.5)
        assert not ended, "the run has ended, and its tool is still at it"
        may_end.set()
        await stopped
    assert cleared.is_set()
    assert (await chat.events(run))[-1] == CANCELLED


@requirement("G6", "R24.3")
async def test_cancel_ends_a_run_that_waits_for_a_person(chat: Any) -> None:
    run = await chat.start('!tool write_file {"file_path": "/files/a.txt", "content": "x"}')
    await chat.requests(run)
    ended = await chat.core.runs.cancel_session(chat.session_id, owner="anna")
    assert ended.status == "cancelled"
    assert (await chat.events(run))[-1] == CANCELLED
    assert (await chat.core.runs.get(run.run_id, owner="anna")).pending == []
    assert await chat.files() == {}


@requirement("G6")
async def test_run_cancelled_in_the_moment_it_starts_keeps_its_question(
    memory_core: Core, chat_in: ChatIn
) -> None:
    chat = await chat_in(memory_core)
    run = await chat.start("remember me")
    ended = memory_core.worker.cancel(run.run_id)  # before its task had a turn
    assert ended is not None
    assert await chat.events(run) == [CANCELLED]
    assert await chat.thread() == [("human", "remember me")]


@requirement("G6")
async def test_run_cancelled_twice_at_once_ends_once(chat: Any) -> None:
    run = await chat.start("!slow 100000 10")
    await chat.seen(run, "text")
    first, second = await asyncio.gather(
        *(chat.core.runs.cancel(run.run_id, owner="anna") for _ in range(2))
    )
    assert first.status == second.status == "cancelled"
    assert [e.event_type for e in await chat.events(run)].count("done") == 1


async def test_run_that_has_ended_stays_as_it_is(chat: Any) -> None:
    run = await chat.start("!echo done")
    events = await chat.events(run)
    assert (await chat.core.runs.cancel(run.run_id, owner="anna")).status == "done"
    assert await chat.events(run) == events


@requirement("R24.6", "P41")
async def test_many_runs_cancelled_together_all_end(core: Core, chat_in: ChatIn) -> None:
    chats = [await chat_in(core) for _ in range(20)]
    runs = [await chat.start("!slow 100000 10") for chat in chats]
    before = {
        task for task in asyncio.all_tasks() if not task.get_name().startswith(("pump", "run"))
    }
    for chat, run in zip(chats, runs, strict=True):
        await chat.seen(run, "text")
    ended = await asyncio.gather(*(core.runs.cancel(run.run_id, owner="anna") for run in runs))
    assert {run.status for run in ended} == {"cancelled"}
    assert core.worker._active_runs == {}
    left = {task.get_name() for task in asyncio.all_tasks() - before}
    assert not [name for name in left if name.startswith(("pump", "run"))]


@requirement("G10", "G6")
async def test_cancel_asked_through_the_store_reaches_the_run(
    make_settings: Callable[..., Settings], chat_in: ChatIn
) -> None:
    async with open_core(make_settings(lease_seconds=0.2)) as core:
        chat = await chat_in(core)
        run = await chat.start("!slow 100000 10")
        await chat.seen(run, "text")
        await core.runs._store.request_cancel(run.run_id)  # as another process would
        assert (await chat.events(run))[-1] == CANCELLED


@requirement("G6", "R24.3")
async def test_conversation_goes_on_from_what_was_said(chat: Any, with_agent: WithAgent) -> None:
    run = await chat.start("!slow 100000 10")
    await chat.seen(run, "text")
    await chat.core.runs.cancel(run.run_id, owner="anna")
    assert (await chat.ask("!echo next"))[-1] == DoneEvent(token_usage=ANY, timestamp=ANY)
    thread = await chat.thread()
    assert [kind for kind, _ in thread] == ["human", "ai", "human", "ai"]
    assert thread[1][1].startswith("chunk0 ")
    assert thread[1][1] == (await chat.history())[1].content
