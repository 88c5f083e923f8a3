"""Markdown tables, and text that is safe in their cells. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; without rows there is none. Columns that are empty are left out."""
    cells = [list(row) for row in rows]
    shown = [at for at in range(len(head)) if any(row[at] for row in cells)]
    if not cells:
        return []
    lines = [list(head), ["---"] * len(head), *cells]
    return [row([line[at] for at in shown]) for line in lines]


def row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cells) + " |"


def in_cell(text: str) -> str:
    """Words on one line, with nothing in them that would end a cell or become a tag."""
    joined = " ".join(text.split())
    return joined.replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> str:
    """The text as code, in a cell."""
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""
