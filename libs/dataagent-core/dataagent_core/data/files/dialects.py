"""How a delimited text file separates and quotes its cells, from its first part.

Each delimiter is tried with Python's own reader; the one that gives the most even table wins.
Pure functions. Above: `delimited.py`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_DELIMITERS = (",", "\t", ";", "|", "\x01", "\x1f", "^", "~")


@dataclass(frozen=True, slots=True)
class Dialect:
    """`escape` is the quote itself where a quote inside a cell is doubled."""

    delimiter: str
    quote: str = '"'
    escape: str = '"'
    has_space_after: bool = False  # each delimiter is followed by a space that is no part of a cell

    def reader(self, lines: Iterator[str] | io.TextIOBase) -> Iterator[list[str]]:
        """Rows of the text; blank lines are empty lists."""
        is_doubled = self.escape == self.quote
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            doublequote=is_doubled,
            escapechar=None if is_doubled else self.escape,
            skipinitialspace=self.has_space_after,
        )


def find_dialect(sample: str, *, name: str) -> Dialect:
    """The dialect of a text. A name ending in `.tsv` or `.tab` settles the delimiter."""
    delimiters = ("\t",) if name.lower().endswith((".tsv", ".tab")) else _DELIMITERS
    best, best_score = Dialect(delimiters[0]), (0.0, 0)
    for delimiter in delimiters:
        if delimiter not in sample:
            continue
        for dialect in _quotings(delimiter, sample):
            score = _score(dialect, sample)
            if score > best_score:
                best, best_score = dialect, score
    return best


def _quotings(delimiter: str, sample: str) -> list[Dialect]:
    """Quotings in the order of likelihood: on equal scores the first wins."""
    spaced = f'{delimiter} "' in sample and f'{delimiter}"' not in sample
    dialects = [Dialect(delimiter, has_space_after=spaced)]
    if '\\"' in sample:
        dialects.append(Dialect(delimiter, escape="\\"))
    if f"{delimiter}'" in sample and f"'{delimiter}" in sample:
        dialects.append(Dialect(delimiter, quote="'", escape="'"))
    return dialects


def _score(dialect: Dialect, sample: str) -> tuple[float, int]:
    """How even the table is, then how wide. A table of one column is no table."""
    try:
        rows = [row for row in dialect.reader(io.StringIO(sample, newline="")) if row]
    except csv.Error:
        return (0.0, 0)
    rows = rows[:-1] if len(rows) > 2 else rows  # the sample may end inside the last row
    widths = Counter(len(row) for row in rows)
    if not widths:
        return (0.0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1], item[0] > 2, item[0] == 1))
    if width < 2:
        return (0.0, 0)
    stray = sum(1 for row in rows for cell in row if _has_stray_quote(cell, dialect.quote))
    return (round(count / len(rows), 2) - min(stray / len(rows), 0.5), width)


def _has_stray_quote(cell: str, quote: str) -> bool:
    """A cell that begins or ends with half a quotation was cut at the wrong place."""
    stripped = cell.strip()
    return len(stripped) > 1 and (stripped[0] == quote) != (stripped[-1] == quote)
