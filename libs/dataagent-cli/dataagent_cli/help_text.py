"""How `--help` is laid out: descriptions and examples as they are written, as wide as the screen.

argparse would load shutil, and with it three libraries for archives, to learn the width.
"""

from __future__ import annotations

import argparse
import os

_NARROWEST = 40
_USUAL = 80


class HelpText(argparse.RawDescriptionHelpFormatter):
    """argparse's layout, at the width of the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(_columns() - 2, _NARROWEST))


def _columns() -> int:
    """`COLUMNS`, as argparse and most programs take it; else the terminal's own width."""
    written = os.environ.get("COLUMNS", "")
    if written.isdecimal() and int(written) > 0:
        return int(written)
    try:
        return os.get_terminal_size(1).columns or _USUAL
    except OSError:  # a file or a pipe
        return _USUAL
