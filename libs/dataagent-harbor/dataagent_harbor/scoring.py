"""Grades an answer: a question, its transcript and the run's tables become a verdict.

Each expectation of a question is a `Check`; the answer passes when all hold. A question without
expectations passes when it is answered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from dataagent_harbor.questions import Question
from dataagent_harbor.transcripts import FetchedTable, Transcript

_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-−–]?)\s?(?:[$€£¥]\s?)?"
    r"(?P<digits>\d{1,3}(?:[,\u00a0\u202f ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"\s?(?P<unit>[万亿]|[kKmM](?![\w])|%)?"
)
_UNITS = {"万": 1e4, "亿": 1e8, "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6}


def numbers_in(text: str) -> list[float]:
    """Every number of a text as people write them: 1,234.50, 1 234, 12万, 1.2亿, in order.

    A percentage counts as it is written, not as a share.
    """
    numbers: list[float] = []
    for match in _NUMBER.finditer(text):
        value = float(re.sub(r"[,\u00a0\u202f ]", "", match["digits"]))
        value *= _UNITS.get(match["unit"] or "", 1.0)
        numbers.append(-value if match["sign"] else value)
    return numbers


def is_near(found: float, expected: float, tolerance: float) -> bool:
    """Whether a number is the expected one within the tolerance and a float's precision."""
    return abs(found - expected) <= tolerance + 1e-9 * max(abs(found), abs(expected))


Cell = Any  # a JSON value
_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)
_DIGITS = 9
_MOST_WAYS = 2000  # of matching columns; real results need a handful


def has_order(sql: str) -> bool:
    """Whether the outermost statement orders its rows."""
    return _ORDERED.search(sql, sql.rfind(")") + 1) is not None


def same_rows(
    expected: Sequence[Sequence[Cell]], found: Sequence[Sequence[Cell]], *, is_ordered: bool
) -> bool:
    """Whether `found` has the rows of `expected`, however its statement was written.

    Names, order and further columns do not count; values do, and how often each row occurs. The
    order of rows counts if `is_ordered`.
    """
    if len(expected) != len(found):
        return False
    if not expected:
        return True
    wanted = [[_plain(cell) for cell in row] for row in expected]
    given = [[_plain(cell) for cell in row] for row in found]
    for number, places in enumerate(_column_matches(wanted, given)):
        if number > _MOST_WAYS:
            return False
        matched = [[row[place] for place in places] for row in given]
        if matched == wanted or (not is_ordered and _multiset(matched) == _multiset(wanted)):
            return True
    return False


def _column_matches(wanted: list[list[Cell]], given: list[list[Cell]]) -> Iterator[tuple[int, ...]]:
    """The ways to find each wanted column among the given ones, by their values."""
    bags = [_column(given, place) for place in range(len(given[0]))]
    fits = [
        [place for place, bag in enumerate(bags) if bag == _column(wanted, column)]
        for column in range(len(wanted[0]))
    ]

    def extend(column: int, taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if column == len(fits):
            yield taken
            return
        for place in fits[column]:
            if place not in taken:
                yield from extend(column + 1, (*taken, place))

    return extend(0, ())


def _column(rows: list[list[Cell]], place: int) -> Counter[Cell]:
    return Counter(row[place] if place < len(row) else None for row in rows)


def _multiset(rows: list[list[Cell]]) -> Counter[tuple[Cell, ...]]:
    return Counter(tuple(row) for row in rows)


def _plain(cell: Cell) -> Cell:
    """A cell as it is compared: numbers to nine digits, text without surrounding spaces."""
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, list | dict):
        return str(cell)  # pyright: ignore[reportUnknownArgumentType] JSON
    text = str(cell).strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite():
        return text
    return f"{number:.{_DIGITS - 1}e}" if number else "0"


