"""Turns on the real core: approvals by keys, Ctrl-C, and how each is told to a script."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dataagent_cli import exits
from dataagent_cli.conversation import Conversation
from dataagent_cli.hitl import TerminalHITLHandler
from dataagent_cli.interrupts import Interrupts
from dataagent_cli.turn import TurnEnd, Turns
from dataagent_cli.ui import PlainRenderer
from dataagent_core.config import SessionState, Settings
from dataagent_core.events import DoneEvent, DoneReason
from dataagent_core.runs.assembly import open_core
from tests.requirements import requirement

WRITE = '!tool write_file {"file_path": "/note.txt", "content": "kept\\n"}\n!echo written'
TWICE = (
    '!tool write_file {"file_path": "/a.txt", "content": "1"}\n'
    '!tool write_file {"file_path": "/b.txt", "content": "2"}\n!echo both'
)


class Desk:
    """A conversation with a piped keyboard and recorded streams."""

    def __init__(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.state = SessionState()
        self.conversation: Conversation
        self.turns: Turns


@asynccontextmanager
async def desk(keys: str = "") -> AsyncGenerator[Desk]:
    made = Desk()
    with create_pipe_input() as keyboard:
        keyboard.send_text(keys)
        handler = TerminalHITLHandler(
            made.state,
            is_interactive=True,
            terminal_input=keyboard,
            terminal_output=DummyOutput(),
        )
        async with open_core(Settings()) as core:
            made.turns = Turns(
                core.runs,
                owner="ann",
                view=PlainRenderer(made.out, made.err),
                handler=handler,
                state=made.state,
            )
            made.conversation = Conversation(
                core.sessions, made.turns, user_id="ann", assistant_id=None, state=made.state
            )
            async with asyncio.timeout(30):
                yield made


@requirement("R3.6")
async def test_an_approved_call_runs(home: Path) -> None:
    async with desk("y") as it:
        end = await it.conversation.ask(WRITE)
    assert end.exit_code == exits.OK
    assert "written" in it.out.getvalue()
    assert "write_file: approved" in it.err.getvalue()
    assert list(home.rglob("note.txt"))


@requirement("R3.4", "R3.6")
async def test_a_rejected_call_ends_the_run_as_cancelled(home: Path) -> None:
    async with desk("n") as it:
        end = await it.conversation.ask(WRITE)
        assert end.done.reason == "rejected"
        assert end.exit_code == exits.CANCELLED
        again = await it.conversation.ask("!echo still here")
        assert again.exit_code == exits.OK
    assert not list(home.rglob("note.txt"))


@requirement("R3.6")
async def test_approve_all_asks_once_for_the_rest_of_the_conversation(home: Path) -> None:
    async with desk("a") as it:
        first = await it.conversation.ask(TWICE)
        second = await it.conversation.ask(WRITE)
    assert (first.exit_code, second.exit_code) == (exits.OK, exits.OK)
    assert {path.name for path in home.rglob("*.txt")} == {"a.txt", "b.txt", "note.txt"}


async def test_ctrl_c_at_the_question_cancels_the_run(home: Path) -> None:
    async with desk("\x03") as it:
        end = await it.conversation.ask(WRITE)
    assert end.is_interrupted
    assert end.done.cancelled
    assert end.exit_code == exits.INTERRUPTED
    assert not list(home.rglob("note.txt"))


async def test_a_question_that_expires_is_a_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAAGENT_HITL_TIMEOUT", "0.05")
    async with desk("") as it:
        end = await it.conversation.ask(WRITE)
    assert end.done.cancelled
    assert end.exit_code in (exits.CANCELLED, exits.FAILED)


async def test_the_plan_is_remembered() -> None:
    todos = '!tool write_todos {"todos": [{"content": "look", "status": "in_progress"}]}\n!echo ok'
    async with desk() as it:
        await it.conversation.ask(todos)
        assert [todo["content"] for todo in it.state.current_todos] == ["look"]
        it.conversation.start_anew()
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
        async with asyncio.timeout(5):
            await task
