"""Approvals by keys, on a real prompt_toolkit application with a piped keyboard."""

from __future__ import annotations

import asyncio
import io

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.output.vt100 import Vt100_Output

from dataagent_cli.hitl import Interrupted, TerminalHITLHandler
from dataagent_core.config import SessionState
from dataagent_core.hitl import ActionRequest, Decision
from tests.requirements import requirement

UP, DOWN, ENTER, ESC, CTRL_C, TAB = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03", "\t"
ACTION = ActionRequest(
    "write_file", {"path": "/a.txt", "content": "one\ntwo"}, "Write a file.", "r"
)


class Screen(io.StringIO):
    """What was drawn, and when the last line of the question was."""

    def __init__(self) -> None:
        super().__init__()
        self.is_drawn = asyncio.Event()

    def write(self, text: str) -> int:
        if "Ctrl-C" in text:
            self.is_drawn.set()
        return super().write(text)


async def answer(keys: str, state: SessionState | None = None) -> Decision:
    state = state or SessionState()
    with create_pipe_input() as keyboard:
        keyboard.send_text(keys)
        handler = TerminalHITLHandler(
            state,
            is_interactive=True,
            terminal_input=keyboard,
            terminal_output=DummyOutput(),
        )
        async with asyncio.timeout(5):
            return await handler.request_approval(ACTION, "session")


@requirement("R3.6")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (ENTER, "approve"),
        (DOWN + ENTER, "reject"),
        (DOWN + DOWN + ENTER, "approve"),
        (UP + UP + ENTER, "reject"),
        (TAB + TAB + TAB + ENTER, "approve"),
        ("y", "approve"),
        ("n", "reject"),
        ("a", "approve"),
        (ESC, "reject"),
        ("zx" + "n", "reject"),
    ],
)
async def test_keys_choose_the_decision(keys: str, expected: str) -> None:
    assert (await answer(keys)).type == expected


@requirement("R3.6")
@pytest.mark.parametrize("keys", ["a", UP + ENTER])
async def test_approve_all_asks_no_more(keys: str) -> None:
    state = SessionState()
    assert await answer(keys, state) == Decision("approve")
    assert state.auto_approve
    assert await answer("", state) == Decision("approve")


@requirement("R3.6")
async def test_a_plain_approval_asks_again_next_time() -> None:
    state = SessionState()
    await answer("y", state)
    assert not state.auto_approve
    assert (await answer("n", state)).type == "reject"


async def test_ctrl_c_is_no_answer() -> None:
    with pytest.raises(Interrupted):
        await answer(CTRL_C)


@requirement("R3.1", "R3.4")
async def test_nobody_at_the_terminal_is_a_rejection_that_says_so() -> None:
    handler = TerminalHITLHandler(SessionState(), is_interactive=False)
    decision = await handler.request_approval(ACTION, "session")
    assert decision == Decision("reject", "Nobody is at the terminal to approve this call.")


@requirement("R3.2")
async def test_the_question_shows_name_arguments_and_description() -> None:
    screen = Screen()
    with create_pipe_input() as keyboard:
        output = Vt100_Output(screen, lambda: Size(rows=24, columns=80), enable_cpr=False)
        handler = TerminalHITLHandler(
            SessionState(), is_interactive=True, terminal_input=keyboard, terminal_output=output
        )
        asking = asyncio.create_task(handler.request_approval(ACTION, "session"))
        async with asyncio.timeout(5):
            await screen.is_drawn.wait()
            keyboard.send_text("y")
            await asking
    shown = screen.getvalue()
    for part in ("write_file", "Write a file.", "path: /a.txt", "content: one", "two", "Approve"):
        assert part in shown


async def test_many_questions_at_once_are_asked_one_after_the_other() -> None:
    with create_pipe_input() as keyboard:
        handler = TerminalHITLHandler(
            SessionState(),
            is_interactive=True,
            terminal_input=keyboard,
            terminal_output=DummyOutput(),
        )
        keyboard.send_text("y")
        async with asyncio.timeout(5):
            first = asyncio.create_task(handler.request_approval(ACTION, "s"))
            second = asyncio.create_task(handler.request_approval(ACTION, "s"))
            assert (await first).type == "approve"
            assert not second.done()
            keyboard.send_text("n")
            assert (await second).type == "reject"
