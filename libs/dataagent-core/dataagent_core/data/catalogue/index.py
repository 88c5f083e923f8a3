"""An inverted index over a catalogue: words of names, comments and sampled values, in BM25F.

Written here because what decides is how words are made (`words.py`) and that a hit can say why it
is one; SQLite's FTS5 splits neither CamelCase nor Chinese, DuckDB's needs an extension from the
network, and either would only hold what these lines hold. Above: `search.py`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dataagent_core.data.catalogue.families import families
from dataagent_core.data.catalogue.words import synonyms, words
from dataagent_core.data.types import Catalogue, Column, Table

_SATURATION = 1.2
_LENGTH_COUNTS = 0.35
_WEIGHTS = {
    "name": 5.0,
    "comment": 4.0,
    "column name": 2.0,
    "column comment": 1.5,
    "value": 1.0,
}
_RELATED_WEIGHT = 0.4
_SINGLE_CHARACTER_WEIGHT = 0.15
_ONE_CHINESE = re.compile(r"[一-鿿㐀-䶿]")

SearchField = str  # a key of _WEIGHTS
Documents = dict[int, dict[SearchField, Counter[str]]]


@dataclass(frozen=True, slots=True)
class Match:
    """How well something fits a query, and by which words, each with where it stands."""

    score: float
    matched_words: Mapping[str, SearchField]


class Bm25Index:
    """Numbered documents whose words stand in places of different weight."""

    def __init__(self, documents: Documents) -> None:
        self._size = max(len(documents), 1)
        self._postings: dict[str, list[tuple[int, float, SearchField]]] = defaultdict(list)
        usual = _usual_lengths(documents)
        for number, places in documents.items():
            for word, (weight, place) in _weighted(places, usual).items():
                self._postings[word].append((number, weight, place))

    def match(self, query: Mapping[str, float]) -> dict[int, Match]:
        """The documents that share a word with the query, whose words carry weights."""
        scores: dict[int, float] = defaultdict(float)
        matched_words: dict[int, dict[str, SearchField]] = defaultdict(dict)
        for word, importance in query.items():
            postings = self._postings.get(word, [])
            rarity = math.log(1 + (self._size - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, weight, place in postings:
                scores[number] += importance * rarity * weight / (_SATURATION + weight)
                matched_words[number][word] = place
        return {number: Match(score, matched_words[number]) for number, score in scores.items()}


def _usual_lengths(documents: Documents) -> dict[SearchField, float]:
    totals: Counter[SearchField] = Counter()
    for places in documents.values():
        for place, counts in places.items():
            totals[place] += counts.total()
    return {place: max(total / len(documents), 1.0) for place, total in totals.items()}


def _weighted(
    places: Mapping[SearchField, Counter[str]], usual: Mapping[SearchField, float]
) -> dict[str, tuple[float, SearchField]]:
    """Each word's weight in a document, with the place that gave most of it."""
    found: dict[str, tuple[float, float, SearchField]] = {}
    for place, counts in places.items():
        length = 1 - _LENGTH_COUNTS + _LENGTH_COUNTS * counts.total() / usual[place]
        for word, times in counts.items():
            part = _WEIGHTS[place] * times / length
            total, largest, where = found.get(word, (0.0, 0.0, place))
            found[word] = (
                total + part,
                max(largest, part),
                place if part > largest else where,
            )
    return {word: (total, where) for word, (total, _largest, where) in found.items()}


class CatalogueIndex:
    """A catalogue's tables, and its columns, each as an index."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.tables = catalogue.tables
        self.common_columns = _common_columns(catalogue)
        self.family_of = {
            table.key: family for family in families(self.tables) for table in family.members
        }
        self._of_tables = Bm25Index(
            {number: _table_document(table) for number, table in enumerate(self.tables)}
        )
        self._columns = [
            (number, column) for number, table in enumerate(self.tables) for column in table.columns
        ]
        self._of_columns = Bm25Index(
            {at: _column_document(column) for at, (_table, column) in enumerate(self._columns)}
        )

    def match_tables(self, query: Mapping[str, float]) -> dict[int, Match]:
        """Tables by their number that fit the query."""
        return self._of_tables.match(query)

    def match_columns(self, query: Mapping[str, float]) -> dict[tuple[int, str], Match]:
        """Columns, by their table's number and their name, that fit the query."""
        matches = self._of_columns.match(query)
        return {
            (self._columns[at][0], self._columns[at][1].name): match
            for at, match in matches.items()
        }


def _common_columns(catalogue: Catalogue) -> frozenset[str]:
    """Columns that most tables have (who wrote a row, and when): seldom what is asked for."""
    times = Counter(column.name for table in catalogue.tables for column in table.columns)
    return frozenset(name for name, count in times.items() if count * 2 > len(catalogue.tables) > 2)


def weighted_query(text: str) -> dict[str, float]:
    """The words to look for, with how much each counts."""
    query = dict.fromkeys(synonyms(text), _RELATED_WEIGHT)
    for word in words(text):
        is_part = len(word) == 1 and _ONE_CHINESE.match(word) is not None
        query[word] = _SINGLE_CHARACTER_WEIGHT if is_part else 1.0
    return query


def _table_document(table: Table) -> dict[SearchField, Counter[str]]:
    return {
        "name": _count([table.key]),
        "comment": _count([table.comment or ""]),
        "column name": _count(column.name for column in table.columns),
        "column comment": _count(column.comment or "" for column in table.columns),
        "value": _count(value for column in table.columns for value in column.samples),
    }


def _column_document(column: Column) -> dict[SearchField, Counter[str]]:
    return {
        "column name": _count([column.name]),
        "column comment": _count([column.comment or ""]),
        "value": _count(column.samples),
    }


def _count(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in words(text))
