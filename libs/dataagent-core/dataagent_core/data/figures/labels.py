"""Which rows of a result a sentence is about.

A figure that stands with `Germany` must be one of Germany's row. Texts and dates of a result are
looked for in the answer; in a sentence where names and figures take turns, each figure belongs to
its own name, otherwise to any of the names in the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from dataagent_core.data.figures.hints import says
from dataagent_core.data.figures.index import Index, IndexedTable
from dataagent_core.data.figures.reading import Figure

MAX_LABELS = 20_000
NEAR = 4  # sentences that name rows
FEW = 6  # rows
SHORT = 5  # shorter labels are found only as they are written
_SENTENCE_END = re.compile(
    r"[。！？；\n]|[!?;](?=\s|$)|(?<!\bvs)(?<!\bNo)(?<!\be\.g)(?<!\bi\.e)(?<!\bca)(?<!approx)"
    r"\.(?=\s+[^\sa-z]|\s*$)"
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ISO_MONTH = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
_YEAR_TEXT = re.compile(r"(?:19|20)\d{2}")


@dataclass(frozen=True, slots=True)
class Mention:
    """A label in the text, and the rows of one table that carry it."""

    start: int
    end: int
    table: int
    rows: frozenset[int]

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of text with the labels it mentions."""

    start: int
    end: int
    text: str
    mentions: tuple[Mention, ...]

    def rows_of(self, table: int, start: int = 0, end: int | None = None) -> frozenset[int]:
        """Every row of a table that the sentence, or a stretch of the text in it, mentions."""
        last = self.end if end is None else end
        inside = (one for one in self.mentions if start <= one.start and one.end <= last)
        return frozenset[int]().union(*(one.rows for one in inside if one.table == table))


def sentences(text: str, index: Index) -> list[Sentence]:
    """The sentences of a text; a line of a list or table is one."""
    mentions = _longest(_mentions(text, index))
    result: list[Sentence] = []
    start = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]:
        if end > start:
            inside = tuple(one for one in mentions if start <= one.start and one.end <= end)
            result.append(Sentence(start, end, text[start:end], inside))
        start = end
    return result


def rows_before(sentence: Sentence, all_sentences: Sequence[Sentence], table: int) -> set[int]:
    """The rows that the few sentences or lines before one were about, if they are few."""
    at = all_sentences.index(sentence)
    earlier = [one for one in all_sentences[:at] if one.mentions][-NEAR:]
    rows = {row for one in earlier for row in one.rows_of(table)}
    return rows if len(rows) <= FEW else set()


def bound_rows(
    figure: Figure, sentence: Sentence, figures: Sequence[Figure], table: int, *, words: str
) -> frozenset[int] | None:
    """The rows of a table that a figure may be from, or None when the sentence names none.

    `words` is the figure's clause: one that compares takes its figures from any row named.
    """
    mentions = [one for one in sentence.mentions if one.table == table]
    if not mentions:
        return None
    named = sentence.rows_of(table)
    if says("change", words):  # `in April it fell to 3 from 4 in March`
        return named | {row + by for row in named for by in (-1, 1)}
    groups = _groups(mentions)
    inside = [one for one in figures if sentence.start <= one.start < sentence.end]
    turns = _turns(groups, inside)
    owner = _owner(turns, figure)
    if owner is None and not any(one.start < figure.end for one in mentions):
        labels = {sentence.text[one.start - sentence.start :][: len(one)] for one in mentions}
        is_near = any(label in words for label in labels)
        return named if is_near else None  # `between 2 and 4, the most in March`
    return owner if owner is not None else named


def _groups(mentions: Sequence[Mention]) -> list[Mention]:
    """Labels side by side that share a row (`Rock in Germany`) are one label."""
    merged: list[Mention] = []
    for one in mentions:
        last = merged[-1] if merged else None
        if last and (common := last.rows & one.rows) and one.start - last.end < 40:
            merged[-1] = Mention(last.start, one.end, one.table, common)
        else:
            merged.append(one)
    return merged


def _turns(
    groups: Sequence[Mention], figures: Sequence[Figure]
) -> list[tuple[bool, list[Mention | Figure]]]:
    """Names and figures in the order they stand, in runs of the same sort."""
    ordered = sorted([*groups, *figures], key=lambda one: one.start)
    return [
        (is_name, list(run))
        for is_name, run in groupby(ordered, key=lambda one: isinstance(one, Mention))
    ]


