"""Text from models, tools and servers, made safe to show on a terminal. Pure functions.

A terminal obeys what it is sent: an escape sequence in a tool's result could move the cursor,
retitle the window or rewrite what stands above. Everything shown passes through `printable`.
"""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: window titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|[\x1b\x9b]\[?[0-?]*[ -/]*[@-~]"  # CSI and two-character escapes
)
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 except tab and newline, DEL, C1
    "\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]"  # direction overrides, odd line ends
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """The text without control sequences, direction overrides and halves of characters."""
    plain = _SEQUENCES.sub("", text.replace("\r\n", "\n"))
    return encodable(_UNSEEN.sub("", plain.replace("\r", "\n")))


def encodable(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be written as UTF-8."""
    return _SURROGATE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Printable text with every run of white space as one space."""
    return " ".join(printable(text).split())
