"""Markdown drawn with Rich, without losing a character of the answer.

Rich drops HTML, joins lines, fills them with spaces, shortens words in tables and leaves out
columns. Here HTML and line ends stay, links are written out, and a table that is too wide for its
longest words is shown one row after another. `BlockSplitter` cuts a growing answer into finished
blocks, so that only the unfinished end is redrawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TableElement
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from dataagent_cli.ui.clean import printable

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


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "table_open": AnswerTable}


class AnswerMarkdown:
    """A renderable of Markdown text."""

    def __init__(self, text: str) -> None:
        markup = printable(text)
        self._drawn = _Markdown("", hyperlinks=False, code_theme="ansi_dark")
        self._drawn.markup = markup
        self._drawn.parsed = _parse(markup)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._drawn, options, pad=False):
            yield from _without_filling(line)
            yield Segment.line()


def _parse(markup: str) -> list[Token]:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    tokens = parser.parse(markup)
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return tokens


def _without_filling(line: list[Segment]) -> list[Segment]:
    """The line up to the last thing that can be seen."""
    end = len(line)
    while end and not line[end - 1].text.strip() and not _has_background(line[end - 1]):
        end -= 1
    kept = line[:end]
    if kept and not _has_background(kept[-1]):
        kept[-1] = Segment(kept[-1].text.rstrip(" "), kept[-1].style)
    return kept


def _has_background(segment: Segment) -> bool:
    style = segment.style
    return style is not None and (style.bgcolor is not None or bool(style.reverse))


_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class BlockSplitter:
    """Takes text as it comes; gives back finished blocks. Joined, they are the text."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial = ""
        self._fence: str | None = None
        self._is_list = False
        self._after_blank = False

    @property
    def tail(self) -> str:
        """What has come and is not finished yet."""
        return "".join(self._lines) + self._partial

    def feed(self, text: str) -> list[str]:
        """Add text; the blocks that are finished by it, in order."""
        *complete, self._partial = (self._partial + text).split("\n")
        finished: list[str] = []
        for line in complete:
            if self._starts_block(line):
                finished.append(self._take())
            self._add(line)
            if self._ends_block(line):
                finished.append(self._take())
        return finished

    def flush(self) -> str:
        """All that is left; the splitter is as new."""
        rest = self.tail
        self.__init__()
        return rest

    def _take(self) -> str:
        block = "".join(self._lines)
        self._lines = []
        self._is_list = False
        return block

    def _starts_block(self, line: str) -> bool:
        """Whether the line opens a block, so that the lines before it are finished."""
        if self._fence or not self._lines or not line.strip():
            return False
        if self._is_list and (line[0] in " \t" or _LIST_ITEM.match(line)):
            return False
        return self._after_blank or (not self._is_list and bool(_FENCE.match(line)))

    def _ends_block(self, line: str) -> bool:
        """Whether the line was the closing fence of a code block that stood for itself."""
        opening = _FENCE.match(self._lines[0])
        return (
            len(self._lines) > 1
            and self._fence is None
            and opening is not None
            and _FENCE.match(line) is not None
        )

    def _add(self, line: str) -> None:
        if not self._lines:
            self._is_list = bool(_LIST_ITEM.match(line))
        self._lines.append(line + "\n")
        self._after_blank = not line.strip()
        # inside a list an indented fence opens and closes as well
        fence = _FENCE.match(line.lstrip() if self._is_list else line)
        if fence is None:
            return
        if self._fence is None:
            self._fence = fence[1]
        elif fence[1].startswith(self._fence) and not fence[2].strip():
            self._fence = None
