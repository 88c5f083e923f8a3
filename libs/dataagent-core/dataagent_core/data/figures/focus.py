"""What the words around a figure are about: its clause, and the columns they speak of.

`labels.py` tells the rows. Together they keep arithmetic to the few cells that a sentence means.
"""

from __future__ import annotations

import re
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


def clause(text: str, figure: Figure) -> str:
    """The words around a figure, up to the next comma on either side."""
    start, end = clause_span(text, figure)
    return text[start:end]


def columns_in_play(table: IndexedTable, *texts: str, known: Iterable[str] = ()) -> list[int]:
    """The columns that figures nearby came from or words name; the first text that names any.

    All columns when nothing is said about them, or there is only one row.
    """
    if len(table.numbers) == 1:
        return list(range(len(table.columns)))
    sure = {at for at, column in enumerate(table.columns) if column.name in set(known)}
    for text in texts:
        words = {_stem(word) for word in _TOKEN.findall(text)}
        named = {
            at for at, column in enumerate(table.columns) if _is_named(column.name, words, text)
        }
        sure |= {at for at in named if table.column(at)}
        if sure:
            return sorted(sure)
    return list(range(len(table.columns)))


def column_said(table: IndexedTable, text: str, figure: Figure) -> int | None:
    """The column whose name follows a figure at once: `98 orders`."""
    found = _WORD_AFTER.match(text, figure.end)
    if found is None:
        return None
    word = _stem(found[1])
    said = [at for at, column in enumerate(table.columns) if _stem(column.name) == word]
    return said[0] if said and table.column(said[0]) else None


def _is_named(name: str, words: set[str], text: str) -> bool:
    tokens = {_stem(token) for token in _TOKEN.findall(name)} - _GENERIC
    return bool(tokens & words) or any(
        len(token) > 1 and not token.isascii() and token[:2] in text for token in tokens
    )


def _stem(word: str) -> str:
    folded = word.casefold()
    return folded[:-1] if folded.endswith("s") and len(folded) > 3 else folded
