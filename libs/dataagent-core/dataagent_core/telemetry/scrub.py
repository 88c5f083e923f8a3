"""Takes secrets out of text and fields that are about to be logged.

Two nets: values the deployment is known to hold (keys, passwords, database URLs of the settings)
are replaced wherever they occur, and shapes that are always secret (bearer tokens, JWTs, provider
keys, credentials in URLs, `password=…`) whoever they belong to. Text may come from anyone, so each
shape is found in time that grows with the text alone. Pure; `logs.py` and `audit/` stand above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import quote

MASK = "••••"
_SHORTEST_KNOWN = 6
_SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)?$|secret|token$|api[_-]?key|authorization|cookie|credential|dsn$",
    re.IGNORECASE,
)
_MAYBE = re.compile(r"[-_=:]|eyJ|(?i:bearer|basic)")
"""What every text with one of the shapes has; most have none of it."""
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"eyJ[A-Za-z0-9_-]{5,2000}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    (re.compile(r"\bdak_[A-Za-z0-9_-]{8,}"), MASK),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|xox[abp]|tvly|lsv2)[-_][A-Za-z0-9_-]{12,}"), MASK),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._~=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"((?<![A-Za-z0-9+.-])[A-Za-z0-9+.-]+://[^\s:/@]*):[^\s/@]+@"), rf"\1:{MASK}@"),
    (
        re.compile(
            r"(?i)([\"']?(?<![\w-])[\w-]*"
            r"(?:password|passwd|secret|token|api[_-]?key|authorization)[\"']?"
            r"\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&}\])]+)"
        ),
        rf"\1{MASK}",
    ),
)


class Scrubber:
    """Replaces secrets by dots."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        values = {value for value in known if len(value) >= _SHORTEST_KNOWN}
        values |= {quote(value, safe="") for value in values}
        longest_first = sorted(values, key=len, reverse=True)
        self._known = (
            re.compile("|".join(re.escape(value) for value in longest_first))
            if longest_first
            else None
        )

    def text(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        if _MAYBE.search(text) is None:
            return text
        for shape, replacement in _SHAPES:
            text = shape.sub(replacement, text)
        return text

    def hides(self, name: str) -> bool:
        """Whether a field's name alone says that its value is secret."""
        return _SECRET_NAME.search(name) is not None

    def field(self, name: str, value: Any) -> Any:
        """A log field's value, hidden if its name says so, scrubbed inside otherwise."""
        if name and self.hides(name):
            return MASK if value else value
        match value:
            case str():
                return self.text(value)
            case Mapping():
                fields = cast("Mapping[object, object]", value)
                return {str(key): self.field(str(key), item) for key, item in fields.items()}
            case list() | tuple():
                items = cast("list[object]", value)  # of any shape
                return [self.field("", item) for item in items]
            case bool() | int() | float() | None:
                return value
            case _:
                return self.text(str(value))
