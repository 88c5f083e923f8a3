"""Data that a question names with `@`: a source, or one of its tables, as the composer writes them.

`@sales` is a source, `@sales.orders` and `@sales."Order details"` tables of it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

_MENTION: Final = re.compile(
    r"(?P<before>\b(?:in|of|from|on|using)\s+|(?:在|从|使用|用))?"
    r"(?<![A-Za-z0-9._%+-])@(?P<source>\w[\w-]{0,63})"
    r"(?:\.(?:\"(?P<quoted>[^\"\n]+)\"|(?P<plain>[\w$-]+(?:\.[\w$-]+)*)))?"
    r"(?P<after>\s*(?:里面|里|中))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourceMentions:
    """The sources that a question names, each once, and the question in plain words."""

    sources: tuple[str, ...]
    question: str


def parse_mentions(question: str, filenames: Collection[str]) -> SourceMentions:
    """What a question names. A file that comes with it is no source, whatever it is called."""
    for name in sorted(filenames, key=len, reverse=True):
        question = question.replace(f"@{name}", name)
    sources = dict.fromkeys(found["source"] for found in _MENTION.finditer(question))
    if not sources:
        return SourceMentions((), question)
    return SourceMentions(tuple(sources), _MENTION.sub(_plain, question).strip(" \t\n:：,，"))


def _plain(found: re.Match[str]) -> str:
    table = found["quoted"] or (found["plain"] or "").rpartition(".")[2]
    if not table:
        return " "
    return f"{found['before'] or ''}{table}{found['after'] or ''}"
