"""What the words around a figure are about: its clause, and the columns they speak of.

`labels.py` tells the rows. Together they keep arithmetic to the few cells that a sentence means.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from dataagent_core.data.figures.index import IndexedTable
from dataagent_core.data.figures.reading import Figure

MAX_CLAUSE = 300
_CLAUSE_END = re.compile(r",(?=\s)|[，；：;\n。|]|:(?=\s)|\.(?=\s)")
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[\u3400-\u9fff]+")
_WORD_AFTER = re.compile(r"\W?([A-Za-z]{3,})")
_GENERIC = frozenset(
    ("total", "count", "sum", "avg", "average", "number", "name", "of", "the", "per", "num")
)


def clause_span(text: str, figure: Figure) -> tuple[int, int]:
    """Where the clause that a figure stands in begins and ends: the stretch between commas."""
    near = max(0, figure.start - MAX_CLAUSE)
    ends = _CLAUSE_END.finditer(text, near, figure.start)
    start = max((found.end() for found in ends), default=near)
    found = _CLAUSE_END.search(text, figure.end, figure.end + MAX_CLAUSE)
    return start, found.start() if found else min(len(text), figure.end + MAX_CLAUSE)


def words_of(text: str) -> frozenset[str]:
    """What in a text can name a column: its words, and each two Chinese characters in a row."""
    words: set[str] = set()
    for token in _TOKEN.findall(text):
        words.add(_stem(token))
        if not token.isascii():
            words.update(token[at : at + 2] for at in range(len(token) - 1))
    return frozenset(words)


class ColumnNames:
    """The columns of a table, by the words of their names."""

    def __init__(self, table: IndexedTable) -> None:
        self._table = table
        self._by_name: defaultdict[str, list[int]] = defaultdict(list)
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._by_stem: dict[str, int] = {}
        for at, column in enumerate(table.columns):
            self._by_name[column.name].append(at)
            self._by_stem.setdefault(_stem(column.name), at)
            for token in {_stem(token) for token in _TOKEN.findall(column.name)} - _GENERIC:
                self._by_word[token].append(at)
                if len(token) > 2 and not token.isascii():
                    self._by_word[token[:2]].append(at)

    def in_play(self, *texts: frozenset[str], known: Iterable[str] = ()) -> list[int]:
        """The columns that figures nearby came from or words name; the first text that names any.

        All columns when nothing is said about them, or there is only one row.
        """
        if len(self._table.numbers) == 1:
            return list(range(len(self._table.columns)))
        sure = {at for name in known for at in self._by_name.get(name, ())}
        for words in texts:
            named = {at for word in words for at in self._by_word.get(word, ())}
            sure |= {at for at in named if self._table.column(at)}
            if sure:
                return sorted(sure)
        return list(range(len(self._table.columns)))

    def named_after(self, text: str, figure: Figure) -> int | None:
        """The column whose name follows a figure at once: `98 orders`."""
        found = _WORD_AFTER.match(text, figure.end)
        if found is None:
            return None
        said = self._by_stem.get(_stem(found[1]))
        return said if said is not None and self._table.column(said) else None


def _stem(word: str) -> str:
    folded = word.casefold()
    return folded[:-1] if folded.endswith("s") and len(folded) > 3 else folded