Status = Literal["passed", "failed", "error", "timeout"]
STATUSES: tuple[Status, ...] = ("passed", "failed", "error", "timeout")
_REFUSING = re.compile(
    r"\b(can(?:not|'t|’t)|could not|couldn't|will not|won't|unable|not allowed|not permitted|"
    r"no permission|denied|refus\w+|not (?:something|able)|sorry|no such|"
    r"do(?:n't| not) (?:have|know))\b"
    r"|无法|不能|不允许|没有权限|拒绝|抱歉|不可以|不认识|不知道|我没有",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation, whether it was met, and what the answer had instead."""

    name: str
    is_met: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a question was answered."""

    status: Status
    checks: tuple[Check, ...] = ()
    matched_keywords: tuple[str, ...] = ()

    @property
    def reasons(self) -> list[str]:
        """The expectations that were not met, as people read them."""
        return [f"{each.name}: {each.detail}" for each in self.checks if not each.is_met]


def score(
    question: Question,
    transcript: Transcript,
    *,
    expected_rows: Sequence[Sequence[Any]] | None = None,
    tables: Sequence[FetchedTable] = (),
) -> Verdict:
    """The verdict. `expected_rows` are those of `expected_sql`, `tables` those of the run."""
    if transcript.end == "timeout":
        return Verdict("timeout", (Check("answered", is_met=False, detail=transcript.detail),))
    if transcript.end == "error":
        return Verdict("error", (Check("answered", is_met=False, detail=transcript.detail),))
    matched = tuple(word for word in question.expected_keywords if _has(transcript.answer, word))
    checks = (
        _answered(question, transcript),
        *_words(question, transcript, matched),
        *_rows(question, expected_rows, tables),
    )
    passed = all(each.is_met for each in checks)
    return Verdict("passed" if passed else "failed", checks, matched)


def _answered(question: Question, transcript: Transcript) -> Check:
    if question.must_refuse:
        refused = bool(transcript.failed_tools) or _REFUSING.search(transcript.answer) is not None
        is_met = refused and transcript.shown_rows == 0  # a query without rows is allowed
        shown = f", with {transcript.shown_rows} rows" if transcript.shown_rows else ""
        detail = "" if is_met else f"answered{shown}, although it must be refused"
        return Check("refuses", is_met, detail)
    return Check("answered", transcript.end == "answered", transcript.detail or transcript.end)


def _words(question: Question, transcript: Transcript, matched: tuple[str, ...]) -> Iterator[Check]:
    answer = transcript.answer
    missing = [word for word in question.expected_keywords if word not in matched]
    if question.expected_keywords:
        yield Check("keywords", not missing, f"not said: {', '.join(missing)}")
    if question.expected_pattern is not None:
        is_met = re.search(question.expected_pattern, answer) is not None
        yield Check("pattern", is_met, f"nothing matches {question.expected_pattern}")
    if question.expected_answer is not None:
        yield _figure(question.expected_answer, question.tolerance, answer)
    if question.expected_tool is not None:
        used = ", ".join(transcript.tools) or "none"
        is_met = question.expected_tool in transcript.tools
        yield Check("tool", is_met, f"{question.expected_tool} was not called, but {used}")


def _figure(expected: str | float, tolerance: float, answer: str) -> Check:
    if isinstance(expected, str):
        return Check("answer", _has(answer, expected), f"does not say {expected!r}")
    said = numbers_in(answer)
    is_met = any(is_near(number, expected, tolerance) for number in said)
    shown = ", ".join(f"{number:g}" for number in said[:8]) or "no number"
    return Check("answer", is_met, f"expected {expected:g} (± {tolerance:g}), it says {shown}")


def _rows(
    question: Question, expected: Sequence[Sequence[Any]] | None, tables: Sequence[FetchedTable]
) -> Iterator[Check]:
    if question.expected_sql is None:
        return
    if expected is None:
        yield Check("rows", is_met=False, detail="the expected statement gave no rows to compare")
        return
    is_ordered = has_order(question.expected_sql)
    is_met = any(same_rows(expected, each.rows, is_ordered=is_ordered) for each in tables)
    seen = ", ".join(str(len(each.rows)) for each in tables) or "no table"
    yield Check("rows", is_met, f"{len(expected)} rows expected; the answer's tables: {seen}")


def _has(answer: str, word: str) -> bool:
    """Whether the answer contains a word, or a number however it is written."""
    if word.casefold() in answer.casefold():
        return True
    try:
        number = float(word)
    except ValueError:
        return False
    return any(is_near(each, number, 0) for each in numbers_in(answer))
