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
from dataagent_offline.data.labels import label_columns
from dataagent_offline.data.sentence import Sentence
from dataagent_offline.data.terms import Item, Noun, Period, Trouble, ValueTerm
from dataagent_offline.data.times import open_span, reconciled, span

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


def conditions_of(sentence: Sentence, text: str) -> Conditions:
    """Take the conditions out of a sentence."""
    found = Conditions()
    _take_periods(sentence, text, found)
    _take_ranges(sentence, found)
    for place in sentence.find("op"):
        _take_comparison(sentence, place, found)
    _take_values(sentence, found)
    _take_flags(sentence, found)
    return found


# -- time ---------------------------------------------------------------------------------------


def _take_periods(sentence: Sentence, text: str, found: Conditions) -> None:
    places = [place for place, item in enumerate(sentence.items) if item.period]
    while places:
        place = places.pop(0)
        period = _period(sentence, place)
        if places and _is_range(sentence, place, places[0], text):
            last = places.pop(0)
            sentence.use(*range(place, last + 1))
            period = span(period, _period(sentence, last))
            sentence.use(*(each for each in (place - 1,) if _is_opening(sentence.at(each))))
        else:
            sentence.use(place)
            period = _opened(sentence, place, period)
        found.periods.append(period)
    found.periods = reconciled(found.periods)


def _period(sentence: Sentence, place: int) -> Period:
    period = sentence.items[place].period
    if period is None:
        raise Trouble("unplaced", sentence.items[place].text)
    return period


def _is_opening(item: Item | None) -> bool:
    """`between`, or the `从` of `从 … 到`."""
    return item is not None and (item.has("between") or item.value_of("range") == "ge")


def _is_range(sentence: Sentence, first: int, last: int, text: str) -> bool:
    if last == first + 1:
        between = text[sentence.items[first].end : sentence.items[last].start].strip()
        return bool(between) and set(between) <= _TO_SIGNS
    if last != first + 2:
        return False
    link = sentence.items[first + 1]
    if link.has("to") or link.value_of("range") == "le":
        return True
    before = sentence.at(first - 1)
    return link.has("and") and bool(before and before.has("between"))


def _opened(sentence: Sentence, place: int, period: Period) -> Period:
    """`since 2022`, `2022年以来`: the period, open at one end."""
    after, beyond = sentence.at(place + 1), sentence.at(place + 2)
    if after and after.text in _SHORT_RANGES and not (beyond and beyond.number is not None):
        sentence.use(place + 1)
        return open_span(_SHORT_RANGES[after.text], period)
    for near in (place - 1, place + 1):
        item = sentence.at(near)
        if item and item.has("range"):
            sentence.use(near)
            again = place + 1 if near == place - 1 else near + 1
            if _says_the_same(item, sentence.at(again)):  # 从2022年开始
                sentence.use(again)
            return open_span(item.value_of("range"), period)
    return period


def _says_the_same(first: Item, second: Item | None) -> bool:
    """Whether two words open a time at the same end; `since 2022 before 2024` has two ends."""
    ends = [item.value_of("range")[:1] for item in (first, second) if item and item.has("range")]
    return len(ends) == 2 and len(set(ends)) == 1


# -- numbers ------------------------------------------------------------------------------------


def _take_ranges(sentence: Sentence, found: Conditions) -> None:
    """`total between 5 and 10`."""
    for place in sentence.find("between"):
        low, link, high = (sentence.at(place + step) for step in (1, 2, 3))
        noun = _number_noun(sentence, place - 1)
        if not (low and link and high and noun and link.has("and", "to")):
            raise Trouble("unplaced", sentence.items[place].text)
        if low.number is None or high.number is None:
            raise Trouble("unplaced", sentence.items[place].text)
        found.numbers.append(NumberFilter(noun, "ge", low.number))
        found.numbers.append(NumberFilter(noun, "le", high.number))
        sentence.use(place - 1, place, place + 1, place + 2, place + 3)


