"""Rows as aligned text without colour, and a result of a run as a small table.

Numbers stand on the right and are never cut: half a number is another number. Wide characters count
as two columns. NULL is written as a word; a text that reads NULL is in quotes. A table that is too
wide for the screen is shown one row after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rich.cells import cell_len, set_cell_size

from dataagent_cli.ui.clean import one_line, printable
from dataagent_cli.ui.describe import as_text
from dataagent_core.events import ArtifactEvent

NULL = "NULL"
_GAP = "  "
_MOST_CELLS = 200  # of one cell, however wide the screen is
_LEAST_CELLS = 8  # a text that is cut to fewer says nothing
_LINE_END = "↵"
_BREAKS = str.maketrans({"\n": _LINE_END, "\t": " "})


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's name, whether it holds numbers, and whether its texts may be cut."""

    name: str
    is_number: bool = False
    is_whole: bool = False


Cells = Sequence[str | None]


def draw(headings: Sequence[Heading], rows: Sequence[Cells], *, width: int | None) -> str:
    """The rows under their headings, fitted to a screen's width if there is one."""
    shown = [[_cell_text(cell) for cell in row] for row in rows]
    names = [_clean(heading.name) for heading in headings]
    widths = _widths(headings, names, shown, width)
    if widths is None:
        return _records(headings, names, shown, width or _MOST_CELLS)
    lines = [
        _line(headings, names, widths),
        _GAP.join("─" * size for size in widths),
        *(_line(headings, row, widths) for row in shown),
    ]
    return "\n".join(lines)


def cut(text: str, cells: int) -> str:
    """The text in at most so many columns, with … in place of the rest."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(cells - 1, 0)).rstrip(" ") + "…"


def _cell_text(cell: str | None) -> str:
    if cell is None:
        return NULL
    return f'"{cell}"' if cell == NULL else _clean(cell)


def _clean(text: str) -> str:
    beginning = text[: _MOST_CELLS * 4]  # the rest is cut in any case, and may be long
    return printable(beginning).translate(_BREAKS) + ("…" if len(beginning) < len(text) else "")


# -- a table --------------------------------------------------------------------------------


def _widths(
    headings: Sequence[Heading],
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
) -> list[int] | None:
    """Each column's width, texts cut as little as need be; None if the screen is too narrow."""
    whole = [
        max([cell_len(name), *(cell_len(row[at]) for row in rows)]) for at, name in enumerate(names)
    ]
    for most in range(_MOST_CELLS, _LEAST_CELLS - 1, -1):
        pairs = zip(headings, whole, strict=True)
        widths = [_width(heading, size, most) for heading, size in pairs]
        if width is None or sum(widths) + len(_GAP) * (len(widths) - 1) <= width:
            return widths
    return None


def _width(heading: Heading, size: int, most: int) -> int:
    return size if heading.is_number or heading.is_whole else min(size, most)


def _line(headings: Sequence[Heading], cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = zip(headings, cells, widths, strict=True)
    return _GAP.join(_pad(cell, size, heading) for heading, cell, size in parts).rstrip()


def _pad(cell: str, size: int, heading: Heading) -> str:
    fitted = cut(cell, size)
    room = " " * (size - cell_len(fitted))
    return room + fitted if heading.is_number else fitted + room


# -- one row after another ------------------------------------------------------------------


def _records(
    headings: Sequence[Heading],
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
) -> str:
    widest = min(max(cell_len(name) for name in names), max(width // 3, _LEAST_CELLS))
    room = max(width - widest - len(_GAP), _LEAST_CELLS)
    titles = [set_cell_size(cut(name, widest), widest) for name in names]
    blocks: list[str] = []
    for number, row in enumerate(rows, 1):
        head = f"── row {number:,} "
        lines = [head + "─" * max(min(width, 60) - len(head), 0)]
        for heading, title, cell in zip(headings, titles, row, strict=True):
            fitted = cut(cell, _width(heading, cell_len(cell), room))
            lines.append(f"{title}{_GAP}{fitted}".rstrip())
        blocks.append("\n".join(lines))
    return "\n".join(blocks) or _GAP.join(names)


_SHOWN_ROWS = 10
_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")


def table_text(event: ArtifactEvent, *, width: int, export: str | None) -> str | None:
    """The table and a line about it; None if the event brings no rows along.

    `export` is the command that writes a stored result to a file, if there is one.
    """
    given: Any = event.preview
    if event.kind != "table" or not isinstance(given, dict):
        return None
    preview = cast("Mapping[str, Any]", given)
    columns = [cast("Mapping[str, Any]", one) for one in _listed(preview, "columns", Mapping)]
    found = [cast("Sequence[Any]", one) for one in _listed(preview, "rows", list)]
    if not columns or any(len(row) != len(columns) for row in found):
        return None
    headings = [
        Heading(str(column.get("name", "")), str(column.get("type", "")).startswith(_NUMBERS))
        for column in columns
    ]
    shown = [[_cell(value) for value in row] for row in found[:_SHOWN_ROWS]]
    lines = [draw(headings, shown, width=width), _about(preview, len(shown))]
    if export is not None:
        lines[-1] += f" · {export} {one_line(event.artifact_id)} FILE.csv"
    others: Any = preview.get("other_columns")
    if others:
        lines.append(f"more columns: {one_line(as_text(others))}")
    if preview.get("truncated"):
        lines.append(one_line(as_text(preview["truncated"])))
    lines += [f"warning: {one_line(one)}" for one in _listed(preview, "warnings", str)]
    return "\n".join(lines)


def _listed(preview: Mapping[str, Any], key: str, kind: type) -> list[Any]:  # Any: JSON
    """A list of the preview, as far as it holds what it should."""
    found: Any = preview.get(key)
    listed = cast("list[Any]", found) if isinstance(found, list) else []
    return [one for one in listed if isinstance(one, kind)]


def _cell(value: object) -> str | None:
    return None if value is None else as_text(value)


def _about(preview: Mapping[str, Any], shown: int) -> str:  # Any: JSON
    known: Any = preview.get("row_count")
    total = known if isinstance(known, int) else shown
    rows = f"{total:,} row{'' if total == 1 else 's'}"
    return rows if shown == total else f"{shown:,} of {rows}"
