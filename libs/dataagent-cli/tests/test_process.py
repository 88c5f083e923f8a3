"""The program as a process: Ctrl-C, a reader that leaves, a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.requirements import requirement

PROGRAM = [sys.executable, "-m", "dataagent_cli"]
PATIENCE_SECONDS = 60  # for a start of the whole program on a busy machine
ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>()][0-9A-Z]?)")


def start(*argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *argv],
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
        rest, complaints = program.communicate(timeout=PATIENCE_SECONDS)
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
        program.wait(timeout=PATIENCE_SECONDS)
        complaints = program.stderr.read()
    assert program.returncode == 3
    assert "Traceback" not in complaints
    assert "BrokenPipe" not in complaints


class Terminal:
    """A program on a pseudo-terminal: type, and wait for what should appear."""

    def __init__(self, *argv: str) -> None:
        self._raw = ""
        self._read_up_to = 0
        pid, self._fd = pty.fork()
        if pid == 0:  # the child becomes the program
            os.execvpe(PROGRAM[0], [*PROGRAM, *argv], {**os.environ, "TERM": "xterm-256color"})
        self._pid = pid

    @property
    def screen(self) -> str:
        """Everything that was written, without its colours and movements."""
        return ANSI.sub("", self._raw)

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until the text has appeared, after what was waited for before."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := self.screen.find(text, self._read_up_to)) < 0:
            ready, _, _ = select.select([self._fd], [], [], max(deadline - time.monotonic(), 0))
            chunk = self._read() if ready else b""
            assert chunk, f"{text!r} did not appear in: {self.screen[self._read_up_to :]!r}"
            self._raw += chunk.decode(errors="replace")
            if b"\x1b[6n" in chunk:  # where is the cursor? a terminal answers
                self.type("\x1b[1;1R")
        self._read_up_to = found + len(text)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, 65536)
        except OSError:  # the program has left
            return b""

    def leave(self) -> int:
        """Wait for the program's end; its exit status."""
        while chunk := self._read():
            self._raw += chunk.decode(errors="replace")
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def end(self) -> None:
        """Leave nothing running."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._fd)


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
    terminal.wait_for("Approve this and all that follow")
    terminal.type("\x1b[B\x1b[A\r")
    terminal.wait_for("write_file: approved")
    terminal.wait_for("❯")
    terminal.type("!slow 2000 20\r")
    terminal.wait_for("writing")
    terminal.type("\x03")
    terminal.wait_for("cancelled")
    terminal.wait_for("❯")
    terminal.type("/quit\r")
    terminal.wait_for("hint: continue with: dataagent --session")
    assert terminal.leave() == 0
    assert "Traceback" not in terminal.screen