def _take_comparison(sentence: Sentence, place: int, found: Conditions) -> None:
    """`salary over 5000` is a filter, `more than 5 customers` a condition on the count."""
    operator, number_place = sentence.items[place].value_of("op"), place + 1
    number = sentence.at(number_place)
    if number is None or number.number is None:  # 5000以上, 5 or more
        number_place = place - 1
        number = sentence.at(number_place)
    if number is None or number.number is None:
        raise Trouble("unplaced", sentence.items[place].text)
    first, last = min(place, number_place), max(place, number_place)
    if noun := _number_noun(sentence, first - 1):
        if (before := sentence.at(first - 2)) and before.has("agg"):
            found.having = (operator, number.number)
        else:
            found.numbers.append(NumberFilter(noun, operator, number.number))
            sentence.use(first - 1)
    elif (item := sentence.at(first - 1)) and item.has("measure"):
        found.having = (operator, number.number)
    elif noun := _number_noun(sentence, last + 1):
        found.numbers.append(NumberFilter(noun, operator, number.number))
        sentence.use(last + 1)
    elif (noun := sentence.noun(last + 1)) and noun.tables:
        found.having, found.counted = (operator, number.number), noun
        sentence.use(last + 1)
    else:
        raise Trouble("unplaced", f"{sentence.items[place].text} {number.text}")
    sentence.use(place, number_place)


def _number_noun(sentence: Sentence, place: int) -> Noun | None:
    noun = sentence.noun(place)
    if noun is None or not sentence.is_number(noun):
        return None
    return sentence.numbers(noun)


# -- values -------------------------------------------------------------------------------------


def _take_values(sentence: Sentence, found: Conditions) -> None:
    is_negated = False
    last = -2
    for place, item in enumerate(sentence.items):
        if not item.values or place in sentence.used:
            continue
        is_chained = last == place - 1 or (
            last == place - 2 and sentence.items[place - 1].has("and", "compare")
        )
        is_negated = _takes_not(sentence, place) or (is_negated and is_chained)
        everywhere = frozenset((term.table, term.column) for term in item.values)
        value = ValueFilter(item.text, item.values, is_negated, everywhere)
        found.values.append(_narrowed(sentence, place, value, found))
        sentence.use(place)
        last = place


def _take_flags(sentence: Sentence, found: Conditions) -> None:
    """`active customers` are those with a yes; `by active` is a grouping."""
    for place, noun in list(sentence.nouns()):
        flags, before = sentence.flags(noun), sentence.at(place - 1)
        if flags is None or (before and before.has("by", "distinct", "agg")):
            continue
        found.flags.append(FlagFilter(flags, _takes_not(sentence, place)))
        sentence.use(place)


def _takes_not(sentence: Sentence, place: int) -> bool:
    """`not in Germany` before the value, `德国以外` after it."""
    before, after = sentence.at(place - 1), sentence.at(place + 1)
    nots = [place - 1] if before and before.has("not") else []
    if after and after.has("not") and after.text in _AFTERWARDS:
        nots.append(place + 1)
    sentence.use(*nots)
    return bool(nots)


def _narrowed(sentence: Sentence, place: int, value: ValueFilter, found: Conditions) -> ValueFilter:
    """The value as a neighbouring noun says which column or table it is of."""
    for near in (place - 1, place + 1):
        noun = sentence.noun(near)
        if noun is None:
            continue
        columns = {(term.table, term.column) for term in noun.columns}
        own = [term for term in value.terms if (term.table, term.column) in columns]
        if own and not _is_marked(sentence, near):
            sentence.use(near)
            found.mentioned.append(noun)
            return replace(value, terms=tuple(own))
        tables = {term.table for term in noun.tables}
        own = [term for term in value.terms if term.table in tables]
        if own:
            if _is_name(sentence, own) and not _is_marked(sentence, near) and _has_other(sentence):
                sentence.use(near)
                found.mentioned.append(noun)
            return replace(value, terms=tuple(own))
    return value


def _is_marked(sentence: Sentence, place: int) -> bool:
    """Whether the noun is grouped by or asked for, and so more than a label of the value."""
    before = sentence.at(place - 1)
    return bool(before and before.has("by", "which", "count", "list", "distinct", "take"))


def _is_name(sentence: Sentence, terms: Sequence[ValueTerm]) -> bool:
    """Whether the value is what a row of its table is called: `genre Rock`, `playlist Music`."""
    tables = sentence.schema.tables
    return all(term.column in label_columns(tables[term.table])[:1] for term in terms)


def _has_other(sentence: Sentence) -> bool:
    """Whether something else is left to ask about."""
    return len(list(sentence.nouns())) > 1 or bool(sentence.find("measure"))
