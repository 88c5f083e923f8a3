"""A prompt at once, while the libraries behind the real one are still being loaded.

It takes the keys: letters are shown as they are typed, everything is kept, and the real prompt gets
it all as if it had been typed there. Only the standard library is used, and little of it. Above:
`main.py`, which shows it; `Streams.view` takes the screen over, `input/keyboard.py` the keys.
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
_ROOM = 8  # columns that stay free: a line that wraps could not be erased


class EarlyPrompt:
    """Shown from the start of the block until the screen is taken over, at the latest its end."""

    def __init__(self) -> None:
        self._earlier: list[Any] | None = None  # how the terminal was
        self._no_echo: list[Any] | None = None  # and how it is in a sitting
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
        """Give the screen up: what was drawn goes. Keys are kept, and not shown any more."""
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
        """The process ends here and now: leave the terminal as it was, whoever holds what lock."""
        if self._earlier is not None:
            os.write(1, _ERASE.encode())
            self.restore_terminal()

    def feed(self, keyboard: Input) -> None:
        """Let the real prompt have what was typed."""
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
        """Leave the terminal as it was: the sitting is over, or the program is put to sleep.

        Not before: keys that are pressed between two prompts are kept for the next one, unseen and
        as they were pressed.
        """
        self._set(self._earlier)

    def disable_echo(self) -> None:
        """After sleeping: keys are kept again."""
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
        room = (os.get_terminal_size(1).columns or _USUAL) - _ROOM
        is_shown = True
        while True:
            ready, _, _ = select([0, self._wake[0]], [], [])
            if 0 not in ready:
                return
            piece = os.read(0, 1024)
            if not piece:  # the terminal is gone; whoever reads next will learn of it
                return
            self._typed += piece
            is_shown = is_shown and len(self._typed) < room and _is_plain(piece)
            if is_shown:
                os.write(1, piece)


def _is_plain(piece: bytes) -> bool:
    """Whether it is letters of one column each; keys and wide letters are the real prompt's."""
    return all(0x20 <= byte < 0x7F for byte in piece)


def _is_capable() -> bool:
    """Whether the terminal can erase a line and show the prompt."""
    is_dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown", "")
    return os.name == "posix" and not is_dumb and sys.stdout.encoding.lower().startswith("utf")
