"""No regular expression of ours takes time that grows faster than the text it is used on.

Texts are made from what an expression matches: a part of such a text is repeated, so that a run
that two parts of the expression could share becomes long.
"""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument, Unsatisfiable

from tests.superlinear.expressions import PACKAGES, Expression, expressions
from tests.superlinear.families import Family
from tests.superlinear.growth import steepest

SIZES = (512, 4_096, 32_768)
EXAMPLES = 300
HARMLESS = {
    "dataagent_core.data.figures.checking _WORD_BEFORE": "it is shown twenty characters",
}
UNMENDED: dict[str, str] = {}
"""Expressions that are slow still, and for what. One that is mended is taken out."""


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("package", PACKAGES)
def test_expressions_take_time_that_grows_with_the_text(package: str) -> None:
    wanted = [one for one in expressions(package) if one.place not in HARMLESS | UNMENDED]

    assert [found for one in wanted if (found := _slow(one))] == []


@pytest.mark.slow
def test_expressions_that_are_slow_still_are_known_by_their_places() -> None:
    places = {one.place for package in PACKAGES for one in expressions(package)}

    assert HARMLESS.keys() | UNMENDED.keys() <= places


def _slow(expression: Expression) -> str:
    """The first family that makes an expression slow; empty if none does."""
    for family in _some_families(expression):
        growth = steepest(lambda size, one=family: expression.read(one.text(size)), SIZES)
        if growth.is_superlinear:
            return f"{expression.place}: {family}, {growth}"
    return ""


def _some_families(expression: Expression) -> list[Family]:
    made: dict[Family, None] = {}

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(_families(expression.pattern))
    def make(family: Family) -> None:
        made[family] = None

    with suppress(InvalidArgument, Unsatisfiable):  # it matches no text, or no whole characters
        make()
    return list(made)


@st.composite
def _families(draw: st.DrawFn, pattern: re.Pattern[str] | re.Pattern[bytes]) -> Family:
    """A text that the expression matches, with a part of it repeated."""
    source, flags = pattern.pattern, pattern.flags
    if isinstance(source, bytes):
        source, flags = source.decode("latin-1"), flags & ~re.LOCALE
    text = draw(st.from_regex(re.compile(source, flags), fullmatch=draw(st.booleans())))
    begin = draw(st.integers(0, max(0, len(text) - 1)))
    end = min(len(text), begin + draw(st.integers(1, 2) | st.integers(1, max(1, len(text)))))
    begin = draw(st.sampled_from([begin, 0]))
    behind = draw(st.sampled_from(["", text[end:], "\x00", "a", " ", "\n!"]))
    return Family(text[:begin], text[begin:end] or " ", behind)
