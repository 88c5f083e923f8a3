"""Rows of text as a Markdown table. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def as_table(rows: Sequence[Sequence[str]]) -> str:
    """The rows, the first as the head; empty when there are none."""
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [as_row([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], as_row(["---"] * width), *lines[1:]])


def as_row(cells: Sequence[str]) -> str:
    """One row; a cell cannot end it or the next cell."""
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(cell: str) -> str:
    if "|" not in cell and "\n" not in cell and "\r" not in cell:
        return cell
    return " ".join(cell.replace("|", "\\|").splitlines())
