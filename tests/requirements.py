"""What the product must do, as data, and the mark by which a test says what it proves.

A test says `@requirement("R3.4", "P7")`. The ids are lines of `tests/requirement_ids.txt`, in
sections: R for requirements, P for properties, M for MCP, S for the web application and its agents,
B for the binding of tools, G for guarantees. A line `departs:` below an id says what we do instead;
its tests prove that. `requirement_marks.py` finds the marks, `tests/test_requirements.py` compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

F = TypeVar("F", bound=Callable[..., object])
_FILE = Path(__file__).with_name("requirement_ids.txt")
_DEPARTS = "  departs: "


@dataclass(frozen=True, slots=True)
class Requirement:
    """One sentence that must hold, and where we depart from it on purpose."""

    id: str
    sentence: str
    section: str
    departs: str = ""


def requirement(*ids: str) -> Callable[[F], F]:
    """Mark a test with the ids of what it would catch if it broke."""
    # a mark returns what it decorates
    return pytest.mark.requirement(*ids)  # pyright: ignore[reportReturnType]


def known() -> dict[str, Requirement]:
    """Every id there is, in order; ValueError for a line that cannot be read."""
    return parsed(_FILE.read_text(encoding="utf-8"))


def parsed(text: str) -> dict[str, Requirement]:
    """The requirements of a text in the format of `requirement_ids.txt`."""
    found: dict[str, Requirement] = {}
    section = last = ""
    for line in text.splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line.startswith(_DEPARTS) and last and not found[last].departs:
            one = found[last]
            found[last] = Requirement(one.id, one.sentence, one.section, line[len(_DEPARTS) :])
        else:
            last, _, sentence = line.partition(" ")
            if not last or not sentence.strip() or last in found or last[0] != section[:1]:
                raise ValueError(f"requirement_ids.txt: {line!r} is not an id and what it says.")
            found[last] = Requirement(last, sentence, section)
    return found
