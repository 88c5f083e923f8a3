"""The data commands as a process: Ctrl-C, a screen of 80 columns, a password that is typed."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.programs import quick
from tests.requirements import requirement
from tests.waiting import WAIT_SECONDS

from .shell import SLOW, without_slow_note


class Screen:
    """A pseudo-terminal of 80 columns with a program on it."""

    def __init__(self, *argv: str, is_input: bool = False) -> None:
        self._fd, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        self.text = ""
        self.program = subprocess.Popen(
            [quick("dataagent"), *argv],
            stdin=inside if is_input else subprocess.DEVNULL,
            stdout=inside,
            stderr=inside,
            env={**os.environ, "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(inside)

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while text not in self.text:
            ready, _, _ = select.select([self._fd], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"{text!r} did not appear in: {self.text!r}"
            assert self._read(), f"{text!r} did not appear in: {self.text!r}"

    def end(self) -> int:
        while self._read():
            pass
        return self.program.wait(WAIT_SECONDS)

    def _read(self) -> bool:
        try:
            chunk = os.read(self._fd, 65536)
        except OSError:  # the program has left
            return False
        self.text += chunk.decode(errors="replace")
        if b"\x1b[6n" in chunk:  # where is the cursor? a terminal answers
            self.type("\x1b[1;1R")
        return bool(chunk)

    def close(self) -> None:
        if self.program.poll() is None:
            self.program.kill()
            self.program.wait()
        os.close(self._fd)


@contextmanager
def on_screen(*argv: str, is_input: bool = False) -> Generator[Screen]:
    screen = Screen(*argv, is_input=is_input)
    try:
        yield screen
    finally:
        screen.close()


@pytest.mark.slow
@requirement("G6")
def test_ctrl_c_stops_the_statement_and_keeps_nothing(fresh_home: Path) -> None:
    program = subprocess.Popen(
        [quick("dataagent"), "sql", SLOW],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with program:
        assert program.stderr is not None
        assert program.stderr.readline() == "still running on chinook; Ctrl-C stops it\n"
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=WAIT_SECONDS)
    assert (program.returncode, out, err) == (130, "", "cancelled\n")
    assert not [path for path in (fresh_home / "artifacts").rglob("*") if path.is_file()]


def test_a_table_fits_the_screen() -> None:
    with on_screen("sql", "SELECT Name, Composer, Milliseconds, Bytes FROM Track") as screen:
        assert screen.end() == 0
    lines = without_slow_note(screen.text).splitlines()
    assert lines[0].split() == ["Name", "Composer", "Milliseconds", "Bytes"]
    assert max(cell_len(line) for line in lines[:22]) <= 80
    assert lines[22].startswith("20 of 3,581 rows · ")


def test_what_data_holds_does_not_command_the_screen() -> None:
    sql = "SELECT 'a\x1b[31mred\x1b]0;title\x07' AS text"
    with on_screen("sql", sql, "--format", "csv") as screen:
        assert screen.end() == 0
    assert without_slow_note(screen.text).splitlines()[:2] == ["text", "ared"]
    assert "\x1b" not in screen.text


def test_bytes_that_are_not_text_do_not_go_to_a_screen() -> None:
    with on_screen("sql", "SELECT 1", "--format", "xlsx") as screen:
        assert screen.end() == 2
    assert "hint: name a file: --output result.xlsx" in screen.text


@pytest.mark.parametrize(("keys", "code"), [("typed-secret\r", 1), ("typed-\x03", 130)])
def test_a_password_is_asked_for_and_not_shown(keys: str, code: int) -> None:
    place = "postgresql://reader@127.0.0.1:1/shop"
    with on_screen("sources", "add", "shop", place, "--ask-password", is_input=True) as screen:
        screen.wait_for("password:")
        screen.type(keys)
        assert screen.end() == code
    assert "typed-" not in screen.text
    assert "Traceback" not in screen.text
