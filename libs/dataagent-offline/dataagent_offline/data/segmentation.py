"""Which words of a question mean what: every span is known, or named as not understood.

The question is cut so that as little as possible stays unknown and the known spans are long.
A span keeps all its meanings. Below: `lexicon`, `vocabulary`, `times`; above: `parse`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dataagent_offline.data.lexicon import Lexicon, Phrase
from dataagent_offline.data.synonyms import names
from dataagent_offline.data.terms import Noun, QuestionSpan
from dataagent_offline.data.times import TimeMatch, find_times
from dataagent_offline.data.vocabulary import fixed_words, number_words
from dataagent_offline.data.words import Atom, atoms, is_plural, keys, normal

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
