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

from dataagent_cli.hitl import PromptInterrupted, TerminalHITLHandler
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
async def test_keys_choose_the_decision(driver: Any, keys: str, expected: str | None) -> None:
    if expected is None:  # back at the question
        asked = driver.ask(ACTION)
        driver.keys.send_text("n")
        await driver.screen.until("Why not?")
        driver.keys.send_text(ESC)
        await driver.screen.until("Approve")
        driver.keys.send_text("y")
        assert (await asked).type == "approve"
        return
    assert (await driver.answer(keys, ACTION)).type == expected


@requirement("R3.6")
async def test_a_reason_reaches_the_agent_and_the_run_goes_on(driver: Any) -> None:
    decision = await driver.answer("ntoo loud" + ENTER, ACTION)
    told = "The user rejected this call; it was not executed. They say: too loud"
    assert decision == Decision("respond", told)


@requirement("R3.6")
@pytest.mark.parametrize("keys", ["ay", UP + ENTER + DOWN + ENTER])
async def test_approve_all_asks_no_more(driver: Any, keys: str) -> None:
    assert await driver.answer(keys, ACTION) == Decision("approve")
    assert driver.state.mode == "auto"
    assert await driver.answer("", SHELL) == Decision("approve")


@requirement("R3.6")
@pytest.mark.parametrize(("keys", "mode"), [("a", "manual"), ("k", "manual"), ("ay", "auto")])
async def test_more_than_one_call_is_approved_by_a_second_step_alone(
    driver: Any, keys: str, mode: Mode
) -> None:
    asked = driver.ask(ACTION)
    driver.keys.send_text(keys[0])
    await driver.screen.until("without asking")
    assert (driver.state.mode, driver.state.approved_kinds) == ("manual", set())
    driver.keys.send_text(keys[1:] or ENTER)  # Enter takes what is marked: no
    if not keys[1:]:
        await driver.screen.until("Reject, and say why")
        driver.keys.send_text("y")
    assert await asked == Decision("approve")
    assert (driver.state.mode, driver.state.approved_kinds) == (mode, set())


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
async def test_approve_this_kind_asks_no_more_for_it_and_still_for_others(driver: Any) -> None:
    assert await driver.answer("ky", ACTION) == Decision("approve")
    assert driver.state.approved_kinds == {"write_file"}
    assert await driver.answer("", ACTION) == Decision("approve")
    assert (await driver.answer(ESC, SHELL)).type == "reject"


@requirement("R3.6")
async def test_a_command_is_approved_by_its_program_and_subcommand(driver: Any) -> None:
    def command(line: str) -> ActionRequest:
        return ActionRequest("shell", {"command": line}, "Run a command.", "r")

    assert await driver.answer("ky", command("git status -s")) == Decision("approve")
    assert await driver.answer("", command("git status --long src")) == Decision("approve")
    others = ("git push", "git status; rm -r .", "git status $(rm -r .)", "git -c a=b status")
    for other in others:
        assert (await driver.answer(ESC, command(other))).type == "reject", other


async def test_a_call_without_a_kind_is_approved_alone(driver: Any) -> None:
    asked = driver.ask(ActionRequest("shell", {"command": "ls | sh"}, "Run a command.", "r"))
    shown = await driver.screen.until("Esc stops")
    assert "of this conversation" not in shown
    driver.keys.send_text("k")
    driver.keys.send_text("y")
    assert await asked == Decision("approve")
    assert driver.state.approved_kinds == set()


async def test_a_tool_that_the_command_line_allows_asks_nobody(driver: Any) -> None:
    assert await driver.answer("", ActionRequest("safe_thing", {})) == Decision("approve")


@requirement("R3.6")
async def test_the_mode_is_switched_in_the_question_and_counts_from_the_next(driver: Any) -> None:
    asked = driver.ask(ACTION)
    await driver.screen.until("mode manual")
    driver.keys.send_text(SHIFT_TAB)
    await driver.screen.until("mode auto")
    assert not asked.done()
    driver.keys.send_text(ESC)
    assert (await asked).type == "reject"
    assert await driver.answer("", ACTION) == Decision("approve")


@pytest.mark.parametrize(("mode", "kind"), [("auto", "approve"), ("plan", "respond")])
async def test_a_mode_answers_by_itself(driver: Any, mode: Mode, kind: str) -> None:
    driver.state.switch(mode)
    assert (await driver.answer("", ACTION)).type == kind


@requirement("R3.6")
async def test_a_plain_approval_asks_again_next_time(driver: Any) -> None:
    await driver.answer("y", ACTION)
    assert (await driver.answer("n" + ENTER, ACTION)).type == "reject"


async def test_ctrl_c_is_no_answer(driver: Any) -> None:
    for keys in (CTRL_C, "n" + CTRL_C, "e" + CTRL_C):
        with pytest.raises(PromptInterrupted):
            await driver.answer(keys, ACTION)


@requirement("R3.1", "R3.4")
async def test_nobody_at_the_terminal_is_a_rejection_that_says_so() -> None:
    handler = TerminalHITLHandler(SessionState(), is_interactive=False)
    decision = await handler.request_approval(ACTION, "session")
    assert decision == Decision("reject", "No one is at the terminal to approve this call.")


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
    assert decision == Decision("reject", "No one is at the terminal to approve this call.")


async def test_only_what_a_request_takes_is_offered(driver: Any) -> None:
    asked = driver.ask(ACTION, allowed=("approve", "reject"))
    shown = await driver.screen.until("Esc stops")
    assert "Edit" not in shown
    driver.keys.send_text("n")  # no reason is asked for that could not be told
    assert await asked == Decision("reject", "Rejected at the terminal.")


