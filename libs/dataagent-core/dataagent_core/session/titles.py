"""A conversation's title: made from its first message, or as a user gives it. Pure functions.

A title is one line of at most 50 characters. Above: `manager.py` (renaming) and `runs/service.py`,
which hands the automatic title to the store with the message it comes from.
"""

from __future__ import annotations

import re
import unicodedata

TITLE_LENGTH = 50
_ELLIPSIS = "…"
_READ = 2000  # characters of a message that are looked at
_LEAST_CUT = 20  # a word's beginning before this would say too little: the word itself is cut
_FENCE = re.compile(r"\s*(```|~~~)")
_MARKS = re.compile(r"^(?:#{1,6}\s+|>\s*|[-*+]\s+|\d{1,3}[.)]\s+)+")
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")
_LOOSE = " \t,;:.-–—、，。；：！？!?(（[【「“\"'"
# where a line may break between any two characters: Chinese and Japanese, and their punctuation
_UNSPACED = re.compile(
    r"[\u2e80-\u2fdf\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)
_JOINER = "\u200d"


def clean_title(title: str) -> str:
    """The title on one line, without what cannot be seen, cut to 50 characters."""
    return _one_line(title[:_READ])[:TITLE_LENGTH].strip()


def title_of(message: str) -> str | None:
    """The title a first message suggests: its first line that says something, cut at a word.

    None if nothing in it could be a title.
    """
    for line in message[:_READ].splitlines():
        if _FENCE.match(line):
            continue
        text = _EMPHASIS.sub(r"\2", _MARKS.sub("", _one_line(line)))
        if any(character.isalnum() for character in text):
            return _cut(text)
    return None


def _one_line(text: str) -> str:
    """Without control and format characters (joiners of emoji stay), each gap one space."""
    seen = (
        character
        if character == _JOINER or unicodedata.category(character)[0] != "C"
        else " "
        if character.isspace()
        else ""
        for character in text
    )
    return " ".join("".join(seen).split())


def _cut(text: str) -> str:
    if len(text) <= TITLE_LENGTH:
        return text
    longest = TITLE_LENGTH - len(_ELLIPSIS)
    at = next((i for i in range(longest, _LEAST_CUT, -1) if _is_break(text, i)), None)
    if at is None:
        at = next((i for i in range(longest, 0, -1) if not _is_inside(text, i)), longest)
    return text[:at].rstrip(_LOOSE) + _ELLIPSIS


def _is_break(text: str, at: int) -> bool:
    """Whether a word ends before this character."""
    before, after = text[at - 1], text[at]
    if before.isspace() or after.isspace():
        return True
    is_unspaced = _UNSPACED.match(before) or _UNSPACED.match(after)
    return bool(is_unspaced) and not _is_inside(text, at)


def _is_inside(text: str, at: int) -> bool:
    """Whether a cut here would take apart what is seen as one character."""
    after = text[at]
    return (
        unicodedata.category(after)[0] == "M"
        or after == _JOINER
        or text[at - 1] == _JOINER
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # a skin tone
    )
