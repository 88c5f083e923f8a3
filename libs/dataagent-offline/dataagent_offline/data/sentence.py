"""A reading on its way to an intent: spans with one meaning each, and which are accounted for.

A span with several meanings gets the one that fits its neighbours. What stays unused at the end
was not understood, and `parse` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dataagent_offline.data.flags import yes_values
from dataagent_offline.data.reading import Reading
from dataagent_offline.data.schema import Schema
from dataagent_offline.data.terms import Item, Noun, Role
from dataagent_offline.data.words import has_han

_SILENT: tuple[Role, ...] = ("noise", "all", "and", "ask", "with", "to", "list", "follow")
"""Roles that give way to a noun written the same."""


@dataclass(slots=True)
class Sentence:
    """The spans that carry meaning, in order."""

    items: list[Item]
    schema: Schema
    used: set[int] = field(default_factory=set[int])

    def find(self, *roles: Role) -> list[int]:
        """Where unused words of these roles stand."""
        return [
            place
            for place, item in enumerate(self.items)
            if place not in self.used and item.has(*roles)
        ]

    def use(self, *places: int) -> None:
        """Account for spans."""
        self.used.update(places)

    def at(self, place: int) -> Item | None:
        """The span there, if it is one that is not yet used."""
        if 0 <= place < len(self.items) and place not in self.used:
            return self.items[place]
        return None

    def noun(self, place: int) -> Noun | None:
        """The unused noun there."""
        item = self.at(place)
        return item.noun if item else None

    def nouns(self) -> Iterator[tuple[int, Noun]]:
        """All unused nouns."""
        for place, item in enumerate(self.items):
            if item.noun and place not in self.used and not item.has("bucket"):
                yield place, item.noun

    def is_number(self, noun: Noun) -> bool:
        """Whether the noun is first of all a column of numbers that can be added up."""
        return bool(self.numbers(noun)) and not any(
            term.quality > max(each.quality for each in noun.columns) for term in noun.tables
        )

    def numbers(self, noun: Noun) -> Noun | None:
        """The noun as its columns of numbers, keys left out; None if it has none."""
        columns = tuple(
            term
            for term in noun.columns
            if self.schema.column(term.table, term.column).kind == "number"
            and not self.schema.tables[term.table].is_key(term.column)
        )
        return noun.narrowed(columns) if columns else None

    def flags(self, noun: Noun) -> Noun | None:
        """The noun as its columns that say yes or no; None if it is anything else as well."""
        best = best_quality(noun)
        columns = tuple(term for term in noun.columns if term.quality == best)
        if best < 3 or not columns or any(term.quality == best for term in noun.tables):
            return None
        are_flags = all(
            yes_values(self.schema.column(term.table, term.column), self.schema.dialect)
            for term in columns
        )
        return noun.narrowed(columns) if are_flags else None

    def dates(self, noun: Noun) -> Noun | None:
        """The noun as its columns of dates; None if it has none, or is a table first of all."""
        tables = max((term.quality for term in noun.tables), default=0)
        columns = tuple(
            term
            for term in noun.columns
            if self.schema.column(term.table, term.column).kind == "date" and term.quality > tables
        )
        return noun.narrowed(columns) if columns else None


def sentence_of(reading: Reading, schema: Schema) -> Sentence:
    """The spans that mean something, each with the meaning that fits its neighbours."""
    known = [item for item in reading.items if item.is_known]
    sentence = Sentence(known, schema)
    items = [_resolved(sentence, place) for place in range(len(known))]
    return Sentence([item for item in items if not item.has("noise")], schema)


def _resolved(sentence: Sentence, place: int) -> Item:
    item = sentence.items[place]
    if item.period:
        return _number_or_time(sentence, place)
    if item.number is not None and item.words:
        item = replace(item, words=())
    if item.noun and item.values:
        is_partial = best_quality(item.noun) < 3
        item = replace(item, noun=None) if is_partial else replace(item, values=())
    if item.words and item.values:
        return _word_or_value(sentence, item)
    if item.words and item.noun:
        return _word_or_noun(sentence, place, item, item.noun)
    return item


def _number_or_time(sentence: Sentence, place: int) -> Item:
    """`more than 2000` is a number, `in 2000` a year."""
    item = sentence.items[place]
    before = sentence.items[place - 1] if place else None
    is_compared = bool(before and before.has("op"))
    if item.period and item.period.is_bare_number and is_compared:
        return replace(item, period=None, number=float(item.period.label))
    return item


def _word_or_value(sentence: Sentence, item: Item) -> Item:
    """`employees in Sales`: with something else to count, the word is a value; so is `OR`."""
    has_other_subject = any(
        other is not item and other.has("count", "people", "agg") for other in sentence.items
    )
    is_code = item.text.isupper() and any(term.value == item.text for term in item.values)
    if is_code or item.has("refused") or (item.has("measure") and has_other_subject):
        return replace(item, words=())
    return replace(item, values=())


def _word_or_noun(sentence: Sentence, place: int, item: Item, noun: Noun) -> Item:
    is_noun = best_quality(noun) >= 3
    if item.has("bucket"):
        return item if is_noun else replace(item, noun=None)
    if item.has("agg"):
        is_noun = is_noun and _is_total_a_column(sentence, place)
    elif item.has("count"):
        is_noun = is_noun and not _follows_a_table(sentence, place)
    elif item.has("measure"):
        counts = any(other.has("count") for other in sentence.items)
        is_counted = bool(noun.tables) or sentence.flags(noun) is not None
        is_noun = is_noun and (sentence.is_number(noun) or (counts and is_counted))
    elif item.has("verb") or item.value_of("noise") == "classifier":
        is_noun = is_noun and bool(noun.tables) and not has_han(item.text)
    elif not item.has("refused", *_SILENT):
        is_noun = False
    return replace(item, words=()) if is_noun else replace(item, noun=None)


def _is_total_a_column(sentence: Sentence, place: int) -> bool:
    """`average total`, `invoice total` name a column; `total sales`, `total customers` do not."""
    others = [item for index, item in enumerate(sentence.items) if index != place]
    after = _next(sentence.items, place)
    if after and after.has("op", "between"):
        return True
    if any(item.has("agg", "order", "take") for item in others):
        return not any(item.has("measure") for item in others)
    if any(item.has("measure", "count") for item in others):
        return False
    if any(item.noun and sentence.is_number(item.noun) for item in others):
        return False
    return not (after and after.noun and after.noun.tables and not has_han(after.text))


def _follows_a_table(sentence: Sentence, place: int) -> bool:
    before = next(
        (item for item in reversed(sentence.items[:place]) if not item.has("noise")), None
    )
    return bool(before and before.noun and before.noun.tables)


def _next(items: Sequence[Item], place: int) -> Item | None:
    return next((item for item in items[place + 1 :] if not item.has("noise")), None)


def best_quality(noun: Noun) -> int:
    """How well the noun's best meaning fits."""
    return max(term.quality for term in (*noun.tables, *noun.columns))
