"""Reads plain text, Markdown, CSV and JSON as they are. Runs in the reading process.

The encoding is detected as for tables (`data/files`), so both readings agree.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from dataagent_core.data.files.encodings import encoding_of
from dataagent_core.data.files.types import InputFile
from dataagent_core.documents.output import DocumentOutput, count_of

_NAMES = {"text": "Text", "csv": "CSV", "json": "JSON"}


def read_plain(
    file: InputFile, output: DocumentOutput, kind: Literal["text", "csv", "json"]
) -> None:
    """Write the lines, from the start on.

    Raises:
        BadInput: it is not text in any encoding we know.
    """
    text = _decode(file, output)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    output.what = f"{_NAMES[kind]}, {count_of(len(lines), 'line')}"
    if kind == "json":
        _describe_json(text, output)
    output.has_rows = output.has_rows or (kind == "csv" and len(lines) > 1)
    first = output.begin_at("line", len(lines))
    last = first
    for number in range(first, len(lines)):
        last = number + 1
        if not output.add(f"{lines[number]}\n"):
            break
    output.ended_at("line", last, len(lines))


def _decode(file: InputFile, output: DocumentOutput) -> str:
    encoding, mark, note = encoding_of(file)
    if note:
        output.notes.append(note)
    content = Path(file.path).read_bytes()
    return content[mark:].decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def _describe_json(text: str, output: DocumentOutput) -> None:
    """Describe the JSON; invalid JSON is shown all the same."""
    try:
        value: Any = json.loads(text)
    except RecursionError:
        output.notes.append("The JSON is nested too deeply to be checked.")
        return
    except ValueError as error:
        output.notes.append(f"It is not valid JSON: {error}.")
        return
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] JSON
        output.what += f", an array of {len(items):,}"
        output.has_rows = bool(items) and all(isinstance(item, dict) for item in items)
    elif isinstance(value, dict):
        keys: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] JSON
        output.what += f", an object with {count_of(len(keys), 'key')}"
