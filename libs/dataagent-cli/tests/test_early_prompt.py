"""The prompt that is there before the libraries: nothing typed at it is lost or shown twice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .pseudo_terminal import FROM_NOTHING, Terminal


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    del home
    made = Terminal(program=FROM_NOTHING)
    yield made
    made.end()


def test_what_is_typed_early_is_the_first_message_with_every_key(terminal: Terminal) -> None:
    terminal.wait_for("❯ ")
    terminal.type("!echo eaXrly")
    terminal.wait_for("!echo eaXrly")  # shown as it is typed
    terminal.type("\x1b[D\x1b[D\x1b[D\x7f\r")  # three to the left, the X goes, send
    terminal.wait_for("/help shows the commands")
    terminal.wait_for("❯ !echo early")
    terminal.wait_for("early")
    terminal.wait_for("❯")
    terminal.type("/quit\r")
    terminal.wait_for("hint: continue with")
    assert terminal.leave() == 0


def test_ctrl_c_at_the_early_prompt_leaves_without_a_word(terminal: Terminal) -> None:
    terminal.wait_for("❯ ")
    terminal.type("\x03")
    assert terminal.leave() == 130
    assert "Traceback" not in terminal.screen
    assert terminal.raw.endswith("\r\x1b[J")  # the prompt is gone


@pytest.mark.parametrize("loaded", ["asyncio", "dataagent_cli.failures", "dataagent_cli.streams"])
def test_ctrl_c_in_the_middle_of_an_import_breaks_nothing_off(home: Path, loaded: str) -> None:
    del home
    program = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {loaded!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from dataagent_cli.main import main
sys.argv[1:] = []
main()
"""
    terminal = Terminal("-c", program, program=[sys.executable])
    assert terminal.leave() == 130
    assert "Traceback" not in terminal.screen
    terminal.end()


def test_a_start_that_fails_takes_the_early_prompt_away_first(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("model = \n")
    terminal = Terminal(program=FROM_NOTHING)
    terminal.wait_for("❯ ")
    terminal.wait_for("error: The configuration file ")
    terminal.wait_for("hint: ")
    assert terminal.leave() == 1
    assert "\r\x1b[Jerror: " in terminal.raw
    terminal.end()


@pytest.mark.parametrize(("term", "prompts"), [("xterm-256color", 1), ("dumb", 0)])
def test_no_early_prompt_on_a_dumb_terminal(term: str, prompts: int) -> None:
    program = """
from dataagent_cli.early_prompt import EarlyPrompt
with EarlyPrompt() as early:
    early.end()
print("here")
"""
    terminal = Terminal("-c", program, term=term, program=[sys.executable])
    assert terminal.leave() == 0
    assert terminal.screen.count("❯") == prompts
    assert terminal.screen.endswith("here\r\n")
    terminal.end()
