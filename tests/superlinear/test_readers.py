"""Nothing that reads text from outside takes time that grows faster than the text."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.superlinear.families import Family, families
from tests.superlinear.growth import steepest
from tests.superlinear.targets import TARGETS, UNMENDED, Target

FEW = 8
MANY = 150
SHOWN = 3


def _marks(target: Target) -> list[pytest.MarkDecorator]:
    why = UNMENDED.get(target.name)
    reason = f"{why}. If it passes now, take it out of UNMENDED."
    return [] if why is None else [pytest.mark.xfail(strict=True, reason=reason)]


EVERY_TARGET = pytest.mark.parametrize(
    "target", [pytest.param(one, id=one.name, marks=_marks(one)) for one in TARGETS]
)


def _slow_families(target: Target, *, count: int) -> Iterator[str]:
    """The families for which a reader is superlinear."""
    made = families(target.tokens, count=count, seed=target.name, frames=target.frames)
    for family in (*target.known, *made):
        read = functools.partial(_read, target, family)
        growth = steepest(read, target.sizes)
        if growth.is_superlinear:
            size = f"8 times {growth.size:,} characters"
            yield f"{family}: {growth.ratio:.0f} times as long for {size}"


def _read(target: Target, family: Family, size: int) -> None:
    target.read(family.text(size))


@EVERY_TARGET
def test_a_reader_takes_time_that_grows_with_its_text(target: Target) -> None:
    assert next(_slow_families(target, count=FEW), None) is None


@pytest.mark.slow
@EVERY_TARGET
def test_a_long_hunt_finds_no_text_that_makes_a_reader_slow(target: Target) -> None:
    assert list(islice(_slow_families(target, count=MANY), SHOWN)) == []
