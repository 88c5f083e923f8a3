"""A result that a run has kept, as a small table in the terminal. Pure.

The rows are those of the event's preview; how many there are in all is said, and how to have them.
Above: the renderers. Below: `table.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from dataagent_cli.ui.clean import one_line
from dataagent_cli.ui.describe import as_text
from dataagent_cli.ui.table import Heading, draw
from dataagent_core.events import ArtifactEvent

_SHOWN_ROWS = 10
_NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")


def table_text(event: ArtifactEvent, *, width: int, export: str | None) -> str | None:
    """The table and a line about it; None if the event brings no rows along.

    `export` is the command that writes a kept result to a file, if there is one.
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
