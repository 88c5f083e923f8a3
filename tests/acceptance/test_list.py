"""The list of statements is well formed."""

from __future__ import annotations

from collections import Counter

from tests.acceptance.states import lines


def test_every_statement_is_listed_once() -> None:
    counted = Counter((line.place, line.stated) for line in lines())
    assert [one for one, times in counted.items() if times > 1] == []


def test_no_statement_is_empty() -> None:
    assert [line for line in lines() if not line.place.strip() or not line.stated.strip()] == []
