"""Text from models, tools and servers, made safe to show on a terminal.

An escape sequence in a tool's result could move the cursor, retitle the window or overwrite what is
above. Everything shown passes through `printable`; what a user approves passes through
`escape_controls`, which leaves nothing out.
"""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: window titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|[\x1b\x9b]\[?[0-?]*[ -/]*[@-~]"  # CSI and two-character escapes
)
_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 except tab and newline, DEL, C1
    "\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029"  # direction overrides, odd line ends
)
_NO_ROOM = "\u00ad\u061c\u200b\u2060-\u2064\ufeff\U000e0000-\U000e007f"
_UNSEEN = re.compile(f"[{_CONTROLS}]")
_HIDDEN = re.compile(f"[{_CONTROLS}{_NO_ROOM}]")
_UNFINISHED = re.compile(
    r"(?:(?P<text>\x1b(?:\][^\x07\x1b]*|[PX^_][^\x1b]*)\x1b?)|[\x1b\x9b]\[?[0-?]*[ -/]*|\r)\Z"
)
_LONGEST = 256  # characters of a sequence of the short kind; more is text
_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """The text without control sequences, direction overrides and halves of characters."""
    plain = _SEQUENCES.sub("", text.replace("\r\n", "\n"))
    return encodable(_UNSEEN.sub("", plain.replace("\r", "\n")))


def escape_controls(text: str) -> str:
    """The whole text, with `\\x1b` for a character that would take effect or be invisible.

    Removing a sequence would also remove the text in it, which may be half a command.
    """
    return encodable(_HIDDEN.sub(_escape, text.replace("\r\n", "\n")))


def _escape(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


class Cleaner:
    """Makes text printable that comes in pieces: a sequence may be cut anywhere.

    What it gives is what `printable` gives for the whole, a little later.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The next piece, without what may belong to one that is still to come."""
        text = self._held + piece
        found = _UNFINISHED.search(text)
        held = "" if found is None else found[0]
        shown = text[: len(text) - len(held)]
        if found is not None and found["text"] is not None:  # however long, nothing of it is shown
            held = held[:2] + ("\x1b" if held[2:].endswith("\x1b") else "")
        elif len(held) > _LONGEST:
            shown, held = text, ""
        self._held = held
        return printable(shown)

    def rest(self) -> str:
        """What was held back; nothing comes after it."""
        held, self._held = self._held, ""
        return printable(held)


def encodable(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be written as UTF-8."""
    return _SURROGATE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Printable text with every run of white space as one space."""
    return " ".join(printable(text).split())
