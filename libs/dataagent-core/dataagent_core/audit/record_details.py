"""What somebody reports → a record fit to be kept. Pure.

Text is cut to its column, made storable and scrubbed; details become canonical JSON of a bounded
size. Long values are cut before they are searched for secrets, with room to spare, so that a huge
argument costs no more than a small one and no half of a secret stays at the cut.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from dataagent_core.audit.chain import canonical
from dataagent_core.storage.text import storable
from dataagent_core.telemetry.scrub import MASK, Scrubber

MOST_TEXT = 300
MOST_STATEMENT = 8_000
_MOST_ITEMS = 30
_MOST_DEPTH = 4
_MOST_DETAILS = 16_000
_LONGEST_SECRET = 1_024
_CUT = "…"


def column(text: str | None, width: int) -> str | None:
    """Text as a column of that width keeps it."""
    if text is None:
        return None
    return storable(text)[:width]


def details_json(details: Mapping[str, Any], scrubber: Scrubber) -> str:
    """The details as canonical JSON, scrubbed and bounded."""
    text = canonical(_bounded(details, scrubber, "", 0))
    if len(text) <= _MOST_DETAILS:
        return text
    return canonical({"cut": text[:_MOST_TEXT_OF_CUT] + _CUT})


_MOST_TEXT_OF_CUT = _MOST_DETAILS // 4  # escaping may make it longer


def _bounded(value: Any, scrubber: Scrubber, name: str, depth: int) -> Any:
    match value:
        case str():
            return _text(value, scrubber, name)
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping() if depth < _MOST_DEPTH:
            # of any shape
            return _fields(value, scrubber, depth)  # pyright: ignore[reportUnknownArgumentType]
        case list() | tuple() if depth < _MOST_DEPTH:
            items = cast("Sequence[object]", value)  # of any shape
            shown = [_bounded(item, scrubber, name, depth + 1) for item in items[:_MOST_ITEMS]]
            return [*shown, _CUT] if len(items) > _MOST_ITEMS else shown
        case _:
            return f"({type(value).__name__})"


def _fields(value: Mapping[Any, Any], scrubber: Scrubber, depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, item in list(value.items())[:_MOST_ITEMS]:
        name = storable(str(key))[:64]
        if item and scrubber.hides(name):  # whatever it looks like
            shown[name] = MASK
        else:
            shown[name] = _bounded(item, scrubber, name, depth + 1)
    if len(value) > _MOST_ITEMS:
        shown[_CUT] = len(value) - _MOST_ITEMS
    return shown


def _text(value: str, scrubber: Scrubber, name: str) -> str:
    most = MOST_STATEMENT if name == "statement" else MOST_TEXT
    scrubbed = storable(scrubber.text(value[: most + _LONGEST_SECRET]))
    return scrubbed if len(scrubbed) <= most else scrubbed[:most] + _CUT
