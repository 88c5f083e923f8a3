"""Turns on the real core: approvals by keys, Ctrl-C, and how each is told to a script."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sqlite3
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.base import PipeInput
from prompt_toolkit.output import DummyOutput

from dataagent_cli import conversation, exit_codes
from dataagent_cli import turn as turn_module
from dataagent_cli.conversation import Conversation
from dataagent_cli.failures import explain
from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_cli.hosts.local import LocalHost
from dataagent_cli.input.dialogs import Dialogs
from dataagent_cli.interrupts import Interrupts, Stopped
from dataagent_cli.turn import TurnEnd, TurnRunner
from dataagent_cli.ui import PlainRenderer
from dataagent_core.app.assembly import open_core
from dataagent_core.config import SessionState, Settings
from dataagent_core.errors import SessionBusy, SkillNotFound
from dataagent_core.events import DoneEvent, DoneReason
from dataagent_core.runs import Entry
from dataagent_core.runs.types import RunOptions, StartedRun
from tests.programs import quick
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS, until

ASKING = Path(__file__).parents[2] / "dataagent-core/tests/mcp/hub/shop_server.py"
WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept\\n"}\n!echo written'
TWICE = (
    '!tool write_file {"file_path": "/a.txt", "content": "1"}\n'
    '!tool write_file {"file_path": "/b.txt", "content": "2"}\n!echo both'
)


class TurnDriver:
    """A conversation with a piped keyboard and recorded streams."""

    def __init__(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.state = SessionState()
        self.conversation: Conversation
        self.turns: TurnRunner
        self.keyboard: PipeInput


@asynccontextmanager
async def driver(
    keys: str = "", *, view: type[PlainRenderer] = PlainRenderer
) -> AsyncGenerator[TurnDriver]:
    made = TurnDriver()
    with create_pipe_input() as keyboard:
        made.keyboard = keyboard
        keyboard.send_text(keys)
        handler = TerminalHITLHandler(
            made.state,
            is_interactive=True,
            terminal_input=keyboard,
            terminal_output=DummyOutput(),
            pause_seconds=0,
        )
        async with open_core(Settings()) as core:
            host = LocalHost(core, "ann")
            shown = view(made.out, made.err)
            if isinstance(shown, Switching):
                shown.driver = made
            made.turns = TurnRunner(
                host, view=shown, handler=handler, state=made.state, is_interactive=True
            )
            made.conversation = Conversation(host, made.turns, agent=None, state=made.state)
            async with asyncio.timeout(WAIT_SECONDS):
                yield made


@requirement("R3.6")
async def test_an_approved_call_runs(home: Path) -> None:
    async with driver("y") as it:
        end = await it.conversation.ask(WRITE)
    assert end.exit_code == exit_codes.OK
    assert "written" in it.out.getvalue()
    assert "write_file: approved" in it.err.getvalue()
    assert list(home.rglob("note.txt"))


@requirement("R3.4", "R3.6")
async def test_a_rejected_call_ends_the_run_as_cancelled(home: Path) -> None:
    async with driver("n\r") as it:
        end = await it.conversation.ask(WRITE)
        assert end.done.reason == "rejected"
        assert end.exit_code == exit_codes.CANCELLED
        again = await it.conversation.ask("!echo still here")
        assert again.exit_code == exit_codes.OK
    assert not list(home.rglob("note.txt"))


@requirement("R3.6")
async def test_approve_all_asks_once_for_the_rest_of_the_conversation(home: Path) -> None:
    async with driver("ay") as it:
        first = await it.conversation.ask(TWICE)
        second = await it.conversation.ask(WRITE)
    assert (first.exit_code, second.exit_code) == (exit_codes.OK, exit_codes.OK)
    assert {path.name for path in home.rglob("*.txt")} == {"a.txt", "b.txt", "note.txt"}


async def test_ctrl_c_at_the_question_cancels_the_run(home: Path) -> None:
    async with driver("\x03") as it:
        end = await it.conversation.ask(WRITE)
    assert end.is_interrupted
    assert end.done.cancelled
    assert end.exit_code == exit_codes.INTERRUPTED
    assert not list(home.rglob("note.txt"))


@requirement("R3.6")
async def test_approve_this_kind_holds_for_the_rest_of_the_conversation(home: Path) -> None:
    async with driver("ky") as it:
        first = await it.conversation.ask(TWICE)
        second = await it.conversation.ask(WRITE)
    assert (first.exit_code, second.exit_code) == (exit_codes.OK, exit_codes.OK)
    assert {path.name for path in home.rglob("*.txt")} == {"a.txt", "b.txt", "note.txt"}
    assert it.err.getvalue().count("write_file: approved") == 1  # the others asked nobody


class Switching(PlainRenderer):
    """Switches to another mode when the first call has run."""

    driver: TurnDriver

    def show(self, entry: Entry) -> None:
        super().show(entry)
        if entry.event_type == "tool_result" and self.driver.state.mode == "auto":
            self.driver.state.switch("plan")


@requirement("R3.6")
async def test_leaving_mode_auto_during_a_run_counts_from_the_next_call(home: Path) -> None:
    async with driver(view=Switching) as it:
        it.state.switch("auto")
        end = await it.conversation.ask(TWICE)
    assert end.exit_code == exit_codes.OK
    assert {path.name for path in home.rglob("*.txt")} == {"a.txt"}
    assert "plan mode: say what you would do" in it.err.getvalue()


@requirement("R3.6")
async def test_a_call_runs_as_it_was_edited(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    async with driver("e and more\r") as it:
        end = await it.conversation.ask(WRITE)
    assert end.exit_code == exit_codes.OK
    assert [path.read_text() for path in home.rglob("note.txt")] == ["kept and more"]
    assert "write_file: approved as edited" in it.err.getvalue()


@requirement("R3.6")
async def test_a_rejection_with_a_reason_lets_the_agent_go_on(home: Path) -> None:
    async with driver("nnot now\r") as it:
        end = await it.conversation.ask(WRITE)
    assert end.exit_code == exit_codes.OK
    assert "They say: not now" in it.err.getvalue()
    assert "written" in it.out.getvalue()
    assert not list(home.rglob("note.txt"))


async def test_a_servers_question_is_answered_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = {
        "command": quick("python"),
        "args": [str(ASKING), "stdio"],
        "read_only_tools": ["colour"],
    }
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"mall": server}}))
    monkeypatch.setenv("DATAAGENT_MCP_CONFIG", str(config))
    monkeypatch.setenv("DATAAGENT_MCP_WAIT", "30")
    async with driver("teal\r") as it:
        message = "!tool mall__colour {}\n!tool mall__colour {}\n!echo on"
        asking = asyncio.create_task(it.conversation.ask(message))
        await until(lambda: "mall__colour: answered" in it.err.getvalue())
        it.keyboard.send_text("\x04")
        end = await asking
    assert end.exit_code == exit_codes.OK
    said = it.err.getvalue()
    assert "mall__colour: answered" in said
    assert "accept teal" in said
    assert "mall__colour: rejected. Not answered." in said
    assert it.out.getvalue().endswith("on\n")


async def test_a_question_that_expires_is_a_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_HITL_TIMEOUT", "0.05")
    async with driver("") as it:
        end = await it.conversation.ask(WRITE)
    assert end.done.cancelled
    assert end.exit_code in (exit_codes.CANCELLED, exit_codes.FAILED)


async def test_the_plan_is_remembered() -> None:
    todos = '!tool write_todos {"todos": [{"content": "look", "status": "in_progress"}]}\n!echo ok'
    async with driver() as it:
        await it.conversation.ask(todos)
        assert [todo["content"] for todo in it.state.current_todos] == ["look"]
        it.conversation.start_new()
        assert it.state.current_todos == []
    assert "[~] look" in it.err.getvalue()


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("completed", 0),
        ("failed", 1),
        ("timeout", 1),
        ("shutdown", 1),
        ("user_cancelled", 3),
        ("rejected", 3),
    ],
)
def test_each_end_has_its_exit_status(reason: DoneReason, code: int) -> None:
    done = DoneEvent(reason=reason)
    assert TurnEnd(done).exit_code == code
    assert TurnEnd(done, is_interrupted=True).exit_code == 130


async def test_ctrl_c_stops_a_message_that_nobody_takes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the database, so that nothing can be kept; `start` is only noted."""
    monkeypatch.setattr(turn_module, "_LAST_MOMENT_SECONDS", 0.01)
    is_sent = asyncio.Event()
    async with driver() as it:
        await it.conversation.ask("!echo one")
        it.conversation.pending_attachments = ["<attached/>"]
        start = it.conversation.host.start

        def noted(*given: Any, **more: Any) -> Awaitable[StartedRun]:
            is_sent.set()
            return start(*given, **more)

        monkeypatch.setattr(it.conversation.host, "start", noted)
        with closing(sqlite3.connect(home / "dataagent.db", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            asking = asyncio.create_task(it.conversation.ask("!echo two"))
            await is_sent.wait()
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(Stopped) as stopped:
                async with asyncio.timeout(WAIT_SECONDS):
                    await asking
        assert it.conversation.pending_attachments == ["<attached/>"]
    assert explain(stopped.value).exit_code == exit_codes.INTERRUPTED


async def test_a_conversation_whose_run_is_alive_elsewhere_is_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conversation, "_PATIENCE_SECONDS", 0.01)
    async with driver() as it:
        await it.conversation.ask("!echo one")
        host, session_id = it.conversation.host, it.conversation.require_session_id()
        slow = await host.start(session_id, "!slow 2000 20", agent="agent", options=RunOptions())
        await conversation.wait_for_recovery(it.conversation)
        with pytest.raises(SessionBusy):
            await it.conversation.ask("!echo two")
        await host.cancel(slow.run.run_id)


async def test_a_message_that_found_no_session_can_be_sent_again() -> None:
    async with driver() as it:
        with pytest.raises(SkillNotFound):
            await it.conversation.ask("/none-of-that-name do it")
        assert it.conversation.last_message == "/none-of-that-name do it"


async def test_ctrl_c_is_for_the_innermost_block_and_for_the_one_around_it_afterwards() -> None:
    with create_pipe_input() as keyboard:
        dialogs = Dialogs(terminal_input=keyboard, terminal_output=DummyOutput())
        async with asyncio.timeout(WAIT_SECONDS):
            with Interrupts() as outer:
                with Interrupts() as inner:
                    os.kill(os.getpid(), signal.SIGINT)
                    await inner.wait()
                keyboard.send_text("y")
                assert await dialogs.confirm("Go on?")
                assert not outer.is_interrupted
                os.kill(os.getpid(), signal.SIGINT)
                await outer.wait()


async def test_the_second_ctrl_c_leaves() -> None:
    entered = asyncio.Event()

    async def wait_for_ever() -> None:
        with Interrupts() as interrupts:
            interrupts.interrupt()
            assert interrupts.is_interrupted
            entered.set()
            interrupts.interrupt()
            await asyncio.Event().wait()

    task = asyncio.create_task(wait_for_ever())
    await entered.wait()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(WAIT_SECONDS):
            await task
