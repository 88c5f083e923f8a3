"""Approvals by keys: what each answer becomes, and what is seen."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import DummyInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from dataagent_cli.hitl import Interrupted, TerminalHITLHandler
from dataagent_core.config import SessionState
from dataagent_core.config.state import Mode
from dataagent_core.hitl import ActionRequest, Decision, EditedAction, HITLHandler
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

UP, DOWN, ENTER, ESC, CTRL_C, TAB = "\x1b[A", "\x1b[B", "\r", "\x1b", "\x03", "\t"
SHIFT_TAB, PAGE_DOWN, ALT_ENTER = "\x1b[Z", "\x1b[6~", "\x1b\r"
ACTION = ActionRequest(
    "write_file",
    {"file_path": "/a.txt", "content": "one\ntwo"},
    "Write a file.",
    "r",
    {"type": "object", "properties": {"content": {"type": "string", "maxLength": 12}}},
    "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-old\n+one\n+two",
)
SHELL = ActionRequest("shell", {"command": "ls"}, "Run a command.", "r")


@requirement("R3.6")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (ENTER, "approve"),
        (DOWN + ENTER + ENTER, "reject"),
        (UP + ENTER + "y", "approve"),
        ("y", "approve"),
        ("1", "approve"),
        ("n" + ENTER, "reject"),
        ("2" + ENTER, "reject"),
        (TAB + ENTER, "reject"),
        ("nno need" + ENTER, "respond"),
        (TAB + "no need" + ENTER, "respond"),
        ("n" + ESC, None),
        ("ay", "approve"),
        ("ky", "approve"),
        ("k" + DOWN + ENTER, "approve"),
        ("an" + "y", "approve"),
        ("a" + ENTER + "n" + ENTER, "reject"),
        (ESC, "reject"),
        ("zx" + "y", "approve"),
    ],
)
async def test_keys_choose_the_decision(desk: Any, keys: str, expected: str | None) -> None:
    if expected is None:  # back at the question
        asked = desk.ask(ACTION)
        desk.keys.send_text("n")
        await desk.screen.until("why not?")
        desk.keys.send_text(ESC)
        await desk.screen.until("Approve")
        desk.keys.send_text("y")
        assert (await asked).type == "approve"
        return
    assert (await desk.answer(keys, ACTION)).type == expected


@requirement("R3.6")
async def test_a_reason_reaches_the_agent_and_the_run_goes_on(desk: Any) -> None:
    decision = await desk.answer("ntoo loud" + ENTER, ACTION)
    told = "The user rejected this call; it was not executed. They say: too loud"
    assert decision == Decision("respond", told)


@requirement("R3.6")
@pytest.mark.parametrize("keys", ["ay", UP + ENTER + DOWN + ENTER])
async def test_approve_all_asks_no_more(desk: Any, keys: str) -> None:
    assert await desk.answer(keys, ACTION) == Decision("approve")
    assert desk.state.mode == "auto"
    assert await desk.answer("", SHELL) == Decision("approve")


@requirement("R3.6")
@pytest.mark.parametrize(("keys", "mode"), [("a", "manual"), ("k", "manual"), ("ay", "auto")])
async def test_more_than_one_call_is_approved_by_a_second_step_alone(
    desk: Any, keys: str, mode: Mode
) -> None:
    asked = desk.ask(ACTION)
    desk.keys.send_text(keys[0])
    await desk.screen.until("without asking")
    assert (desk.state.mode, desk.state.approved_kinds) == ("manual", set())
    desk.keys.send_text(keys[1:] or ENTER)  # Enter takes what is marked: no
    if not keys[1:]:
        await desk.screen.until("Reject, and say why")
        desk.keys.send_text("y")
    assert await asked == Decision("approve")
    assert (desk.state.mode, desk.state.approved_kinds) == (mode, set())


@requirement("R3.6")
@pytest.mark.parametrize(
    ("typed", "mode", "kinds"),
    [
        (["a", "n", "k", "", "n", "y"], "manual", set[str]()),
        (["a", "y"], "auto", set[str]()),
        (["k", "y"], "manual", {"write_file"}),
    ],
)
async def test_a_dumb_terminal_has_the_second_step_too(
    monkeypatch: pytest.MonkeyPatch, typed: list[str], mode: Mode, kinds: set[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    state, notes = SessionState(), list[str]()
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        handler = TerminalHITLHandler(
            state, is_interactive=True, note=notes.append, pause_seconds=0
        )
        keys.send_text("".join(f"{line}{ENTER}" for line in typed))
        async with asyncio.timeout(WAIT_SECONDS):
            assert await handler.request_approval(ACTION, "session") == Decision("approve")
    assert (state.mode, state.approved_kinds) == (mode, kinds)
    assert "without asking" in notes[1]


@requirement("R3.6")
async def test_approve_this_kind_asks_no_more_for_it_and_still_for_others(desk: Any) -> None:
    assert await desk.answer("ky", ACTION) == Decision("approve")
    assert desk.state.approved_kinds == {"write_file"}
    assert await desk.answer("", ACTION) == Decision("approve")
    assert (await desk.answer(ESC, SHELL)).type == "reject"


@requirement("R3.6")
async def test_a_command_is_approved_by_its_program_and_subcommand(desk: Any) -> None:
    def command(line: str) -> ActionRequest:
        return ActionRequest("shell", {"command": line}, "Run a command.", "r")

    assert await desk.answer("ky", command("git status -s")) == Decision("approve")
    assert await desk.answer("", command("git status --long src")) == Decision("approve")
    others = ("git push", "git status; rm -r .", "git status $(rm -r .)", "git -c a=b status")
    for other in others:
        assert (await desk.answer(ESC, command(other))).type == "reject", other


async def test_a_call_without_a_kind_is_approved_alone(desk: Any) -> None:
    asked = desk.ask(ActionRequest("shell", {"command": "ls | sh"}, "Run a command.", "r"))
    shown = await desk.screen.until("Esc stops")
    assert "of this conversation" not in shown
    desk.keys.send_text("k")
    desk.keys.send_text("y")
    assert await asked == Decision("approve")
    assert desk.state.approved_kinds == set()


async def test_a_tool_that_the_command_line_allows_asks_nobody(desk: Any) -> None:
    assert await desk.answer("", ActionRequest("safe_thing", {})) == Decision("approve")


@requirement("R3.6")
async def test_the_mode_is_switched_in_the_question_and_counts_from_the_next(desk: Any) -> None:
    asked = desk.ask(ACTION)
    await desk.screen.until("mode manual")
    desk.keys.send_text(SHIFT_TAB)
    await desk.screen.until("mode auto")
    assert not asked.done()
    desk.keys.send_text(ESC)
    assert (await asked).type == "reject"
    assert await desk.answer("", ACTION) == Decision("approve")


@pytest.mark.parametrize(("mode", "kind"), [("auto", "approve"), ("plan", "respond")])
async def test_a_mode_answers_by_itself(desk: Any, mode: Mode, kind: str) -> None:
    desk.state.switch(mode)
    assert (await desk.answer("", ACTION)).type == kind


@requirement("R3.6")
async def test_a_plain_approval_asks_again_next_time(desk: Any) -> None:
    await desk.answer("y", ACTION)
    assert (await desk.answer("n" + ENTER, ACTION)).type == "reject"


async def test_ctrl_c_is_no_answer(desk: Any) -> None:
    for keys in (CTRL_C, "n" + CTRL_C, "e" + CTRL_C):
        with pytest.raises(Interrupted):
            await desk.answer(keys, ACTION)


@requirement("R3.1", "R3.4")
async def test_nobody_at_the_terminal_is_a_rejection_that_says_so() -> None:
    handler = TerminalHITLHandler(SessionState(), is_interactive=False)
    decision = await handler.request_approval(ACTION, "session")
    assert decision == Decision("reject", "Nobody is at the terminal to approve this call.")


@requirement("R3.1", "R3.6")
async def test_with_nothing_given_it_asks_whoever_types_where_the_program_runs() -> None:
    handler: HITLHandler = TerminalHITLHandler()
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        for typed, expected in (("y", "approve"), ("n" + ENTER, "reject"), ("ay", "approve")):
            keys.send_text(typed)
            async with asyncio.timeout(WAIT_SECONDS):
                decision = await handler.request_approval(ACTION, "session")
            assert decision.type == expected
        assert (await handler.request_approval(SHELL, "session")).type == "approve"  # unasked


@requirement("R3.1", "R3.4")
async def test_with_nothing_given_and_nobody_there_it_rejects() -> None:
    handler = TerminalHITLHandler()
    with create_app_session(input=DummyInput(), output=DummyOutput()):
        decision = await handler.request_approval(ACTION, "session")
    assert decision == Decision("reject", "Nobody is at the terminal to approve this call.")


async def test_only_what_a_request_takes_is_offered(desk: Any) -> None:
    asked = desk.ask(ACTION, allowed=("approve", "reject"))
    shown = await desk.screen.until("Esc stops")
    assert "Edit" not in shown
    desk.keys.send_text("n")  # no reason is asked for that could not be told
    assert await asked == Decision("reject", "Rejected at the terminal.")


# -- typing under a question ----------------------------------------------------------------------


@pytest.fixture
async def slow_desk(desk: Any) -> Any:
    """One whose question never sees typing pause."""
    return type(desk)(desk.keys, desk.screen, pause_seconds=100 * WAIT_SECONDS)


@requirement("R3.6")
async def test_no_key_but_ctrl_c_answers_before_typing_has_paused(slow_desk: Any) -> None:
    asked = slow_desk.ask(ACTION)
    await slow_desk.screen.until("stop typing to answer")
    slow_desk.keys.send_text("sales?" + ENTER + ESC + "[B" + ESC)
    slow_desk.keys.send_text(CTRL_C)
    async with asyncio.timeout(WAIT_SECONDS):
        with pytest.raises(Interrupted):
            await asked
    assert slow_desk.state == SessionState(slow_desk.state.thread_id)


@requirement("R3.6")
async def test_a_question_takes_keys_once_typing_has_paused(desk: Any) -> None:
    brief = type(desk)(desk.keys, desk.screen, pause_seconds=0.001)
    asked = brief.ask(ACTION)
    await brief.screen.until("Esc stops")
    brief.keys.send_text("a")
    await brief.screen.until("without asking")
    await brief.screen.until("Esc goes back")
    brief.keys.send_text("y")
    assert await asked == Decision("approve")
    assert brief.state.mode == "auto"


async def test_a_lone_escape_pressed_while_typing_stops_when_the_pause_is_over(desk: Any) -> None:
    brief = type(desk)(desk.keys, desk.screen, pause_seconds=0.2)
    brief.keys.send_text("half" + ESC)
    async with asyncio.timeout(WAIT_SECONDS):
        assert (await brief.ask(ACTION)).type == "reject"


# -- what is seen ---------------------------------------------------------------------------------


@requirement("R3.2")
async def test_the_question_shows_what_would_happen(desk: Any) -> None:
    asked = desk.ask(ACTION)
    assert await desk.screen.until("Esc stops") == (
        "write_file /a.txt (+2 −1)\n"
        "Write a file.\n"
        "  @@ -1 +1,2 @@\n"
        "  -old\n"
        "  +one\n"
        "  +two\n"
        "❯ y  Approve\n"
        "  n  Reject, and say why\n"
        "  e  Edit the call first\n"
        "  k  Approve every write_file of this conversation\n"
        "  a  Approve everything from now on (mode auto)\n"
        "arrows and Enter, a letter or a number · Esc stops · Shift-Tab: mode manual"
    )
    desk.keys.send_text("y")
    await asked
    assert desk.screen.text == ""  # nothing is left behind


async def test_a_long_call_is_turned_over_by_pages_in_a_window_of_any_size(desk: Any) -> None:
    lines = "\n".join(f"line {n} 中文" for n in range(40))
    asked = desk.ask(ActionRequest("send", {"text": lines}))
    assert "rows 1-15 of 40" in await desk.screen.until("of 40")
    desk.keys.send_text(PAGE_DOWN + PAGE_DOWN + PAGE_DOWN)
    assert "line 39 中文" in await desk.screen.until("rows 26-40 of 40")
    desk.screen.resize(30, 12)
    desk.keys.send_text(DOWN)  # any key draws again
    small = await desk.screen.until("❯ n  Reject, and say why")
    assert "  rows 26-28 of 40 (Page Up,…" in small
    assert small.splitlines()[-1].startswith("arrows and Enter")
    desk.keys.send_text("y")
    await asked


async def test_many_questions_at_once_are_asked_one_after_the_other(desk: Any) -> None:
    desk.keys.send_text("y")
    async with asyncio.timeout(WAIT_SECONDS):
        first, second = desk.ask(ACTION), desk.ask(ACTION)
        assert (await first).type == "approve"
        assert not second.done()
        desk.keys.send_text(ESC)
        assert (await second).type == "reject"


# -- editing --------------------------------------------------------------------------------------


@requirement("R3.6")
async def test_a_call_is_edited_in_the_line(desk: Any) -> None:
    decision = await desk.answer("e -la" + ALT_ENTER + "pwd" + ENTER, SHELL)
    edited = EditedAction("shell", {"command": "ls -la\npwd"})
    assert decision == Decision("edit", edited_action=edited)


async def test_an_edit_that_does_not_fit_is_told_and_edited_further(desk: Any) -> None:
    keys = "e" + " far too long" + ENTER + "\x15" + "short" + ENTER
    decision = await desk.answer(keys, ACTION)
    assert decision.edited_action.args == {"file_path": "/a.txt", "content": "one\nshort"}
    assert "do not fit 'write_file'" in desk.notes[0]


async def test_an_edit_that_changes_nothing_asks_again(desk: Any) -> None:
    asked = desk.ask(SHELL)
    desk.keys.send_text("e" + ENTER)
    await desk.screen.until("Nothing was changed.")
    desk.keys.send_text("y")
    assert await asked == Decision("approve")


async def test_a_call_is_edited_in_the_persons_editor(
    desk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "$1" | grep -q "\\.sh$" && echo "ls -l" > "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(editor))
    decision = await desk.answer("e", SHELL)
    assert decision.edited_action == EditedAction("shell", {"command": "ls -l"})
    monkeypatch.setenv("EDITOR", str(tmp_path / "none"))
    asked = desk.ask(SHELL)
    desk.keys.send_text("e")
    await desk.screen.until("cannot be started")
    desk.keys.send_text("y")
    assert await asked == Decision("approve")
