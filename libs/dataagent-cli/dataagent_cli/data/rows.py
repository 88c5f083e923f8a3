"""The rows of a kept result, as a table's cells and in the formats that only the terminal writes.

All come from core's JSON export, which has one row a line and loses nothing: decimals are text in
it, integers keep all their digits. Above: `formats.py`, `sql.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from dataagent_cli.ui.table import Heading
from dataagent_core.data.results import export
from dataagent_core.data.types import ResultColumn

_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")
_LINES_AT_ONCE = 1_000
_BREAK = "<br>"
_MARKDOWN = str.maketrans(
    {"\\": "\\\\", "|": "\\|", "\n": _BREAK, "\r": "", "<": "&lt;", "&": "&amp;"}
)


def headings(columns: Sequence[ResultColumn]) -> list[Heading]:
    """The columns, and which of them hold numbers."""
    return [Heading(column.name, column.type.startswith(_NUMBERS)) for column in columns]


def first_rows(
    path: Path, columns: Sequence[ResultColumn], count: int | None = None
) -> list[list[str | None]]:
    """The first rows, or all; each cell as text, None where it is NULL."""
    return list(islice(_rows(path, columns), count))


def first_lines(path: Path, columns: Sequence[ResultColumn], count: int) -> list[bytes]:
    """The first rows, each as a JSON object."""
    return list(islice(_lines(path, columns), count))


def jsonl(path: Path, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
    """One JSON object a line."""
    return _joined(line + b"\n" for line in _lines(path, columns))


def markdown(path: Path, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
    """A table as GitHub's Markdown has it, numbers to the right."""
    named = headings(columns)
    yield _markdown_row(heading.name for heading in named)
    yield _markdown_row("---:" if heading.is_number else "---" for heading in named)
    yield from _joined(
        _markdown_row("NULL" if cell is None else cell.translate(_MARKDOWN) for cell in row)
        for row in _rows(path, columns)
    )


def _markdown_row(cells: Iterable[str]) -> bytes:
    return f"| {' | '.join(cells)} |\n".encode()


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines in pieces worth a write."""
    source = iter(lines)
    while piece := b"".join(islice(source, _LINES_AT_ONCE)):
        yield piece


def _rows(path: Path, columns: Sequence[ResultColumn]) -> Iterator[list[str | None]]:
    for line in _lines(path, columns):
        row = json.loads(line)
        yield [_text(value) for value in row.values()]


def _text(value: Any) -> str | None:  # Any: a JSON value
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _lines(path: Path, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
    """Each row as a JSON object, without the commas and brackets of the array."""
    rest = b""
    for piece in export(path, columns, "json"):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.removesuffix(b",") for line in lines if line.startswith(b"{"))
