"""A Markdown table of an answer, drawn with Rich so that no cell is cut.

Rich shortens words to fit the screen and leaves out columns that have no room; half a number is
another number. Here a column is at least as wide as its longest word, and a table that is too wide
for that is shown one row after another. Only Chinese without figures is broken anywhere. Above:
`markdown.py`. Rows that a run has kept are `data_tables.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import TableElement
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_BROKEN_AT = 12  # columns of a Chinese text that stay together, at the least
_RULE = 60
_ENDLESS = 1_000_000


class AnswerTable(TableElement):
    """Stands in Rich's Markdown for a table."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or its rows one after another."""
        names, rows = self._cells()
        table = _table(names, rows)
        sizes = [_size(column) for column in zip(names, *rows, strict=True)]
        endless = options.update(max_width=_ENDLESS)
        frame = Measurement.get(console, endless, table).maximum - sum(
            each.maximum for each in sizes
        )
        widths = _fit_widths(sizes, options.max_width - frame)
        if widths is None:
            yield from _records(names, rows, options.max_width)
            return
        for column, width in zip(table.columns, widths, strict=True):
            column.width = width
        yield table

    def _cells(self) -> tuple[list[Text], list[list[Text]]]:
        """The headings and the rows, which have as many cells each."""
        head = None if self.header is None else self.header.row
        names = [] if head is None else [cell.content.copy() for cell in head.cells]
        for name in names:
            name.stylize("markdown.table.header")
        body = [] if self.body is None else self.body.rows
        return names, [[cell.content for cell in row.cells] for row in body]


def _table(names: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Table:
    table = Table(
        box=box.SIMPLE, pad_edge=False, style="markdown.table.border", collapse_padding=True
    )
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _size(column: Sequence[Text]) -> Measurement:
    """How narrow a column may be, and how wide it would like to be."""
    texts = [cell.plain for cell in column]
    words = [word for text in texts for word in text.split()]
    lines = [line for text in texts for line in text.split("\n")]
    return Measurement(max(map(_unbroken_width, words), default=1), max([1, *map(cell_len, lines)]))


def _unbroken_width(word: str) -> int:
    size = cell_len(word)
    is_chinese = size > len(word) and not any(sign.isdigit() for sign in word)
    return min(size, _BROKEN_AT) if is_chinese else size


def _fit_widths(sizes: Sequence[Measurement], room: int) -> list[int] | None:
    """The columns' widths, the widest made narrower first; None if there is no room for them."""
    for most in range(room, 0, -1):
        widths = [min(max(each.minimum, most), each.maximum) for each in sizes]
        if sum(widths) <= room:
            return widths
    return None


def _records(names: Sequence[Text], rows: Sequence[Sequence[Text]], width: int) -> Iterator[Text]:
    if not rows:
        yield Text(", ").join(names)
    for number, row in enumerate(rows, 1):
        head = f"── row {number:,} "
        yield Text(head + "─" * max(min(width, _RULE) - len(head), 0), "markdown.table.border")
        for name, cell in zip(names, row, strict=True):
            yield Text.assemble(name, ": ", cell, overflow="fold")
    yield Text("")
