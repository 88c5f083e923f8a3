"""What a span of a question can mean, as data: fixed words, nouns of the schema, values, times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, TypeAlias

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
