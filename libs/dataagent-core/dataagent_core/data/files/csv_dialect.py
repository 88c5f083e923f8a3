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
_ALSO_IN_TEXT = ("^", "~")  # rarely delimiters: only where every row has as many of them


@dataclass(frozen=True, slots=True)
class CsvDialect:
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


def detect_dialect(sample: str, *, name: str) -> CsvDialect:
    """The dialect of a text. A name ending in `.tsv` or `.tab` settles the delimiter."""
    delimiters = ("\t",) if name.lower().endswith((".tsv", ".tab")) else _DELIMITERS
    best, best_score = CsvDialect(delimiters[0]), (0.0, 0)
    for delimiter in delimiters:
        if delimiter not in sample:
            continue
        for dialect in _quotings(delimiter, sample):
            score = _score(dialect, sample)
            if score > best_score:
                best, best_score = dialect, score
    return best


def _quotings(delimiter: str, sample: str) -> list[CsvDialect]:
    """Quotings in the order of likelihood: on equal scores the first wins."""
    spaced = f'{delimiter} "' in sample and f'{delimiter}"' not in sample
    dialects = [CsvDialect(delimiter, has_space_after=spaced)]
    if '\\"' in sample:
        dialects.append(CsvDialect(delimiter, escape="\\"))
    if f"{delimiter}'" in sample and f"'{delimiter}" in sample:
        dialects.append(CsvDialect(delimiter, quote="'", escape="'"))
    return dialects


def _score(dialect: CsvDialect, sample: str) -> tuple[float, int]:
    """How even the table is, then how wide. A table of one column is no table."""
    try:
        rows = [row for row in dialect.reader(io.StringIO(sample, newline="")) if row]
    except csv.Error:
        return (0.0, 0)
    is_well_quoted = _is_well_quoted(dialect, rows, sample)
    rows = rows[:-1] if len(rows) > 2 else rows  # the sample may end inside the last row
    widths = Counter(len(row) for row in rows)
    if not widths:
        return (0.0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1], item[0] > 2, item[0] == 1))
    if width < 2 or (dialect.delimiter in _ALSO_IN_TEXT and count < len(rows)):
        return (0.0, 0)
    stray = 0 if is_well_quoted else sum(_stray_quotes(each, dialect) for each in rows)
    return (round(count / len(rows), 2) - min(stray / len(rows), 0.5), width)


def _is_well_quoted(dialect: CsvDialect, rows: list[list[str]], sample: str) -> bool:
    """Whether every quote inside a cell was written as a quote inside quotes.

    Then the rows, written anew, need no more quotes than there were; one may be cut off at the end.
    """
    if dialect.quote not in sample:
        return True
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dialect.delimiter, quotechar=dialect.quote)
    writer.writerows(rows)
    return out.getvalue().count(dialect.quote) <= sample.count(dialect.quote) + 1


def _stray_quotes(row: list[str], dialect: CsvDialect) -> int:
    """How many cells begin or end with half a quotation, cut at the wrong place."""
    cells = [cell.strip() for cell in row]
    quote = dialect.quote
    return sum(1 for cell in cells if len(cell) > 1 and (cell[0] == quote) != (cell[-1] == quote))
