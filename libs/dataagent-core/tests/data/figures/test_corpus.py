"""Figures of 181 answers over thirteen results: right ones pass, every planted error is caught.

Whether a changed number happens to be true of the results is decided here by plain search over
cells, counts, sums, means and medians, not by the code under test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

import pytest

from dataagent_core.data.figures import Figure, ResultTable, check_figures, find_figures

from .corpus import Answer, Span, answers

ANSWERS = answers()


@dataclass
class Tally:
    planted: int = 0
    caught: int = 0
    true_by_chance: int = 0
    missed: list[str] = field(default_factory=list[str])

    def add(self, answer: Answer, text: str, span: Span) -> None:
        """Count one planted error: caught, true of the results after all, or missed."""
        right = figures_at(answer.text, (span[0], span[0] + 1))
        self.planted += 1
        report = check_figures(text, answer.question, answer.results())
        start, end = span
        if any(start < one.figure.end and one.figure.start < end for one in report.unbacked):
            self.caught += 1
        elif any(is_true(figure, answer, right) for figure in figures_at(text, span)):
            self.true_by_chance += 1
        else:
            self.missed.append(f"{text[start:end]!r} in {text[:160]!r}")

    @property
    def recall(self) -> float:
        return self.caught / max(1, self.planted - self.true_by_chance)

    def __str__(self) -> str:
        return (
            f"{self.planted} planted, {self.caught} caught, {self.true_by_chance} true by chance, "
            f"{len(self.missed)} missed: recall {self.recall:.4f}"
        )


def figures_at(text: str, span: Span) -> list[Figure]:
    return [one for one in find_figures(text) if one.start < span[1] and span[0] < one.end]


def is_true(figure: Figure, answer: Answer, right: list[Figure]) -> bool:
    """Whether any number of the results, rounded to what the figure shows, reads the same.

    A hedged figure is also true when it is a coarser form of the right one: "about 1,880" of
    1,882, "over 41,200" of 41,258.
    """
    truth = [*truths(answer.results()), *(one.value for one in right if figure.hedge)]
    if figure.hedge == "over":
        return any(0 <= value - figure.value <= figure.step for value in truth)
    half = figure.step / 2
    wanted = figure.value / 100 if figure.kind == "percent" else figure.value
    near = half / 100 if figure.kind == "percent" else half
    return any(
        abs(value - exact) <= by
        for value in truth
        for sign in (1, -1)
        for exact, by in ((figure.value * sign, half), (wanted * sign, near))
    )


def truths(tables: list[ResultTable]) -> Iterator[Decimal]:
    for table in tables:
        yield Decimal(table.row_count)
        for cells in zip(*table.rows, strict=True):
            yield Decimal(len(set(cells)))
            numbers = sorted(
                Decimal(str(cell)) for cell in cells if isinstance(cell, int | float | Decimal)
            )
            if numbers:
                middle = len(numbers) // 2
                yield from numbers
                yield sum(numbers, Decimal(0))
                yield sum(numbers, Decimal(0)) / len(numbers)
                yield (numbers[middle] + numbers[-middle - 1]) / 2


def with_digits_changed(answer: Answer) -> Iterator[tuple[str, Span]]:
    """Every text that differs in one digit of one claim."""
    for start, end in answer.claims:
        for at in range(start, end):
            old = answer.text[at]
            digits = "０１２３４５６７８９" if old in "０１２３４５６７８９" else "0123456789"
            if old in digits:
                for new in digits.replace(old, ""):
                    yield answer.text[:at] + new + answer.text[at + 1 :], (start, end)


def replaced(answer: Answer, span: Span, by: str) -> tuple[str, Span]:
    start, end = span
    return answer.text[:start] + by + answer.text[end:], (start, start + len(by))


_OTHER_SCALE = {
    "万": "亿",
    "亿": "万",
    "k": "M",
    "M": "k",
    "bn": "M",
    "million": "billion",
    "billion": "million",
    "倍": "%",
    "x": "%",
    "%": "‰",
}


def with_wrong_scale(answer: Answer) -> Iterator[tuple[str, Span]]:
    for start, end in answer.claims:
        claim = answer.text[start:end]
        found = re.search("|".join(_OTHER_SCALE), claim)
        if found:
            yield replaced(answer, (start, end), claim.replace(found[0], _OTHER_SCALE[found[0]]))
        elif re.search(r"\d\d$", claim):
            yield replaced(answer, (start, end), f"{claim}万")
            yield replaced(answer, (start, end), f"{claim}0" if "." not in claim else f"{claim}万")


def with_neighbours_swapped(answer: Answer) -> Iterator[tuple[str, list[Span]]]:
    """Two claims of one answer, each at the other's place."""
    for (start, end), (after, last) in pairwise(answer.claims):
        one, two = answer.text[start:end], answer.text[after:last]
        if re.sub(r"\d", "0", one) == re.sub(r"\d", "0", two) and one != two:
            between = answer.text[end:after]
            text = answer.text[:start] + two + between + one + answer.text[last:]
            yield text, [(start, end), (after, last)]


