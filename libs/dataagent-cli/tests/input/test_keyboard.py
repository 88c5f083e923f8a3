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
from dataagent_cli.input import CommandCompleter, Keyboard, open_history
from tests.requirements import requirement

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"


async def typed(keys: str, history_path: Path | None = None) -> str:
    history = open_history(history_path) if history_path else InMemoryHistory()
    with create_pipe_input() as keyboard:
        keyboard.send_text(keys)
        reader = Keyboard(
            history,
            CommandCompleter(builtin_commands()),
            terminal_input=keyboard,
            terminal_output=DummyOutput(),
        )
        async with asyncio.timeout(5):
            return await reader.read()


@requirement("R1.2")
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
        ("/", ["/help", "/new", "/retry", "/auto", "/skills", "/quit"]),
        ("/q", ["/quit"]),
        ("/new x", []),
        ("why /q", []),
    ],
)
def test_a_slash_completes_commands(text: str, names: list[str]) -> None:
    completer = CommandCompleter(builtin_commands())
    found = completer.get_completions(Document(text), CompleteEvent())
    assert [completion.text for completion in found] == names
