"""What a person types: lines, pastes, history, completion."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dataagent_cli.commands import builtin_commands
from dataagent_cli.input.completion import LineCompleter
from dataagent_cli.input.keyboard import Keyboard, open_history
from dataagent_core.config import SessionState
from tests.waiting import WAIT_SECONDS

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"


async def typed(keys: str, history_path: Path | None = None) -> str:
    history = open_history(history_path) if history_path else InMemoryHistory()
    with create_pipe_input() as keyboard:
        keyboard.send_text(keys)
        reader = Keyboard(
            history,
            LineCompleter(builtin_commands()),
            terminal_input=keyboard,
            terminal_output=DummyOutput(),
        )
        async with asyncio.timeout(WAIT_SECONDS):
            return await reader.read()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("  how many?  \r", "how many?"),
        ("销售额\r", "销售额"),
        (f"{PASTE_START}a\r\nb\n\nc{PASTE_END}\r", "a\nb\n\nc"),
        ("a\x1b\rb\r", "a\nb"),
    ],
)
async def test_a_message_is_what_was_typed_or_pasted(keys: str, message: str) -> None:
    assert await typed(keys) == message


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("\x1b\x1b\r", "the last"),  # Esc twice on an empty line
        ("\x1b[A\r", "the last"),
        ("\x12first\r\r", "the first"),  # Ctrl-R searches
        ("a\nb\r", "a\nb"),  # Ctrl-J
        ("a\x0cb\r", "ab"),  # Ctrl-L clears the screen, not the line
    ],
)
async def test_what_was_typed_before_is_brought_back(
    keys: str, message: str, tmp_path: Path
) -> None:
    for each in ("the first", "the last"):
        await typed(f"{each}\r", tmp_path / "history")
    assert await typed(keys, tmp_path / "history") == message


async def test_ctrl_g_opens_the_line_in_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/half/whole/ $1\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    with create_pipe_input() as keys:
        reader = Keyboard(
            InMemoryHistory(),
            LineCompleter(builtin_commands()),
            terminal_input=keys,
            terminal_output=DummyOutput(),
        )
        reading = asyncio.create_task(reader.read("half a line"))
        keys.send_text("\x07")
        async with asyncio.timeout(WAIT_SECONDS):
            while "whole" not in reader._session.default_buffer.text:
                await asyncio.sleep(0)
            keys.send_text("\r")
            assert await reading == "whole a line"


async def test_shift_tab_switches_the_mode_and_the_toolbar_says_so() -> None:
    state = SessionState()
    with create_pipe_input() as keys:
        reader = Keyboard(
            InMemoryHistory(),
            LineCompleter(builtin_commands()),
            state=state,
            toolbar=lambda columns: [("", f"{state.mode} {columns}")],
            terminal_input=keys,
            terminal_output=DummyOutput(),
        )
        keys.send_text("\x1b[Z\x1b[Zhi\r")
        async with asyncio.timeout(WAIT_SECONDS):
            assert await reader.read() == "hi"
    assert state.mode == "plan"
    assert reader._bar() == [("", "plan 80")]


async def test_ctrl_c_and_ctrl_d_are_told_apart() -> None:
    with pytest.raises(KeyboardInterrupt):
        await typed("half\x03")
    with pytest.raises(EOFError):
        await typed("\x04")


async def test_the_history_outlives_the_program_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "history"
    await typed("first question\r", path)
    assert await typed("\x1b[A\r", path) == "first question"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_history_that_cannot_be_kept_is_no_reason_to_stop(tmp_path: Path) -> None:
    history = open_history(tmp_path / "missing" / "history")
    history.append_string("x")
    assert history.get_strings() == ["x"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/mo", ["/mode", "/model"]),
        ("/q", ["/quit"]),
        ("/new x", []),
        ("why /q", []),
    ],
)
def test_a_slash_completes_commands(text: str, names: list[str]) -> None:
    completer = LineCompleter(builtin_commands())
    found = completer.get_completions(Document(text), CompleteEvent())
    assert [completion.text for completion in found] == names
