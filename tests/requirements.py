"""What each test proves: the `requirement` mark and the ids that must have one.

A test says `@requirement("R3.4", "P7")`; `tests/test_requirements.py` fails when an id that is
required has no test that names it, or a test names an id that does not exist. The ids and what they
say are lines of `tests/requirement_ids.txt`: R for requirements, P for properties, G for
guarantees, B for the binding of tools to agents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

F = TypeVar("F", bound=Callable[..., object])


def requirement(*ids: str) -> Callable[[F], F]:
    """Mark a test with the ids of what it would catch if it broke."""
    return pytest.mark.requirement(*ids)  # pyright: ignore[reportReturnType] a mark returns what it decorates


def known() -> dict[str, str]:
    """Every id there is, with one line that says what it asks for."""
    lines = Path(__file__).with_name("requirement_ids.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", maxsplit=1) for line in lines)


REQUIRED_GROUPS = [
    *(f"R{number}" for number in [*range(1, 15), 17, 18, 19, 22, 24, 25, 26, 32, 33, 34, 35]),
    *(f"P{number}" for number in [*range(1, 23), *range(26, 32), *range(36, 47)]),
    *(f"G{number}" for number in [*range(1, 13), 14, 15, 16, 17]),
    *(f"B{number}" for number in range(1, 9)),
]
"""Built, so they must have tests: `R3` stands for all criteria of R3. A part that is built later
adds its ids here in the same change."""


def required() -> Iterator[str]:
    """The ids that must be named by a test."""
    groups = set(REQUIRED_GROUPS)
    return (one for one in known() if one.split(".")[0] in groups)
