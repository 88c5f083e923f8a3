"""The program on a pseudo-terminal: what a person types and what they see."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Sequence

from tests.programs import KILL, quick
from tests.waiting import WAIT_SECONDS

FROM_NOTHING = (sys.executable, "-m", "dataagent_cli")
"""The program with nothing loaded yet, for tests of how it starts."""
ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>()][0-9A-Z]?)")


class Terminal:
    """A program on a pseudo-terminal: type, and wait for what should appear."""

    def __init__(
        self, *argv: str, term: str = "xterm-256color", program: Sequence[str] = ()
    ) -> None:
        self._kill = signal.SIGKILL if program else KILL
        program = program or [quick("dataagent")]
        self._raw = ""
        self._read_up_to = 0
        pid, self._fd = pty.fork()
        if pid == 0:  # the child becomes the program
            os.execvpe(program[0], [*program, *argv], {**os.environ, "TERM": term})
        self._pid = pid

    @property
    def screen(self) -> str:
        """Everything that was written, without its colours and movements."""
        return ANSI.sub("", self._raw)

    @property
    def raw(self) -> str:
        """Everything that was written, as it was."""
        return self._raw

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until the text has appeared, after what was waited for before."""
        deadline = time.monotonic() + WAIT_SECONDS
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
            os.kill(self._pid, self._kill)
            os.waitpid(self._pid, 0)
        os.close(self._fd)
