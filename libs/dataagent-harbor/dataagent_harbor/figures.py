"""Numbers in a text, as people write them: 1,234.50, 1 234, 3.5 %, 12万, 1.2亿. Pure functions."""

from __future__ import annotations

import re

_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-−–]?)\s?(?:[$€£¥]\s?)?"
    r"(?P<digits>\d{1,3}(?:[,\u00a0\u202f ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"\s?(?P<unit>[万亿]|[kKmM](?![\w])|%)?"
)
_UNITS = {"万": 1e4, "亿": 1e8, "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6}


def numbers_in(text: str) -> list[float]:
    """Every number of a text, in order. A percentage counts as it is written, not as a share."""
    found: list[float] = []
    for match in _NUMBER.finditer(text):
        value = float(re.sub(r"[,\u00a0\u202f ]", "", match["digits"]))
        value *= _UNITS.get(match["unit"] or "", 1.0)
        found.append(-value if match["sign"] else value)
    return found


def is_near(found: float, expected: float, tolerance: float) -> bool:
    """Whether a number is the expected one, give or take; what a float loses does not count."""
    return abs(found - expected) <= tolerance + 1e-9 * max(abs(found), abs(expected))
