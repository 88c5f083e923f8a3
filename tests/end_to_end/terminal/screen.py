"""A program on a real pseudo-terminal, seen through a terminal emulator (pyte).

`Screen` types keys, waits for what should be seen, and compares the whole screen with a kept
capture. What differs from one run to the next (times, ids, folders) is made equal first. With
`CAPTURES=write` captures are written instead of compared: look at the difference in git.
"""

from __future__ import annotations

import difflib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import pyte

from tests.programs import KILL
from tests.waiting import WAIT_SECONDS

CAPTURES = Path(__file__).parent / "captures"
_IS_WRITING = os.environ.get("CAPTURES") == "write"
_CURSOR_ASKED = b"\x1b[6n"
_UNSTEADY = (  # what is made equal, in this order
    (re.compile(r"/tmp/da-\w{8}"), "<place>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b([0-9a-f]{32}|[0-9a-f]{8})\b"), "<id>"),
    (re.compile(r"\b[0-9a-f]{1,7}…"), "<id>…"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "<time>"),
    (re.compile(r"\([\d,]+ in, [\d,]+ out\)"), "(<in and out>)"),
    (re.compile(r"\b[\d,]+ tokens?\b"), "<tokens>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?"), "<date>"),
    (re.compile(r"\b\d\d:\d\d\b"), "<clock>"),
)


class Screen:
    """A terminal of a size with a program in it. Use it as a context manager."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._changed = threading.Condition()
        self._is_over = False
        self._fd, child = pty.openpty()
        self._size(columns, rows)
        self._program = subprocess.Popen(
            list(argv),
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=cwd,
            env={"TERM": "xterm-256color", "LANG": "C.UTF-8", **env},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 for Ctrl-C
        )
        os.close(child)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._program.pid, signal.SIGKILL)
        self._program.wait()
        self._reader.join()
        os.close(self._fd)

    # -- typing ---------------------------------------------------------------------------------

    def type(self, keys: str) -> None:
        """Send keys as they are."""
        os.write(self._fd, keys.encode())

    def enter(self, line: str) -> None:
        """Type a line and send it."""
        self.type(f"{line}\r")

    def paste(self, text: str) -> None:
        """Paste text as terminals do, in brackets."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        with self._changed:
            self._screen.resize(rows, columns)
        self._size(columns, rows)
        os.killpg(self._program.pid, signal.SIGWINCH)

    def kill(self) -> None:
        """End the program as `kill -9` does."""
        os.killpg(self._program.pid, KILL)
        self._program.wait()

    # -- seeing ---------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """What is on the screen now, without the spaces at the ends of lines."""
        lines = [line.rstrip() for line in self._screen.display]
        return "\n".join(lines).rstrip("\n")

    def wait_for(self, *wanted: str) -> None:
        """Until each of these can be seen."""
        missing = self._until(
            lambda: next((each for each in wanted if each not in self.text), None)
        )
        assert missing is None, f"{missing!r} did not appear:\n{self.text}"

    def clear(self, prompt: str) -> None:
        """Ctrl-L, and until nothing but the prompt and the line at the bottom is left."""
        self.type("\x0c")
        full = self._until(
            lambda: None if re.fullmatch(rf"{prompt}\n+[^\n]*", self.text) else self.text
        )
        assert full is None, f"the screen is not empty:\n{full}"

    def shows(self, name: str) -> None:
        """The whole screen becomes what the capture of that name holds."""
        path = CAPTURES / f"{name}.txt"
        if _IS_WRITING:
            self._quiet()
            path.write_text(f"{steady(self.text)}\n", encoding="utf-8")
            return
        wanted = path.read_text(encoding="utf-8").rstrip("\n")
        differs = self._until(lambda: None if steady(self.text) == wanted else "differs")
        assert differs is None, _difference(name, wanted, steady(self.text))

    def leave(self) -> int:
        """Wait for the program's end; its exit status."""
        return self._program.wait(WAIT_SECONDS)

    # -- parts ----------------------------------------------------------------------------------

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._fd, 65536)
            except OSError:  # the program has left
                chunk = b""
            with self._changed:
                if chunk:
                    self._stream.feed(chunk)
                else:
                    self._is_over = True
                self._changed.notify_all()
            if not chunk:
                return
            if _CURSOR_ASKED in chunk:  # a terminal answers where the cursor is
                cursor = self._screen.cursor
                self.type(f"\x1b[{cursor.y + 1};{cursor.x + 1}R")

    def _until(self, missing: Callable[[], str | None]) -> str | None:
        """Look again at each change until nothing is missing; what is, at the end."""
        deadline = time.monotonic() + WAIT_SECONDS
        with self._changed:
            while (what := missing()) is not None:
                left = deadline - time.monotonic()
                if left <= 0 or self._is_over:
                    return missing()
                self._changed.wait(min(left, 1.0))
        return what

    def _quiet(self) -> None:
        """Until the screen has not changed for a while; only for writing captures."""
        with self._changed:
            while self._changed.wait(1.5):
                pass


def steady(text: str) -> str:
    """A screen without what differs from one run to the next."""
    for pattern, name in _UNSTEADY:
        text = pattern.sub(name, text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text)  # how far down the lowest line is depends on timing


def _difference(name: str, wanted: str, seen: str) -> str:
    lines = difflib.unified_diff(
        wanted.split("\n"), seen.split("\n"), f"captures/{name}.txt", "the screen", lineterm=""
    )
    return "\n".join(lines)
