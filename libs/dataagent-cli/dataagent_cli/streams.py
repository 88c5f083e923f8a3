"""The program's three streams, whether a user is at them, and the view that fits.

Nothing else in the package touches `sys.stdout`. Where the terminal's encoding is not UTF-8, our
signs are replaced by ASCII.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, TextIO

from dataagent_cli.ui.clean import printable

if TYPE_CHECKING:
    from prompt_toolkit.output import Output

    from dataagent_cli.early_prompt import EarlyPrompt
    from dataagent_cli.ui import View
    from dataagent_core.config import Prices


NAME = "dataagent-plain"
"""The name of the error handler, for a stream's `errors=`."""
_BRAILLE = range(0x2801, 0x2900)
_SIGNS = {
    **dict.fromkeys("─━", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("▏▎▍▌▋▊▉█▇▆", "#"),
    **dict.fromkeys("▅▄", "="),
    **dict.fromkeys("▃▂▁", "_"),
    **dict.fromkeys("·•▪●◦", "*"),
    **dict.fromkeys("❯▷", ">"),
    **dict.fromkeys("▤▥☰⧉", "#"),
    **dict.fromkeys("⌕✻✎⇅", "*"),
    "…": "...",
    "≈": "~",
    "└": "`",
    "→": "->",
    "−": "-",
    "✓": "ok",
    "✗": "x",
    "↵": "\\n",
    "░": ":",
}


def register_ascii_fallback() -> str:
    """Register the error handler with Python and return its name."""
    codecs.register_error(NAME, ascii_fallback)
    return NAME


def ascii_fallback(error: UnicodeError) -> tuple[str, int]:
    """The replacement of characters that could not be encoded, and where to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_plain(sign) for sign in missing), error.end


def _plain(sign: str) -> str:
    return _SIGNS.get(sign, "*" if ord(sign) in _BRAILLE else "?")


@dataclass(frozen=True, slots=True)
class Streams:
    """Where input comes from and where output goes. `piped` is None when a user types."""

    out: TextIO
    err: TextIO
    piped: BinaryIO | None
    early: EarlyPrompt | None = None
    """The prompt that is shown until a view is made."""

    @classmethod
    def standard(cls, early: EarlyPrompt | None = None) -> Streams:
        """The process's own streams; characters that the encoding lacks are replaced."""
        signs = register_ascii_fallback()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=signs)
        if sys.stdin is None or sys.stdin.isatty():
            return cls(sys.stdout, sys.stderr, None, early)
        return cls(sys.stdout, sys.stderr, sys.stdin.buffer)

    @property
    def is_interactive(self) -> bool:
        """Whether a user can be asked: keys come from a terminal, questions are shown on one."""
        return self.piped is None and self.err.isatty()

    def view(
        self,
        *,
        is_json: bool = False,
        is_buffered: bool = False,
        prices: Prices | None = None,
        export: str | None = "dataagent export",
    ) -> View:
        """JSON lines if requested, a drawn screen on a capable terminal, plain text otherwise.

        A view that `is_buffered` holds the answer back until its end. `export` is the command
        that writes a stored result to a file, if there is one.
        """
        if self.early is not None:
            self.early.end()
        from dataagent_cli.ui import BufferedView, JsonView, PlainRenderer

        if is_json:
            return JsonView(self.out, self.err)
        if is_buffered:
            return BufferedView(self.err)
        if not self.out.isatty():
            return PlainRenderer(self.out, self.err)
        from rich.console import Console

        from dataagent_cli.ui import TerminalRenderer
        from dataagent_cli.ui.graphics import reflows

        out = Console(file=self.out, highlight=False)
        if out.is_dumb_terminal:
            return PlainRenderer(self.out, self.err)
        err = Console(file=self.err, highlight=False)
        return TerminalRenderer(out, err, prices=prices, reflows=reflows(), export=export)

    def questions(self) -> Output:
        """The output for questions: standard error, as standard output may be redirected."""
        from prompt_toolkit.output import create_output

        return create_output(stdout=self.err)

    def say(self, text: str) -> None:
        """Write a line to standard error."""
        self.err.write(f"{text}\n")
        self.err.flush()

    @property
    def width(self) -> int | None:
        """The columns of the screen; None when output goes to a file or pipe."""
        try:
            return os.get_terminal_size(self.out.fileno()).columns or None
        except (OSError, ValueError):
            return None

    def print(self, text: str) -> None:
        """Write text and a line end to standard output, safe to show."""
        self.out.write(f"{printable(text)}\n")
        self.out.flush()

    def write(self, piece: bytes) -> None:
        """Write data to standard output: unchanged to a file or pipe, safe text on a terminal."""
        if self.out.isatty():
            self.out.write(printable(piece.decode(errors="replace")))
            self.out.flush()
            return
        self.out.flush()
        self.out.buffer.write(piece)
        self.out.buffer.flush()

    def abandon_out(self) -> None:
        """Drop what is still to be written to standard output, whose reader has left."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.out.fileno())
        os.close(nowhere)