def _owner(
    turns: Sequence[tuple[bool, list[Mention | Figure]]], figure: Figure
) -> frozenset[int] | None:
    names = [run for is_name, run in turns if is_name]
    if len(turns) % 2 or any(len(run) != 1 for run in names):
        return None  # they do not take turns: `A and B have 1 and 2`
    starts_with_name = turns[0][0]
    for at, (is_name, run) in enumerate(turns):
        if not is_name and figure in run:
            name = turns[at - 1 if starts_with_name else at + 1][1][0]
            return name.rows if isinstance(name, Mention) else None
    return None


def _mentions(text: str, index: Index) -> Iterator[Mention]:
    lowered = text.lower()
    folded = lowered if len(lowered) == len(text) else text
    for at in range(len(index.tables)):
        for label, rows in _labels(index, at).items():
            is_word = len(label) >= SHORT and label not in _MONTHS  # May is not may
            place = (folded, label.lower()) if is_word else (text, label)
            for start in _places(*place):
                yield Mention(start, start + len(label), at, frozenset(rows))


def _longest(mentions: Iterable[Mention]) -> list[Mention]:
    """In order, without those that lie inside a longer one of the same table."""
    kept: list[Mention] = []
    for one in sorted(mentions, key=lambda mention: (mention.start, -mention.end)):
        if not any(other.table == one.table and one.end <= other.end for other in kept[-8:]):
            kept.append(one)
    return kept


def _places(text: str, label: str) -> Iterator[int]:
    at = text.find(label)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(label) : at + len(label) + 1]
        if not (_joins(before, label[0]) or _joins(after, label[-1])):
            yield at
        at = text.find(label, at + 1)


def _joins(outside: str, inside: str) -> bool:
    return bool(outside) and all(char.isascii() and char.isalnum() for char in (outside, inside))


def _labels(index: Index, at: int) -> Mapping[str, set[int]]:
    """The texts of a table that can name a row, with the rows they name."""
    labels: dict[str, set[int]] = {}
    table = index.tables[at]
    named = [at for at in range(len(table.columns)) if _can_name(table, at)]
    for row, cells in enumerate(table.texts):
        for cell in (cells[column] for column in named):
            if cell is None:
                continue
            for form in _forms(cell):
                labels.setdefault(form, set()).add(row)
        if len(labels) > MAX_LABELS:
            break
    count = len(table.texts)
    return {label: rows for label, rows in labels.items() if len(rows) < count or count == 1}


def _can_name(table: IndexedTable, column: int) -> bool:
    """Texts and dates name rows; numbers do only when all of them are years."""
    cells = [cell for row in table.texts if (cell := row[column]) is not None]
    return not table.column(column) or all(_is_year(cell) for cell in cells)


def _is_year(cell: str | date) -> bool:
    return isinstance(cell, str) and _YEAR_TEXT.fullmatch(cell) is not None


def _forms(cell: str | date) -> Iterator[str]:
    """The ways a text or a date may be written in an answer."""
    written = cell.strip() if isinstance(cell, str) else cell.isoformat()
    if len(written) >= 2:
        yield written
    found = _ISO_MONTH.fullmatch(written)
    if found is None or not 1 <= int(found[2]) <= 12:
        if _is_year(written):
            yield f"{written}年"
        return
    year, month, day = found[1], int(found[2]), int(found[3] or 1)
    name = _MONTHS[month - 1]
    if found[3] is None or day == 1:
        yield from (f"{year}-{month:02}", f"{name} {year}", f"{name[:3]} {year}")
        yield from (f"{year}年{month}月", f"{year}年{month:02}月")
        if found[3] is None or not isinstance(cell, str):
            yield from (name, f"{month}月")
        yield from _quarters(year, (month + 2) // 3)
    if found[3] is not None:
        yield from (f"{year}年{month}月{day}日", f"{month}月{day}日")
        yield from (f"{name} {day}, {year}", f"{day} {name} {year}", f"{name} {day}")


def _quarters(year: str, quarter: int) -> Iterator[str]:
    written = "一二三四"[quarter - 1]
    yield from (f"Q{quarter} {year}", f"{year} Q{quarter}", f"{year}Q{quarter}", f"Q{quarter}")
    yield from (f"{year}年第{written}季度", f"第{written}季度")
    yield "上半年" if quarter < 3 else "下半年"
