"""Text files as they are: plain text, Markdown, CSV and JSON. Runs in the reading process.

The encoding is found as for tables (`data/files/encodings.py`), so both readings agree.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from dataagent_core.data.files.encodings import encoding_of
from dataagent_core.data.files.tables import OpenFile
from dataagent_core.documents.reading import Reading, counted

_NAMES = {"text": "Text", "csv": "CSV", "json": "JSON"}


def read_plain(file: OpenFile, reading: Reading, kind: Literal["text", "csv", "json"]) -> None:
    """Give the lines out, from the start on.

    Raises:
        BadInput: it is not text in any encoding we know.
    """
    text = _decoded(file, reading)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    reading.what = f"{_NAMES[kind]}, {counted(len(lines), 'line')}"
    if kind == "json":
        _describe_json(text, reading)
    reading.has_rows = reading.has_rows or (kind == "csv" and len(lines) > 1)
    first = reading.begin_at("line", len(lines))
    last = first
    for number in range(first, len(lines)):
        last = number + 1
        if not reading.add(f"{lines[number]}\n"):
            break
    reading.ended_at("line", last, len(lines))


def _decoded(file: OpenFile, reading: Reading) -> str:
    encoding, mark, note = encoding_of(file)
    if note:
        reading.notes.append(note)
    content = Path(file.path).read_bytes()
    return content[mark:].decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def _describe_json(text: str, reading: Reading) -> None:
    """Say what the JSON is; text that is none is shown all the same."""
    try:
        value: Any = json.loads(text)
    except RecursionError:
        reading.notes.append("The JSON is nested too deeply to be checked.")
        return
    except ValueError as error:
        reading.notes.append(f"It is not valid JSON: {error}.")
        return
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] JSON
        reading.what += f", an array of {len(items):,}"
        reading.has_rows = bool(items) and all(isinstance(item, dict) for item in items)
    elif isinstance(value, dict):
        keys: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] JSON
        reading.what += f", an object with {counted(len(keys), 'key')}"
