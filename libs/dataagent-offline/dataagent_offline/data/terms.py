"""What a span of a question can mean: fixed words, nouns of the schema, values, times.

Times (years, quarters, months and days) have an exact start and end. Nothing is relative to today,
so the same question always means the same days.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Final, Literal, TypeAlias

Role: TypeAlias = Literal[
    "agg", "all", "and", "ask", "between", "bucket", "by", "chart", "compare", "count",
    "distinct", "extreme", "follow", "how_much", "list", "measure", "noise", "not", "op", "order",
    "people", "range", "refused", "schema", "table_format", "take", "to", "trade", "trend", "verb",
    "which", "with",
]  # fmt: skip
Aggregate: TypeAlias = Literal["count", "sum", "avg", "min", "max"]
Bucket: TypeAlias = Literal["day", "month", "quarter", "year"]
Direction: TypeAlias = Literal["asc", "desc"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word with a fixed part in a question."""

    role: Role
    value: str = ""


@dataclass(frozen=True, slots=True)
class TableTerm:
    """A table the word may stand for. Quality: 4 its own name, 3 a synonym, 2 a part of it."""

    table: str
    quality: int


@dataclass(frozen=True, slots=True)
class ColumnTerm:
    """A column the word may stand for; qualities as for tables."""

    table: str
    column: str
    quality: int


@dataclass(frozen=True, slots=True)
class ValueTerm:
    """A value the word may stand for, as it is stored."""

    table: str
    column: str
    value: str
    is_title: bool = False
    """The name of one row among many: a word in passing is hardly meant as one."""


@dataclass(frozen=True, slots=True)
class Noun:
    """A word of the schema, with everything it may stand for."""

    text: str
    tables: tuple[TableTerm, ...] = ()
    columns: tuple[ColumnTerm, ...] = ()
    is_plural: bool = False

    def narrowed(self, columns: tuple[ColumnTerm, ...]) -> Noun:
        """The same word for these columns only."""
        return replace(self, tables=(), columns=columns)


@dataclass(frozen=True, slots=True)
class Period:
    """A span of time, `start` included, `end` not; None is open."""

    start: date | None
    end: date | None
    label: str
    bucket: Bucket = "year"
    is_bare_number: bool = False