# -- typing under a question ----------------------------------------------------------------------


@pytest.fixture
async def slow_driver(driver: Any) -> Any:
    """One whose question never sees typing pause."""
    return type(driver)(driver.keys, driver.screen, pause_seconds=100 * WAIT_SECONDS)


@requirement("R3.6")
async def test_no_key_but_ctrl_c_answers_before_typing_has_paused(slow_driver: Any) -> None:
    asked = slow_driver.ask(ACTION)
    await slow_driver.screen.until("stop typing to answer")
    slow_driver.keys.send_text("sales?" + ENTER + ESC + "[B" + ESC)
    slow_driver.keys.send_text(CTRL_C)
    async with asyncio.timeout(WAIT_SECONDS):
        with pytest.raises(PromptInterrupted):
            await asked
    assert slow_driver.state == SessionState(slow_driver.state.thread_id)


@requirement("R3.6")
async def test_a_question_takes_keys_once_typing_has_paused(driver: Any) -> None:
    brief = type(driver)(driver.keys, driver.screen, pause_seconds=0.001)
    asked = brief.ask(ACTION)
    await brief.screen.until("Esc stops")
    brief.keys.send_text("a")
    await brief.screen.until("without asking")
    await brief.screen.until("Esc goes back")
    brief.keys.send_text("y")
    assert await asked == Decision("approve")
    assert brief.state.mode == "auto"


async def test_a_lone_escape_pressed_while_typing_stops_when_the_pause_is_over(driver: Any) -> None:
    brief = type(driver)(driver.keys, driver.screen, pause_seconds=0.2)
    brief.keys.send_text("half" + ESC)
    async with asyncio.timeout(WAIT_SECONDS):
        assert (await brief.ask(ACTION)).type == "reject"


# -- what is seen ---------------------------------------------------------------------------------


@requirement("R3.2")
async def test_the_question_shows_what_would_happen(driver: Any) -> None:
    asked = driver.ask(ACTION)
    assert await driver.screen.until("Esc stops") == (
        "write_file /a.txt (+2 −1)\n"
        "Write a file.\n"
        "  @@ -1 +1,2 @@\n"
        "  -old\n"
        "  +one\n"
        "  +two\n"
        "Allow this?\n"
        "❯ y  Approve\n"
        "  n  Reject, and say why\n"
        "  e  Edit the call first\n"
        "  k  Approve every write_file in this conversation\n"
        "  a  Approve everything from now on (mode auto)\n"
        "arrows and Enter, a letter or a number · Esc stops · Shift-Tab: mode manual"
    )
    driver.keys.send_text("y")
    await asked
    assert driver.screen.text == ""  # nothing is left behind


async def test_a_long_call_is_turned_over_by_pages_in_a_window_of_any_size(driver: Any) -> None:
    lines = "\n".join(f"line {n} 中文" for n in range(40))
    asked = driver.ask(ActionRequest("send", {"text": lines}))
    assert "rows 1-14 of 40" in await driver.screen.until("of 40")
    driver.keys.send_text(PAGE_DOWN + PAGE_DOWN + PAGE_DOWN)
    assert "line 39 中文" in await driver.screen.until("rows 27-40 of 40")
    driver.screen.resize(30, 12)
    driver.keys.send_text(DOWN)  # any key draws again
    small = await driver.screen.until("❯ n  Reject, and say why")
    assert "  rows 27-28 of 40 (Page Up,…" in small
    assert small.splitlines()[-1].startswith("arrows and Enter")
    driver.keys.send_text("y")
    await asked


async def test_many_questions_at_once_are_asked_one_after_the_other(driver: Any) -> None:
    driver.keys.send_text("y")
    async with asyncio.timeout(WAIT_SECONDS):
        first, second = driver.ask(ACTION), driver.ask(ACTION)
        assert (await first).type == "approve"
        assert not second.done()
        driver.keys.send_text(ESC)
        assert (await second).type == "reject"


# -- editing --------------------------------------------------------------------------------------


@requirement("R3.6")
async def test_a_call_is_edited_in_the_line(driver: Any) -> None:
    decision = await driver.answer("e -la" + ALT_ENTER + "pwd" + ENTER, SHELL)
    edited = EditedAction("shell", {"command": "ls -la\npwd"})
    assert decision == Decision("edit", edited_action=edited)


async def test_an_edit_that_does_not_fit_is_told_and_edited_further(driver: Any) -> None:
    keys = "e" + " far too long" + ENTER + "\x15" + "short" + ENTER
    decision = await driver.answer(keys, ACTION)
    assert decision.edited_action.args == {"file_path": "/a.txt", "content": "one\nshort"}
    assert "do not fit 'write_file'" in driver.notes[0]


async def test_an_edit_that_changes_nothing_asks_again(driver: Any) -> None:
    asked = driver.ask(SHELL)
    driver.keys.send_text("e" + ENTER)
    await driver.screen.until("Nothing was changed.")
    driver.keys.send_text("y")
    assert await asked == Decision("approve")


async def test_a_call_is_edited_in_the_persons_editor(
    driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "$1" | grep -q "\\.sh$" && echo "ls -l" > "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(editor))
    decision = await driver.answer("e", SHELL)
    assert decision.edited_action == EditedAction("shell", {"command": "ls -l"})
    monkeypatch.setenv("EDITOR", str(tmp_path / "none"))
    asked = driver.ask(SHELL)
    driver.keys.send_text("e")
    await driver.screen.until("cannot be started")
    driver.keys.send_text("y")
    assert await asked == Decision("approve")
