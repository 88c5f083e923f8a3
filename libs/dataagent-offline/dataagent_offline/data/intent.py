"""What a question asks, before it is known which columns hold the answer.

A follow-up changes some of it and keeps the rest (`merge_intents`); only then are columns chosen,
so that `what about employees?` can mean another table's column of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dataagent_offline.data.terms import (
    Aggregate,
    Bucket,
    Direction,
    Noun,
    Period,
    QuestionError,
    TableTerm,
    ValueTerm,
)


@dataclass(frozen=True, slots=True)
class Measure:
    """What is added up: `sales` and `units` wherever the schema has them, or a column."""

    kind: Literal["sales", "units", "column"]
    text: str
    noun: Noun | None = None
    is_traded: bool = False
    """Named by a verb alone: `which genre sells most`."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """What the answer is grouped by: a noun, a step of time, or a step of time of a noun's date."""

    text: str
    noun: Noun | None = None
    bucket: Bucket | None = None
    is_trader: bool = False
    """It is said to sell or to buy."""


@dataclass(frozen=True, slots=True)
class ValueFilter:
    """Only rows with this value, or without it."""

    text: str
    terms: tuple[ValueTerm, ...]
    is_negated: bool = False
    everywhere: frozenset[tuple[str, str]] = frozenset()
    """All columns that hold the value, also those a neighbouring noun ruled out."""

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """The columns that hold it."""
        return frozenset((term.table, term.column) for term in self.terms)


@dataclass(frozen=True, slots=True)
class NumberFilter:
    """Only rows whose column compares so with the number."""

    noun: Noun
    operator: str
    number: float

    @property
    def bounds(self) -> frozenset[tuple[str, str, str]]:
        """The columns it limits, each with the side: `gt` and `ge` limit from below."""
        side = self.operator[:1]
        return frozenset((term.table, term.column, side) for term in self.noun.columns)


@dataclass(frozen=True, slots=True)
class FlagFilter:
    """Only rows with a yes in the column, or only those without."""

    noun: Noun
    is_negated: bool = False

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """The columns that may be meant."""
        return frozenset((term.table, term.column) for term in self.noun.columns)


