"""The program as a process: Ctrl-C, a reader that leaves, a real pseudo-terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.programs import quick
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .pseudo_terminal import Terminal


def start(*argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [quick("dataagent"), *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


@requirement("R24.3")
def test_ctrl_c_cancels_the_run_and_prints_what_came() -> None:
    with start("-p", "!slow 2000 20", "--json") as program:
        assert program.stdout is not None
        first = orjson.loads(program.stdout.readline())
        program.send_signal(signal.SIGINT)
        rest, complaints = program.communicate(timeout=WAIT_SECONDS)
    events = [first, *(orjson.loads(line) for line in rest.splitlines())]
    assert program.returncode == 130
    assert events[0]["event_type"] == "text"
    assert events[-1]["event_type"] == "done"
    assert events[-1]["data"]["cancelled"] is True
    assert "Traceback" not in complaints


def test_a_reader_that_leaves_ends_the_program_quietly() -> None:
    with start("-p", "!slow 2000 20", "--json") as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        program.wait(timeout=WAIT_SECONDS)
        complaints = program.stderr.read()
    assert program.returncode == 3
    assert "Traceback" not in complaints
    assert "BrokenPipe" not in complaints


def test_what_the_program_creates_is_for_its_user_alone(home: Path, tmp_path: Path) -> None:
    statement = ("sql", "SELECT 1 AS n", "--output", "rows.csv")
    subprocess.run(
        [sys.executable, "-m", "dataagent_cli", *statement],
        umask=0,
        check=True,
        capture_output=True,
        timeout=WAIT_SECONDS,
    )
    created = (tmp_path / "rows.csv", home, *home.rglob("*"))
    assert len(created) > 5
    assert [str(each) for each in created if each.lstat().st_mode & 0o077] == []


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    del home
    made = Terminal()
    yield made
    made.end()


@requirement("R3.6", "R9.1", "R9.6")
def test_a_conversation_on_a_real_terminal(terminal: Terminal) -> None:
    terminal.wait_for("/help shows the commands")
    terminal.wait_for("❯")
    terminal.type("!echo some **bold** words\r")
    terminal.wait_for("some bold words")
    terminal.wait_for("❯")
    terminal.type('!tool write_file {"file_path": "/n.txt", "content": "kept"}\r')
    terminal.wait_for("mode manual")
    terminal.type("\x1b[B\x1b[A\r")
    terminal.wait_for("write_file: approved")
    terminal.wait_for("❯")
    terminal.type("!slow 2000 20\r")
    terminal.wait_for("writing")
    terminal.type("\x03")
    terminal.wait_for("cancelled")
    terminal.wait_for("❯")
    terminal.type("/quit\r")
    terminal.wait_for("hint: continue with: dataagent --resume")
    assert terminal.leave() == 0
    assert "Traceback" not in terminal.screen
