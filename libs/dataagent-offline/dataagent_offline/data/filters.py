"""The conditions of a question: values, comparisons with numbers, spans of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dataagent_offline.data.intent import (
    FlagFilter,
    NumberFilter,
    ValueFilter,
)
from dataagent_offline.data.schema import label_columns
from dataagent_offline.data.segmentation import SpanList
from dataagent_offline.data.terms import (
    Noun,
    Period,
    QuestionError,
    QuestionSpan,
    ValueTerm,
    disjoint_periods,
    open_period,
    period_between,
)

_TO_SIGNS: Final = frozenset("-–—~～")
_SHORT_RANGES: Final = {"后": "gt", "前": "lt"}
"""`1990年后`; but `2023年前5名` is a rank."""
_AFTERWARDS: Final = frozenset({"以外", "之外"})


@dataclass(slots=True)
class Conditions:
    """What was found, and the nouns that only said which column a value is of."""

    values: list[ValueFilter] = field(default_factory=list[ValueFilter])
    numbers: list[NumberFilter] = field(default_factory=list[NumberFilter])
    flags: list[FlagFilter] = field(default_factory=list[FlagFilter])
    periods: list[Period] = field(default_factory=list[Period])
    having: tuple[str, float] | None = None
    counted: Noun | None = None
    mentioned: list[Noun] = field(default_factory=list[Noun])


def conditions_of(spans: SpanList, text: str) -> Conditions:
    """Take the conditions out of a sentence."""
    found = Conditions()
    _take_periods(spans, text, found)
    _take_ranges(spans, found)
    for position in spans.find("op"):
        _take_comparison(spans, position, found)
    _take_values(spans, found)
    _take_flags(spans, found)
    return found


# -- time ---------------------------------------------------------------------------------------


def _take_periods(spans: SpanList, text: str, found: Conditions) -> None:
    places = [position for position, item in enumerate(spans.items) if item.period]
    while places:
        position = places.pop(0)
        period = _period(spans, position)
        if places and _is_range(spans, position, places[0], text):
            last = places.pop(0)
            spans.use(*range(position, last + 1))
            period = period_between(period, _period(spans, last))
            spans.use(*(each for each in (position - 1,) if _is_opening(spans.at(each))))
        else:
            spans.use(position)
            period = _opened(spans, position, period)
        found.periods.append(period)
    found.periods = disjoint_periods(found.periods)


def _period(spans: SpanList, position: int) -> Period:
    period = spans.items[position].period
    if period is None:
        raise QuestionError("unplaced", spans.items[position].text)
    return period


def _is_opening(item: QuestionSpan | None) -> bool:
    """`between`, or the `从` of `从 … 到`."""
    return item is not None and (item.has("between") or item.value_of("range") == "ge")


def _is_range(spans: SpanList, first: int, last: int, text: str) -> bool:
    if last == first + 1:
        between = text[spans.items[first].end : spans.items[last].start].strip()
        return bool(between) and set(between) <= _TO_SIGNS
    if last != first + 2:
        return False
    link = spans.items[first + 1]
    if link.has("to") or link.value_of("range") == "le":
        return True
    before = spans.at(first - 1)
    return link.has("and") and bool(before and before.has("between"))


def _opened(spans: SpanList, position: int, period: Period) -> Period:
    """`since 2022`, `2022年以来`: the period, open at one end."""
    after, beyond = spans.at(position + 1), spans.at(position + 2)
    if after and after.text in _SHORT_RANGES and not (beyond and beyond.number is not None):
        spans.use(position + 1)
        return open_period(_SHORT_RANGES[after.text], period)
    for near in (position - 1, position + 1):
        item = spans.at(near)
        if item and item.has("range"):
            spans.use(near)
            again = position + 1 if near == position - 1 else near + 1
            if _says_the_same(item, spans.at(again)):  # 从2022年开始
                spans.use(again)
            return open_period(item.value_of("range"), period)
    return period


def _says_the_same(first: QuestionSpan, second: QuestionSpan | None) -> bool:
    """Whether two words open a time at the same end; `since 2022 before 2024` has two ends."""
    ends = [item.value_of("range")[:1] for item in (first, second) if item and item.has("range")]
    return len(ends) == 2 and len(set(ends)) == 1


# -- numbers ------------------------------------------------------------------------------------


def _take_ranges(spans: SpanList, found: Conditions) -> None:
    """`total between 5 and 10`."""
    for position in spans.find("between"):
        low, link, high = (spans.at(position + step) for step in (1, 2, 3))
        noun = _number_noun(spans, position - 1)
        if not (low and link and high and noun and link.has("and", "to")):
            raise QuestionError("unplaced", spans.items[position].text)
        if low.number is None or high.number is None:
            raise QuestionError("unplaced", spans.items[position].text)
        found.numbers.append(NumberFilter(noun, "ge", low.number))
        found.numbers.append(NumberFilter(noun, "le", high.number))
        spans.use(position - 1, position, position + 1, position + 2, position + 3)


def _take_comparison(spans: SpanList, position: int, found: Conditions) -> None:
    """`salary over 5000` is a filter, `more than 5 customers` a condition on the count."""
    operator, number_place = spans.items[position].value_of("op"), position + 1
    number = spans.at(number_place)
    if number is None or number.number is None:  # 5000以上, 5 or more
        number_place = position - 1
        number = spans.at(number_place)
    if number is None or number.number is None:
        raise QuestionError("unplaced", spans.items[position].text)
    first, last = min(position, number_place), max(position, number_place)
    if noun := _number_noun(spans, first - 1):
        if (before := spans.at(first - 2)) and before.has("agg"):
            found.having = (operator, number.number)
        else:
            found.numbers.append(NumberFilter(noun, operator, number.number))
            spans.use(first - 1)
    elif (item := spans.at(first - 1)) and item.has("measure"):
        found.having = (operator, number.number)
    elif noun := _number_noun(spans, last + 1):
        found.numbers.append(NumberFilter(noun, operator, number.number))
        spans.use(last + 1)
    elif (noun := spans.noun(last + 1)) and noun.tables:
        found.having, found.counted = (operator, number.number), noun
        spans.use(last + 1)
    else:
        raise QuestionError("unplaced", f"{spans.items[position].text} {number.text}")
    spans.use(position, number_place)


def _number_noun(spans: SpanList, position: int) -> Noun | None:
    noun = spans.noun(position)
    if noun is None or not spans.is_number(noun):
        return None
    return spans.numbers(noun)


# -- values -------------------------------------------------------------------------------------


def _take_values(spans: SpanList, found: Conditions) -> None:
    is_negated = False
    last = -2
    for position, item in enumerate(spans.items):
        if not item.values or position in spans.used:
            continue
        is_chained = last == position - 1 or (
            last == position - 2 and spans.items[position - 1].has("and", "compare")
        )
        is_negated = _takes_not(spans, position) or (is_negated and is_chained)
        everywhere = frozenset((term.table, term.column) for term in item.values)
        value = ValueFilter(item.text, item.values, is_negated, everywhere)
        found.values.append(_narrowed(spans, position, value, found))
        spans.use(position)
        last = position


def _take_flags(spans: SpanList, found: Conditions) -> None:
    """`active customers` are those with a yes; `by active` is a grouping."""
    for position, noun in list(spans.nouns()):
        flags, before = spans.flags(noun), spans.at(position - 1)
        if flags is None or (before and before.has("by", "distinct", "agg")):
            continue
        found.flags.append(FlagFilter(flags, _takes_not(spans, position)))
        spans.use(position)


def _takes_not(spans: SpanList, position: int) -> bool:
    """`not in Germany` before the value, `德国以外` after it."""
    before, after = spans.at(position - 1), spans.at(position + 1)
    nots = [position - 1] if before and before.has("not") else []
    if after and after.has("not") and after.text in _AFTERWARDS:
        nots.append(position + 1)
    spans.use(*nots)
    return bool(nots)


def _narrowed(spans: SpanList, position: int, value: ValueFilter, found: Conditions) -> ValueFilter:
    """The value as a neighbouring noun says which column or table it is of."""
    for near in (position - 1, position + 1):
        noun = spans.noun(near)
        if noun is None:
            continue
        columns = {(term.table, term.column) for term in noun.columns}
        own = [term for term in value.terms if (term.table, term.column) in columns]
        if own and not _is_marked(spans, near):
            spans.use(near)
            found.mentioned.append(noun)
            return replace(value, terms=tuple(own))
        tables = {term.table for term in noun.tables}
        own = [term for term in value.terms if term.table in tables]
        if own:
            if _is_name(spans, own) and not _is_marked(spans, near) and _has_other(spans):
                spans.use(near)
                found.mentioned.append(noun)
            return replace(value, terms=tuple(own))
    return value


def _is_marked(spans: SpanList, position: int) -> bool:
    """Whether the noun is grouped by or selected, and so more than a label of the value."""
    before = spans.at(position - 1)
    return bool(before and before.has("by", "which", "count", "list", "distinct", "take"))


def _is_name(spans: SpanList, terms: Sequence[ValueTerm]) -> bool:
    """Whether the value is what a row of its table is called: `genre Rock`, `playlist Music`."""
    tables = spans.schema.tables
    return all(term.column in label_columns(tables[term.table])[:1] for term in terms)


def _has_other(spans: SpanList) -> bool:
    """Whether something else is left to ask about."""
    return len(list(spans.nouns())) > 1 or bool(spans.find("measure"))
