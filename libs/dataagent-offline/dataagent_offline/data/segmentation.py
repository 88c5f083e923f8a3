"""Cuts a question into spans: every span is known, or named as not understood.

As little as possible stays unknown and the known spans are long. A span keeps all its meanings
until `SpanList` picks the one that fits its neighbours and notes which spans are accounted for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dataagent_offline.data.lexicon import Lexicon, Phrase
from dataagent_offline.data.schema import SourceSchema, yes_values
from dataagent_offline.data.terms import Noun, QuestionSpan, Role, TimeMatch, find_times
from dataagent_offline.data.vocabulary import (
    Atom,
    atoms,
    fixed_words,
    has_han,
    is_plural,
    keys,
    names,
    normal,
    number_words,
)

LONGEST_QUESTION: Final = 600
"""Characters. What is longer is no plain question."""
_LONGEST_PHRASE: Final = 9
_QUOTED: Final = re.compile(
    r"“([^”]{1,80})”|\"([^\"]{1,80})\"|「([^」]{1,80})」|《([^》]{1,80})》"
    r"|‘([^’]{1,80})’|(?<!\w)'([^']{1,80})'(?!\w)|`([^`]{1,80})`"
)


@dataclass(frozen=True, slots=True)
class Segmentation:
    """A question in spans, in order."""

    text: str
    items: tuple[QuestionSpan, ...]

    @property
    def unknown(self) -> list[tuple[QuestionSpan, ...]]:
        """Runs of neighbouring spans that mean nothing."""
        runs: list[tuple[QuestionSpan, ...]] = []
        run: list[QuestionSpan] = []
        for item in self.items:
            if item.is_known:
                runs.append(tuple(run))
                run = []
            else:
                run.append(item)
        return [run for run in (*runs, tuple(run)) if run]


def segment(question: str, lexicon: Lexicon) -> Segmentation:
    """The question, cut and looked up."""
    text = normal(question)
    quoted = list(_quoted_items(text, lexicon))
    times = [
        _time_item(text, found)
        for found in find_times(text)
        if not any(found.start < item.end and item.start < found.end for item in quoted)
    ]
    fixed = sorted((*quoted, *times), key=lambda item: item.start)
    items = list(fixed)
    for stretch in _gaps_between(atoms(text), fixed):
        items.extend(_cut(text, stretch, lexicon))
    return Segmentation(text, tuple(sorted(items, key=lambda item: item.start)))


def roles_of(question: str) -> set[str]:
    """The parts its fixed words play, before any schema is known."""
    items = segment(question, Lexicon()).items
    roles: set[str] = {word.role for item in items for word in item.words}
    return roles | ({"period"} if any(item.period for item in items) else set[str]())


def _quoted_items(text: str, lexicon: Lexicon) -> Iterator[QuestionSpan]:
    for match in _QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group)
        phrase = keys(inner)
        values = tuple(lexicon.values.get(phrase, {}).values())
        noun = None if values else _noun(inner, phrase, lexicon)
        lookups = () if values or noun else (inner.strip(),)
        yield QuestionSpan(
            inner, match.start(), match.end(), noun=noun, values=values, lookups=lookups
        )


def _time_item(text: str, found: TimeMatch) -> QuestionSpan:
    return QuestionSpan(text[found.start : found.end], found.start, found.end, period=found.period)


def _gaps_between(all_atoms: Sequence[Atom], fixed: Sequence[QuestionSpan]) -> Iterator[list[Atom]]:
    """The atoms between quoted texts and times."""
    stretch: list[Atom] = []
    for atom in all_atoms:
        if any(item.start < atom.end and atom.start < item.end for item in fixed):
            yield stretch
            stretch = []
        else:
            stretch.append(atom)
    yield stretch


def _cut(text: str, stretch: Sequence[Atom], lexicon: Lexicon) -> Iterator[QuestionSpan]:
    """The cut with the fewest unknown atoms, and then the fewest spans."""
    best: list[tuple[int, int, int]] = [(0, 0, 0)]
    for start in range(len(stretch) - 1, -1, -1):
        after = best[len(stretch) - start - 1]
        choice = (after[0] + 1, after[1] + 1, 1)
        for length in range(1, min(_LONGEST_PHRASE, len(stretch) - start) + 1):
            phrase = tuple(atom.key for atom in stretch[start : start + length])
            if _is_known(phrase, stretch[start], lexicon):
                rest = best[len(stretch) - start - length]
                choice = min(choice, (rest[0], rest[1] + 1, length), key=_cost)
        best.append(choice)
    start = 0
    while start < len(stretch):
        length = best[len(stretch) - start][2]
        yield _item(text, stretch[start : start + length], lexicon)
        start += length


def _cost(choice: tuple[int, int, int]) -> tuple[int, int, int]:
    return (choice[0], choice[1], -choice[2])


def _is_known(phrase: Phrase, first: Atom, lexicon: Lexicon) -> bool:
    return (
        phrase in fixed_words()
        or lexicon.has(phrase)
        or phrase in names()
        or phrase in number_words()
        or (len(phrase) == 1 and first.is_number)
    )


def _item(text: str, span: Sequence[Atom], lexicon: Lexicon) -> QuestionSpan:
    phrase = tuple(atom.key for atom in span)
    start, end = span[0].start, span[-1].end
    words = fixed_words().get(phrase, ())
    is_passing = len(span) == 1 and text[start:end].isascii() and text[start:end].islower()
    values = tuple(
        term
        for term in lexicon.values.get(phrase, {}).values()
        if not (is_passing and term.is_title)
    )
    number: float | None = number_words().get(phrase)
    if len(span) == 1 and span[0].is_number:
        number = float(span[0].key)
    return QuestionSpan(
        text[start:end],
        start,
        end,
        words=words,
        noun=_noun(text[start:end], phrase, lexicon),
        values=values,
        lookups=() if values or words else names().get(phrase, ()),
        number=number,
    )


def _noun(text: str, phrase: Phrase, lexicon: Lexicon) -> Noun | None:
    tables = tuple(lexicon.tables.get(phrase, {}).values())
    columns = tuple(lexicon.columns.get(phrase, {}).values())
    if not tables and not columns:
        return None
    return Noun(text, tables, columns, is_plural=is_plural(text))


_SILENT: tuple[Role, ...] = ("noise", "all", "and", "ask", "with", "to", "list", "follow")
"""Roles that give way to a noun written the same."""


@dataclass(slots=True)
class SpanList:
    """The spans that carry meaning, in order."""

    items: list[QuestionSpan]
    schema: SourceSchema
    used: set[int] = field(default_factory=set[int])

    def find(self, *roles: Role) -> list[int]:
        """Where unused words of these roles stand."""
        return [
            position
            for position, item in enumerate(self.items)
            if position not in self.used and item.has(*roles)
        ]

    def use(self, *places: int) -> None:
        """Account for spans."""
        self.used.update(places)

    def at(self, position: int) -> QuestionSpan | None:
        """The span there, if it is one that is not yet used."""
        if 0 <= position < len(self.items) and position not in self.used:
            return self.items[position]
        return None

    def noun(self, position: int) -> Noun | None:
        """The unused noun there."""
        item = self.at(position)
        return item.noun if item else None

    def nouns(self) -> Iterator[tuple[int, Noun]]:
        """All unused nouns."""
        for position, item in enumerate(self.items):
            if item.noun and position not in self.used and not item.has("bucket"):
                yield position, item.noun

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


def resolve_spans(segmentation: Segmentation, schema: SourceSchema) -> SpanList:
    """The spans that mean something, each with the meaning that fits its neighbours."""
    known = [item for item in segmentation.items if item.is_known]
    spans = SpanList(known, schema)
    items = [_resolve(spans, position) for position in range(len(known))]
    return SpanList([item for item in items if not item.has("noise")], schema)


def _resolve(spans: SpanList, position: int) -> QuestionSpan:
    item = spans.items[position]
    if item.period:
        return _number_or_time(spans, position)
    if item.number is not None and item.words:
        item = replace(item, words=())
    if item.noun and item.values:
        is_partial = best_quality(item.noun) < 3
        item = replace(item, noun=None) if is_partial else replace(item, values=())
    if item.words and item.values:
        return _word_or_value(spans, item)
    if item.words and item.noun:
        return _word_or_noun(spans, position, item, item.noun)
    return item


def _number_or_time(spans: SpanList, position: int) -> QuestionSpan:
    """`more than 2000` is a number, `in 2000` a year."""
    item = spans.items[position]
    before = spans.items[position - 1] if position else None
    is_compared = bool(before and before.has("op"))
    if item.period and item.period.is_bare_number and is_compared:
        return replace(item, period=None, number=float(item.period.label))
    return item


def _word_or_value(spans: SpanList, item: QuestionSpan) -> QuestionSpan:
    """`employees in Sales`: with something else to count, the word is a value; so is `OR`."""
    has_other_subject = any(
        other is not item and other.has("count", "people", "agg") for other in spans.items
    )
    is_code = item.text.isupper() and any(term.value == item.text for term in item.values)
    if is_code or item.has("refused") or (item.has("measure") and has_other_subject):
        return replace(item, words=())
    return replace(item, values=())


def _word_or_noun(spans: SpanList, position: int, item: QuestionSpan, noun: Noun) -> QuestionSpan:
    is_noun = best_quality(noun) >= 3
    if item.has("bucket"):
        return item if is_noun else replace(item, noun=None)
    if item.has("agg"):
        is_noun = is_noun and _is_total_a_column(spans, position)
    elif item.has("count"):
        is_noun = is_noun and not _follows_a_table(spans, position)
    elif item.has("measure"):
        counts = any(other.has("count") for other in spans.items)
        is_counted = bool(noun.tables) or spans.flags(noun) is not None
        is_noun = is_noun and (spans.is_number(noun) or (counts and is_counted))
    elif item.has("verb") or item.value_of("noise") == "classifier":
        is_noun = is_noun and bool(noun.tables) and not has_han(item.text)
    elif not item.has("refused", *_SILENT):
        is_noun = False
    return replace(item, words=()) if is_noun else replace(item, noun=None)


def _is_total_a_column(spans: SpanList, position: int) -> bool:
    """`average total`, `invoice total` name a column; `total sales`, `total customers` do not."""
    others = [item for index, item in enumerate(spans.items) if index != position]
    after = _next(spans.items, position)
    if after and after.has("op", "between"):
        return True
    if any(item.has("agg", "order", "take") for item in others):
        return not any(item.has("measure") for item in others)
    if any(item.has("measure", "count") for item in others):
        return False
    if any(item.noun and spans.is_number(item.noun) for item in others):
        return False
    return not (after and after.noun and after.noun.tables and not has_han(after.text))


def _follows_a_table(spans: SpanList, position: int) -> bool:
    before = next(
        (item for item in reversed(spans.items[:position]) if not item.has("noise")), None
    )
    return bool(before and before.noun and before.noun.tables)


def _next(items: Sequence[QuestionSpan], position: int) -> QuestionSpan | None:
    return next((item for item in items[position + 1 :] if not item.has("noise")), None)


def best_quality(noun: Noun) -> int:
    """How well the noun's best meaning fits."""
    return max(term.quality for term in (*noun.tables, *noun.columns))