def with_digits_transposed(answer: Answer) -> Iterator[tuple[str, Span]]:
    for start, end in answer.claims:
        claim = answer.text[start:end]
        for at in range(len(claim) - 1):
            pair = claim[at : at + 2]
            if re.fullmatch(r"\d\d", pair) and pair[0] != pair[1]:
                yield replaced(answer, (start, end), claim[:at] + pair[::-1] + claim[at + 2 :])


def with_rounding_off_by_one(answer: Answer) -> Iterator[tuple[str, Span]]:
    """The last digit shown is one too high or too low."""
    for start, end in answer.claims:
        claim = answer.text[start:end]
        found = re.search(r"\d(?!.*\d)", claim)
        if found:
            for by in (-1, 1):
                digit = str((int(found[0]) + by) % 10)
                changed = claim[: found.start()] + digit + claim[found.end() :]
                yield replaced(answer, (start, end), changed)


def test_corpus_has_answers_enough_in_both_languages() -> None:
    assert len(ANSWERS) >= 120
    assert sum(answer.language == "zh" for answer in ANSWERS) >= 50


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.text[:40])
def test_a_right_answer_has_exactly_its_claims_and_all_are_verified(answer: Answer) -> None:
    report = check_figures(answer.text, answer.question, answer.results())

    assert [one.figure.text for one in report.unbacked] == []
    assert [(one.figure.start, one.figure.end) for one in report.verified] == list(answer.claims)


@pytest.fixture(scope="module")
def digits() -> Iterator[Tally]:
    tally = Tally()
    yield tally
    print(f"\ndigits changed: {tally}")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(answer, id=answer.text[:40], marks=[] if i % 8 == 0 else pytest.mark.slow)
        for i, answer in enumerate(ANSWERS)
    ],
)
def test_every_changed_digit_is_caught(answer: Answer, digits: Tally) -> None:
    own = Tally()
    for text, span in with_digits_changed(answer):
        own.add(answer, text, span)
    digits.planted += own.planted
    digits.caught += own.caught
    digits.true_by_chance += own.true_by_chance
    assert own.missed == []
    assert own.true_by_chance <= max(1, own.planted / 5)


@pytest.mark.slow
def test_wrong_scale_rounding_and_transposed_digits_are_caught() -> None:
    for name, errors in (
        ("scale", with_wrong_scale),
        ("rounding", with_rounding_off_by_one),
        ("transposed", with_digits_transposed),
    ):
        tally = Tally()
        for answer in ANSWERS:
            for text, span in errors(answer):
                tally.add(answer, text, span)
        print(f"\n{name}: {tally}")
        assert tally.missed == []


def test_swapped_figures_are_mostly_caught() -> None:
    """Two figures that are both in the results, each said of the other's row."""
    planted = caught = 0
    for answer in ANSWERS:
        for text, spans in with_neighbours_swapped(answer):
            planted += 1
            report = check_figures(text, answer.question, answer.results())
            wrong = {(one.figure.start, one.figure.end) for one in report.unbacked}
            caught += bool(wrong & set(spans))
    print(f"\nswapped: {planted} planted, {caught} caught")
    assert planted >= 20
    assert caught / planted >= 0.6


def test_precision_and_recall_over_right_and_planted_figures() -> None:
    """Precision: of the figures flagged, how many are wrong. Recall: of the wrong, how many."""
    false_alarms = sum(
        len(check_figures(answer.text, answer.question, answer.results()).unbacked)
        for answer in ANSWERS
    )
    tally = Tally()
    for answer in ANSWERS:
        for text, span in with_rounding_off_by_one(answer):
            tally.add(answer, text, span)
    precision = tally.caught / (tally.caught + false_alarms)
    print(f"\nprecision {precision:.4f}, recall {tally.recall:.4f} ({false_alarms} false alarms)")
    assert precision >= 0.98
    assert tally.recall >= 0.98