@dataclass(frozen=True, slots=True)
class Intent:
    """A question, whole."""

    aggregate: Aggregate | None = None
    measure: Measure | None = None
    counted: Noun | None = None
    listed: Noun | None = None
    dimensions: tuple[Dimension, ...] = ()
    values: tuple[ValueFilter, ...] = ()
    numbers: tuple[NumberFilter, ...] = ()
    flags: tuple[FlagFilter, ...] = ()
    periods: tuple[Period, ...] = ()
    date: Noun | None = None
    direction: Direction | None = None
    is_sorted_only: bool = False
    """`in descending order`: nothing is ranked, so names can be put in order, too."""
    limit: int | None = None
    is_single: bool = False
    """`which country`: the first alone, with all that share its place."""
    having: tuple[str, float] | None = None
    chart: str | None = None
    """A mark, `auto`, or `none` if a table was requested instead."""
    is_distinct: bool = False
    verb: str = ""
    verb_text: str = ""
    per_person: Noun | None = None
    """`人均`: the tables of people. An average over the rows of any other is not one a head."""
    contexts: tuple[Noun, ...] = ()
    cleared: tuple[Noun, ...] = ()
    """Nouns named with `all`: a follow-up lifts their filters."""

    @property
    def has_subject(self) -> bool:
        """Whether it says what is to be counted, added up or listed."""
        return bool(self.measure or self.counted or self.listed)

    @property
    def of_flags(self) -> Noun | None:
        """`How many are active?` as a count of the rows of the tables with such a column."""
        if self.has_subject or self.aggregate != "count" or not self.flags:
            return None
        flag = self.flags[0]
        tables = dict.fromkeys(term.table for term in flag.noun.columns)
        return Noun(flag.noun.text, tuple(TableTerm(table, 4) for table in tables))


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question: what it says, and whether it builds on the one before."""

    intent: Intent
    is_follow_up: bool


def merge_intents(before: Intent, now: Intent) -> Intent:
    """The earlier question as a follow-up changes it."""
    earlier = _with_subject(before, now)
    dimensions = now.dimensions or earlier.dimensions
    is_regrouped = bool(now.dimensions) and now.dimensions != earlier.dimensions
    limit = now.limit or (None if is_regrouped else earlier.limit)
    if (now.limit or now.direction) and not dimensions and not earlier.listed:
        raise QuestionError("nothing_to_rank")
    return replace(
        earlier,
        dimensions=dimensions,
        values=_values(earlier, now),
        numbers=_numbers(earlier, now),
        flags=_flags(earlier, now),
        periods=now.periods or earlier.periods,
        date=now.date or earlier.date,
        direction=now.direction or earlier.direction,
        is_sorted_only=now.is_sorted_only if now.direction else earlier.is_sorted_only,
        limit=limit,
        is_single=now.is_single if now.limit else earlier.is_single and limit is not None,
        having=now.having or earlier.having,
        chart=now.chart or earlier.chart,
        is_distinct=now.is_distinct or earlier.is_distinct,
        verb=now.verb or earlier.verb,
        verb_text=now.verb_text or earlier.verb_text,
        per_person=now.per_person or earlier.per_person,
        contexts=(*earlier.contexts, *now.contexts),
        cleared=(),
    )


def _with_subject(before: Intent, now: Intent) -> Intent:
    if now.measure:
        aggregate = now.aggregate or (before.aggregate if before.measure else None)
        return replace(before, measure=now.measure, aggregate=aggregate, counted=None, listed=None)
    if now.counted:
        return replace(before, counted=now.counted, aggregate="count", measure=None, listed=None)
    if now.listed and (now.values or now.periods or now.dimensions):
        return replace(before, contexts=(*before.contexts, now.listed))
    if now.listed:
        return _with_noun(before, now.listed)
    return _with_aggregate(before, now.aggregate) if now.aggregate else before


def _with_aggregate(before: Intent, aggregate: Aggregate) -> Intent:
    """`And the average?` of the same measure; `how many?` of what was listed."""
    if aggregate == "count" and before.listed:
        return replace(before, aggregate="count", counted=before.listed, listed=None)
    if (aggregate == "count") != (before.measure is None):
        raise QuestionError("no_measure")
    return replace(before, aggregate=aggregate)


def _with_noun(before: Intent, noun: Noun) -> Intent:
    """`What about employees?`: the noun takes the place of what was counted or listed."""
    if before.counted:
        return replace(before, counted=noun, contexts=())
    if before.listed:
        return replace(before, listed=noun, contexts=())
    raise QuestionError("unplaced", noun.text)


def _numbers(before: Intent, now: Intent) -> tuple[NumberFilter, ...]:
    """A new limit takes the place of the earlier one on that side: `over 10`, then `over 5`."""
    lifted = frozenset(bound for number in now.numbers for bound in number.bounds)
    return (*(each for each in before.numbers if not each.bounds & lifted), *now.numbers)


def _flags(before: Intent, now: Intent) -> tuple[FlagFilter, ...]:
    """`And how many are not active?` takes the place of `active`."""
    lifted = frozenset(position for flag in now.flags for position in flag.places)
    return (*(each for each in before.flags if not each.places & lifted), *now.flags)


def _values(before: Intent, now: Intent) -> tuple[ValueFilter, ...]:
    """New values take the place of earlier ones of the same columns; so does a new grouping."""
    lifted = {(term.table, term.column) for noun in now.cleared for term in noun.columns}
    for noun in now.cleared:
        tables = {term.table for term in noun.tables}
        lifted |= {
            position for each in before.values for position in each.places if position[0] in tables
        }
    for noun in (each.noun for each in now.dimensions if each.noun):
        lifted |= {(term.table, term.column) for term in noun.columns}
    for value in now.values:
        lifted |= value.places
    return (*(value for value in before.values if not value.places & lifted), *now.values)
