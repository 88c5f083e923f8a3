"""Keys on a real terminal while an answer is under way."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Iterator

import pytest

from .pseudo_terminal import FROM_NOTHING, Terminal

CTRL_C, CTRL_U, CTRL_Z, ESC, SHIFT_TAB = "\x03", "\x15", "\x1a", "\x1b", "\x1b[Z"


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal(program=FROM_NOTHING)  # it is put to sleep
    yield made
    made.end()


def is_echoing(terminal: Terminal) -> bool:
    """Whether the terminal shows what is typed by itself, as a shell leaves it."""
    return bool(termios.tcgetattr(terminal._fd)[3] & termios.ECHO)


@pytest.mark.slow
def test_an_answer_is_put_to_sleep_stopped_and_taken_back(terminal: Terminal) -> None:
    terminal.wait_for("/help shows")
    terminal.type("!slow 3000 20\r")
    terminal.wait_for("chunk5 ")
    assert not is_echoing(terminal)
    terminal.type(CTRL_Z)
    _, status = os.waitpid(terminal._pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert is_echoing(terminal)
    os.kill(terminal._pid, signal.SIGCONT)
    terminal.wait_for("chunk")
    terminal.type(SHIFT_TAB)
    terminal.wait_for("mode auto, from the next request on")
    assert not is_echoing(terminal)
    terminal.type("typed")
    terminal.type(ESC)
    terminal.wait_for("cancelled")
    terminal.wait_for("!slow 3000 20")  # the message is back in the line
    terminal.wait_for("typed")
    terminal.wait_for("AUTO")
    terminal.type(CTRL_U * 3 + "\x7f" + CTRL_U + "!slow 3000 20\r")
    terminal.wait_for("chunk9 ")
    terminal.type(CTRL_C + CTRL_C)
    assert terminal.leave() == 130