@dataclass(frozen=True, slots=True)
class QuestionSpan:
    """A span of the question and what it can mean. Nothing at all: the span is not understood."""

    text: str
    start: int
    end: int
    words: tuple[Word, ...] = ()
    noun: Noun | None = None
    values: tuple[ValueTerm, ...] = ()
    lookups: tuple[str, ...] = ()
    """Spellings under which a value that is not in the samples may be stored."""
    period: Period | None = None
    number: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether it means anything."""
        return bool(
            self.words or self.noun or self.values or self.period or self.number is not None
        )

    def has(self, *roles: Role) -> bool:
        """Whether one of its fixed meanings is one of these."""
        return any(word.role in roles for word in self.words)

    def value_of(self, role: Role) -> str:
        """What the fixed meaning of that role says."""
        return next((word.value for word in self.words if word.role == role), "")


class QuestionError(Exception):
    """Why a question is not answered: a kind, and the words of the question it is about."""

    def __init__(self, kind: str, *about: str) -> None:
        super().__init__(kind, *about)
        self.kind = kind
        self.about = about


_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH: Final = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR: Final = r"(?<![\d.,])(?P<year>(?:19|20)\d{2})"
_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3,
                    "4th": 4, "一": 1, "二": 2, "三": 3, "四": 4}  # fmt: skip
_QUARTER_NAME: Final = r"(?P<quarter>first|second|third|fourth|1st|2nd|3rd|4th)"


@dataclass(frozen=True, slots=True)
class TimeMatch:
    """A time and where it stands in the text."""

    start: int
    end: int
    period: Period


_Maker: TypeAlias = Callable[["re.Match[str]"], Period | None]


def find_times(text: str) -> list[TimeMatch]:
    """All times of a text, in order; none overlaps another."""
    found: list[TimeMatch] = []
    for pattern, make in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < other.end and other.start < match.end() for other in found):
                continue
            if (period := make(match)) is not None:
                found.append(TimeMatch(match.start(), match.end(), period))
    return sorted(found, key=lambda each: each.start)


def period_between(first: Period, last: Period) -> Period:
    """From the start of one to the end of the other."""
    return Period(first.start, last.end, f"{first.label} – {last.label}", first.bucket)


def open_period(operator: str, period: Period) -> Period:
    """`ge`: from its start on; `gt`: after its end; `lt`: before its start; `le`: to its end."""
    match operator:
        case "ge":
            return Period(period.start, None, f"≥ {period.label}", period.bucket)
        case "gt":
            return Period(period.end, None, f"> {period.label}", period.bucket)
        case "lt":
            return Period(None, period.start, f"< {period.label}", period.bucket)
        case _:
            return Period(None, period.end, f"≤ {period.label}", period.bucket)


def disjoint_periods(periods: Iterable[Period]) -> list[Period]:
    """The times of a question, each apart from the others.

    `after 2021 and before 2024` is the time between: either alone would be no limit at all.
    `QuestionError` if others overlap: a total of 2023 and its first quarter is none that is asked
    for.
    """
    found = list(dict.fromkeys(periods))
    opening = [each for each in found if each.end is None]
    closing = [each for each in found if each.start is None]
    if len(opening) == len(closing) == 1 and _overlap(opening[0], closing[0]):
        both = [each for each in found if each in (opening[0], closing[0])]
        label = ", ".join(each.label for each in both)
        found = [each for each in found if each not in both]
        found.append(Period(opening[0].start, closing[0].end, label, opening[0].bucket))
    by_start = sorted(found, key=lambda each: each.start or date.min)
    if any(_overlap(first, second) for first, second in pairwise(by_start)):
        raise QuestionError("several", *(each.label for each in found))
    return found


def _overlap(first: Period, second: Period) -> bool:
    return (first.start or date.min) < (second.end or date.max) and (second.start or date.min) < (
        first.end or date.max
    )


def _day(match: re.Match[str]) -> Period | None:
    month = int(match["month"]) if "month" in match.re.groupindex else _month_number(match["name"])
    try:
        start = date(int(match["year"]), month, int(match["day"]))
    except ValueError:
        return None
    return Period(start, start + timedelta(days=1), start.isoformat(), "day")


def _month(match: re.Match[str]) -> Period | None:
    month = int(match["month"]) if "month" in match.re.groupindex else _month_number(match["name"])
    return _months(int(match["year"]), month, 1, "month")


def _quarter(match: re.Match[str]) -> Period | None:
    quarter = _ORDINALS.get(match["quarter"].lower()) or int(match["quarter"])
    period = _months(int(match["year"]), quarter * 3 - 2, 3, "quarter")
    return period and Period(period.start, period.end, f"{match['year']} Q{quarter}", "quarter")


def _half(match: re.Match[str]) -> Period | None:
    is_first = match["half"] in {"上", "1"}
    period = _months(int(match["year"]), 1 if is_first else 7, 6, "month")
    return period and Period(period.start, period.end, f"{match['year']} H{2 - is_first}", "month")


def _year(match: re.Match[str]) -> Period:
    year = int(match["year"])
    is_bare = match[0] == match["year"]
    return Period(date(year, 1, 1), date(year + 1, 1, 1), str(year), "year", is_bare)


def _months(year: int, month: int, count: int, bucket: Bucket) -> Period | None:
    if not 1 <= month <= 12:
        return None
    last = month + count - 1
    end = date(year + last // 12, last % 12 + 1, 1)
    return Period(date(year, month, 1), end, f"{year}-{month:02d}", bucket)


def _month_number(name: str) -> int:
    return next(
        number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3].lower())
    )


def _compiled(*rows: tuple[str, _Maker]) -> Iterator[tuple[re.Pattern[str], _Maker]]:
    for source, make in rows:
        yield re.compile(source, re.IGNORECASE), make


_PATTERNS: Final = tuple(
    _compiled(
        (rf"{_YEAR}[-/](?P<month>\d{{1,2}})[-/](?P<day>\d{{1,2}})(?!\d)", _day),
        (rf"{_YEAR}年(?P<month>\d{{1,2}})月(?P<day>\d{{1,2}})[日号]?", _day),
        (rf"\b{_MONTH}\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s{_YEAR}(?!\d)", _day),
        (rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH},?\s{_YEAR}(?!\d)", _day),
        (rf"{_YEAR}年?第?(?P<quarter>[一二三四1-4])季度?", _quarter),
        (rf"{_YEAR}[\s-]?Q(?P<quarter>[1-4])(?!\d)", _quarter),
        (rf"\bQ(?P<quarter>[1-4])[\s,-]{{0,2}}(?:of\s)?{_YEAR}(?!\d)", _quarter),
        (rf"\b{_QUARTER_NAME} quarter (?:of |in )?{_YEAR}(?!\d)", _quarter),
        (rf"{_YEAR}年?(?P<half>[上下])半年", _half),
        (rf"\bH(?P<half>[12])\s?{_YEAR}(?!\d)", _half),
        (rf"{_YEAR}年(?P<month>\d{{1,2}})月份?", _month),
        (rf"{_YEAR}[-/](?P<month>\d{{1,2}})(?![\d-])", _month),
        (rf"\b{_MONTH},?\s(?:of\s)?{_YEAR}(?!\d)", _month),
        (rf"(?:\b(?:the\s)?year\s)?{_YEAR}年(?:份|度|全年)?", _year),
        (rf"\b(?:the\s)?year\s{_YEAR}(?![\d.,]\d|\d)", _year),
        (rf"{_YEAR}(?![\d]|[.,]\d)", _year),
    )
)
