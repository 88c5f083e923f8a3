"""Tables and files of an answer, ready to be drawn. Pure.

An artefact's event has the first rows of a table; the server has the rest. Columns come out as a
page takes them: one kind of value each. Above: `blocks.py`, `answer.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dataagent_client import ArtifactEvent, Rows

MOST_ROWS = 1_000
Columns = dict[str, list[Any]]  # Any: cells are JSON values


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table: its first rows as the event had them, and what it rests on."""

    artifact_id: str
    title: str
    first: Rows
    row_count: int | None
    sql: str | None
    source: str | None
    truncated: str | None = None  # why the source has more rows than were read
    other_columns: int = 0  # that the first rows lack

    def caption(self, shown: int) -> str:
        """How much of the table is shown, where it is from, and whether the source has more."""
        count = self.row_count
        is_cut = count is not None and count > shown
        said = f"前 {shown:,} 行，共 {count:,} 行" if is_cut else f"{shown:,} 行"
        return " · ".join(part for part in (said, self.source, self.truncated) if part)

    @property
    def only_first(self) -> str:
        """What is missing where only the first rows are shown."""
        return f" · 另有 {self.other_columns:,} 列" if self.other_columns else ""


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A file the answer made."""

    file_id: str
    title: str
    size: int | None

    @property
    def text(self) -> str:
        """The file in a line."""
        return self.title if self.size is None else f"{self.title} · {_bytes(self.size)}"


def artifact_block(event: ArtifactEvent) -> TableBlock | FileBlock:
    """A table or a file as an answer shows it."""
    preview = _object(event.preview)
    if event.kind == "file":
        size = preview.get("size")
        return FileBlock(event.artifact_id, event.title, size if isinstance(size, int) else None)
    receipt = _object(preview.get("receipt"))
    count = preview.get("row_count")
    others = _object(preview.get("other_columns")).get("count")
    return TableBlock(
        event.artifact_id,
        event.title,
        _first_rows(preview),
        count if isinstance(count, int) else None,
        _text(receipt.get("sql_executed") or receipt.get("sql")),
        _text(receipt.get("source")),
        _text(preview.get("truncated")),
        others if isinstance(others, int) else 0,
    )


def columns_of(rows: Rows) -> Columns:
    """The rows by column. Where kinds of values are mixed, all are text."""
    cells = list(zip(*rows.rows, strict=True)) or [()] * len(rows.columns)
    return {name: _of_one_kind(column) for name, column in zip(rows.columns, cells, strict=False)}


def _of_one_kind(cells: Sequence[Any]) -> list[Any]:
    kinds: set[type] = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} or kinds in ({str}, {bool}):
        return list(cells)
    return [None if cell is None else _cell_text(cell) for cell in cells]


def _cell_text(cell: Any) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)


def _first_rows(preview: dict[str, Any]) -> Rows:
    """The rows of the event that are whole."""
    described: list[Any] = preview.get("columns") or []
    names = tuple(str(_object(each).get("name")) for each in described)
    rows: list[list[Any]] = preview.get("rows") or []
    return Rows(names, [row for row in rows if len(row) == len(names)])


def _object(value: Any) -> dict[str, Any]:
    # JSON
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _bytes(size: int) -> str:
    for unit, least in (("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} 字节"
