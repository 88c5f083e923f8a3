"""A terminal that is killed in the middle of an answer, and what the next one finds."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.programs import KILL, quick
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .pseudo_terminal import Terminal


@pytest.fixture
def killed(home: Path) -> Path:
    """A data directory whose program was killed while it answered."""
    with subprocess.Popen(
        [quick("dataagent"), "-p", "!slow 5000 20", "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
    ) as program:
        assert program.stdout is not None
        first = orjson.loads(program.stdout.readline())
        assert first["event_type"] == "text"
        program.send_signal(KILL)
        program.wait(timeout=WAIT_SECONDS)
    return home


def ask(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [quick("dataagent"), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )


@pytest.fixture
def terminal(killed: Path) -> Iterator[Terminal]:
    del killed
    made = Terminal("--continue")
    yield made
    made.end()


@requirement("G2")
def test_a_killed_terminals_conversation_is_shown_with_its_end(terminal: Terminal) -> None:
    terminal.wait_for("!slow 5000 20")
    terminal.wait_for("chunk0")
    terminal.wait_for("hint: /retry sends the message again.")
    terminal.wait_for("❯")
    terminal.type("!echo going on\r")
    terminal.wait_for("going on")
    terminal.wait_for("❯")
    terminal.type("/quit\r")
    assert terminal.leave() == 0
    assert "Traceback" not in terminal.screen


def test_a_question_goes_on_where_a_killed_terminal_stopped(killed: Path) -> None:
    del killed
    done = ask("-p", "!echo next", "--continue")
    assert (done.returncode, done.stdout) == (0, "next\n")
    again = ask("-p", "!echo more", "--continue", "--json")
    events = [orjson.loads(line) for line in again.stdout.splitlines()]
    assert events[0]["seq"] > 2, "it is the same conversation"


def test_resume_without_an_id_needs_a_person(home: Path) -> None:
    del home
    done = ask("-p", "hi", "--resume")
    assert done.returncode == 2
    assert "--resume needs the conversation's ID" in done.stderr


@requirement("G11")
def test_a_call_that_waited_when_the_terminal_was_killed_is_asked_about_again(home: Path) -> None:
    first = Terminal()
    first.wait_for("❯")
    first.type('!tool write_file {"file_path": "/waited.txt", "content": "kept"}\r')
    first.wait_for("Approve")
    first.end()
    second = Terminal("--continue")
    try:
        second.wait_for("an answer is still running: it is shown here")
        second.wait_for("mode manual")
        second.type("y")
        second.wait_for("write_file: approved")
        second.wait_for("❯")
        second.type("/quit\r")
        assert second.leave() == 0
    finally:
        second.end()
    assert [*home.rglob("waited.txt"), *Path.cwd().rglob("waited.txt")]
