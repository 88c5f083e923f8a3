"""A prompt that is shown at once, while the libraries of the real one are loaded.

It shows letters as they are typed and stores all keys; the real prompt then receives them. It uses
only the standard library, and little of it.
"""

from __future__ import annotations

import os
import sys
from select import select

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from threading import Thread
    from typing import Any

    from prompt_toolkit.input import Input

_PROMPT = "❯ "
_ERASE = "\r\x1b[J"
_USUAL = 80  # columns of a terminal that does not say how many it has
_FREE_COLUMNS = 8  # a line that wraps could not be erased


class EarlyPrompt:
    """A prompt that is shown from the start of the block until `end`, at the latest its end."""

    def __init__(self) -> None:
        self._earlier: list[Any] | None = None  # modes of the terminal before
        self._no_echo: list[Any] | None = None  # its modes while the program runs
        self._reader: Thread | None = None
        self._wake = (-1, -1)
        self._typed = bytearray()

    def __enter__(self) -> EarlyPrompt:
        if _is_capable():
            self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.restore_terminal()

    def end(self) -> None:
        """Erase the prompt; further keys are stored without being shown."""
        if self._reader is None:
            return
        os.write(self._wake[1], b".")
        self._reader.join()
        self._reader = None
        for descriptor in self._wake:
            os.close(descriptor)
        sys.stdout.write(_ERASE)
        sys.stdout.flush()

    def abandon(self) -> None:
        """Restore the terminal without taking locks, as the process ends at once."""
        if self._earlier is not None:
            os.write(1, _ERASE.encode())
            self.restore_terminal()

    def feed(self, keyboard: Input) -> None:
        """Give the real prompt what was typed."""
        if not self._typed:
            return
        from prompt_toolkit.input.typeahead import store_typeahead
        from prompt_toolkit.input.vt100_parser import Vt100Parser
        from prompt_toolkit.key_binding import KeyPress

        keys: list[KeyPress] = []
        parser = Vt100Parser(keys.append)
        parser.feed(self._typed.decode(errors="replace"))
        parser.flush()
        self._typed.clear()
        store_typeahead(keyboard, keys)

    def restore_terminal(self) -> None:
        """Restore the terminal's modes, when the program ends or is suspended.

        Until then keys pressed between two prompts are stored for the next one without an echo.
        """
        self._set(self._earlier)

    def disable_echo(self) -> None:
        """Store keys without an echo again, after the program was suspended."""
        self._set(self._no_echo)

    def _set(self, modes: list[Any] | None) -> None:
        if modes is not None:
            import termios

            termios.tcsetattr(0, termios.TCSANOW, modes)

    def _begin(self) -> None:
        import termios
        from threading import Thread

        try:
            self._earlier = termios.tcgetattr(0)
        except termios.error:  # a terminal that has just gone
            return
        self._no_echo = termios.tcgetattr(0)
        self._no_echo[0] &= ~termios.ICRNL  # Enter is \r, as it is for the real prompt
        self._no_echo[3] &= ~(termios.ECHO | termios.ICANON)  # Ctrl-C still interrupts
        self.disable_echo()
        sys.stdout.write(_PROMPT)
        sys.stdout.flush()
        self._wake = os.pipe()
        self._reader = Thread(target=self._read, name="early-prompt", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        columns = (os.get_terminal_size(1).columns or _USUAL) - _FREE_COLUMNS
        is_shown = True
        while True:
            ready, _, _ = select([0, self._wake[0]], [], [])
            if 0 not in ready:
                return
            piece = os.read(0, 1024)
            if not piece:  # the terminal is gone; the next reader notices
                return
            self._typed += piece
            is_shown = is_shown and len(self._typed) < columns and _is_plain(piece)
            if is_shown:
                os.write(1, piece)


def _is_plain(piece: bytes) -> bool:
    """Whether it is letters of one column each; other keys are left to the real prompt."""
    return all(0x20 <= byte < 0x7F for byte in piece)


def _is_capable() -> bool:
    """Whether the terminal can erase a line and show the prompt."""
    is_dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown", "")
    return os.name == "posix" and not is_dumb and sys.stdout.encoding.lower().startswith("utf")
