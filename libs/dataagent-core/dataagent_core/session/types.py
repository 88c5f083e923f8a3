"""A conversation and its messages as plain data.

A conversation's title is one line of at most 50 characters, taken from its first message
(`title_of`) or given by a user (`clean_title`).
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

Role = Literal["user", "assistant", "system"]
MessageStatus = Literal["running", "complete", "cancelled", "failed"]
DEFAULT_TITLE = "New Conversation"


def now() -> datetime:
    """The current time in UTC, to the millisecond, as every store has it."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def new_thread_id() -> str:
    """A fresh `thread_id`: 8 hex digits, which may be another session's."""
    return secrets.token_hex(4)


@dataclass(slots=True)
class Session:
    """A user's conversation with an agent. `thread_id` is the short public name of it."""

    session_id: str
    user_id: str
    assistant_id: str
    created_at: datetime = field(default_factory=now)
    last_active: datetime = field(default_factory=now)
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    thread_id: str = field(default_factory=new_thread_id)
    title: str = DEFAULT_TITLE


def metadata_bytes(session: Session) -> int:
    """The bytes a session has in its user's quota before its first message."""
    return len(orjson.dumps(session.metadata, default=str)) if session.metadata else 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session. The assistant's is written by its run alone."""

    message_id: str
    session_id: str
    role: Role
    content: str
    created_at: datetime = field(default_factory=now)
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    run_id: str | None = None
    status: MessageStatus = "complete"


TITLE_LENGTH = 50
_ELLIPSIS = "…"
_READ = 2000  # characters of a message that are read
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
    """The title on one line, without invisible characters, cut to 50 characters."""
    return _one_line(title[:_READ])[:TITLE_LENGTH].strip()


def title_of(message: str) -> str | None:
    """The title from a first message: its first line with words, cut at a word, or None."""
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
    """Whether a cut here would split what is shown as one character."""
    after = text[at]
    return (
        unicodedata.category(after)[0] == "M"
        or after == _JOINER
        or text[at - 1] == _JOINER
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # a skin tone
    )
