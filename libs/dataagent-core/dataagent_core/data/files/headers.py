"""Finds where a table begins and what its columns are called, from its first rows.

Titles above the header are skipped and reported; a file whose first row is data keeps it. `None`
and `""` are empty cells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dataagent_core.data.files.value_formats import VALUE_FORMATS, is_typed

Row = Sequence[str | None]

LOOK_ROWS = 200
_MAX_TITLES = 20
_YEAR = re.compile(r"(?:19|20)[0-9]{2}(?:年|Q[1-4]|-[0-9]{2})?")


@dataclass(frozen=True, slots=True)
class TableHeader:
    """`skip` rows come before the data. Without `names` the first of the rest is data already."""

    skip: int
    names: tuple[str | None, ...] | None
    titles: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        """What should be known about where the table begins."""
        notes: list[str] = []
        if self.titles:
            shown = "; ".join(f"“{title}”" for title in self.titles[:5])
            notes.append(f"Rows above the header were skipped: {shown}.")
        if self.names is None:
            notes.append("There is no header row; the columns are column_1, column_2, …")
        return notes


def find_header(rows: Sequence[Row]) -> TableHeader:
    """Where the table in these first rows begins."""
    start = _first_filled(rows, 0)
    if start is None:
        return TableHeader(0, None)
    width = _usual_width(rows[start:])
    begin = start
    for index in range(start, min(len(rows), start + _MAX_TITLES)):
        if _is_title(rows[index], width):
            continue
        if _is_header(rows[index], rows[index + 1 :]):
            begin = index
            break
        if _filled(rows[index]) >= width:
            break
    titles = tuple(_title(row) for row in rows[start:begin] if _filled(row))
    if not _is_header(rows[begin], rows[begin + 1 :]):
        return TableHeader(start, None)
    return TableHeader(begin + 1, tuple(rows[begin]), titles)


def _filled(row: Row) -> int:
    return sum(1 for cell in row if cell and cell.strip())


def _first_filled(rows: Sequence[Row], start: int) -> int | None:
    return next((i for i in range(start, len(rows)) if _filled(rows[i])), None)


def _usual_width(rows: Sequence[Row]) -> int:
    """How many cells most rows have filled; of equals, the most."""
    counts = Counter(count for row in rows if (count := _filled(row)))
    return max(counts, key=lambda width: (counts[width], width))


def _is_title(row: Row, width: int) -> bool:
    """A title, a remark or an empty line: at most a third of the usual cells, or one alone."""
    filled = _filled(row)
    if filled == 0:
        return True
    return width > 1 and (filled == 1 or filled * 3 <= width) and filled < width


def _title(row: Row) -> str:
    text = " ".join(cell.strip() for cell in row if cell and cell.strip())
    return text if len(text) <= 80 else f"{text[:80]}…"


def _is_header(row: Row, below: Sequence[Row]) -> bool:
    """Whether a row names the columns: words, over cells of another kind or not met again."""
    body = [one for one in below if _filled(one)]
    cells = [(index, cell.strip()) for index, cell in enumerate(row) if cell and cell.strip()]
    if not cells:
        return False
    words = [cell for _, cell in cells if not is_typed(cell)]
    years = [(i, cell) for i, cell in cells if is_typed(cell)]
    if years and not (words and all(_is_year_name(i, cell, body) for i, cell in years)):
        return False
    if any(_is_typed_column(index, body) for index, _ in cells):
        return True
    repeats = sum(1 for index, cell in cells if _stands_in(cell, index, body))
    return repeats < len(cells) or not body


def _is_year_name(index: int, cell: str, body: Sequence[Row]) -> bool:
    """`2024` names a column if the cells below it are not years themselves."""
    below = [value for row in body if (value := _cell(row, index))]
    return bool(_YEAR.fullmatch(cell) and below) and not all(_YEAR.fullmatch(v) for v in below)


def _is_typed_column(index: int, body: Sequence[Row]) -> bool:
    values = [value for row in body if (value := _cell(row, index))]
    return bool(values) and any(all(shape.matches(v) for v in values) for shape in VALUE_FORMATS)


def _stands_in(cell: str, index: int, body: Sequence[Row]) -> bool:
    return any(_cell(row, index) == cell for row in body)


def _cell(row: Row, index: int) -> str:
    return (row[index] or "").strip() if index < len(row) else ""
