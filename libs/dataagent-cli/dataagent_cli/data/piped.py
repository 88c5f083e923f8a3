"""Tells piped data from text by its beginning, and writes it to a file as it came.

Binary formats and JSON are recognised by their first bytes. Lines are a table when each has the
same number of fields, at least two, below headings; anything else is text.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from dataagent_cli.input.piped import note_if_silent, text_of
from dataagent_core.data.dialects import DIALECTS

NAME = "input"
"""What a source of piped data, and its table, are called."""
_HEAD = 256 * 1024
_MAGIC = (
    (0, b"PAR1", ".parquet"),
    (0, b"PK\x03\x04", ".xlsx"),
    (0, b"\xd0\xcf\x11\xe0", ".xls"),
    *((*each.file_start, each.file_endings[0]) for each in DIALECTS if each.file_start),
)
_DELIMITERS = {",": ".csv", ";": ".csv", "\t": ".tsv", "|": ".psv"}
_LONGEST_HEADING = 100
_CSV_FIELD = 1024 * 1024


def read_piped_data(
    source: BinaryIO, folder: Path, *, note: Callable[[str], None], is_data: bool = False
) -> Path | str:
    """The input as a file in `folder` if it is data, else as text.

    With `is_data`, anything but an empty input is data.

    Raises:
        NotText: it is neither data nor UTF-8 text.
    """
    note_if_silent(source, note)
    head = source.read(_HEAD)
    ending = detect_ending(head, is_whole=len(head) < _HEAD)
    if ending is None and not (is_data and head.strip()):
        return text_of(head + source.read())
    path = folder / f"{NAME}{ending or '.csv'}"
    with path.open("xb") as file:
        file.write(head)
        shutil.copyfileobj(source, file)
    return path


def detect_ending(head: bytes, *, is_whole: bool) -> str | None:
    """The file ending of data that begins so; None for text."""
    for start, magic, ending in _MAGIC:
        if head[start:].startswith(magic):
            return ending
    text = _decode_leniently(head)
    if "\x00" in text:
        return None
    return _json_ending(text, is_whole=is_whole) or _table_ending(text, is_whole=is_whole)


def _decode_leniently(head: bytes) -> str:
    """The text, with commas and line ends in their places, whatever its encoding."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", errors="replace")
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError:  # cut within a character, or another encoding
        return head.decode("latin-1").removeprefix("ï»¿")


def _json_ending(text: str, *, is_whole: bool) -> str | None:
    start = text.lstrip()
    first, _, rest = start.partition("\n")
    if start.startswith("{") and rest.lstrip().startswith("{") and _is_json(first):
        return ".jsonl"
    if start.startswith("[") and not start[1:].lstrip().startswith(("{", "[")):
        return None
    if start.startswith(("{", "[")) and (not is_whole or _is_json(start)):
        return ".json"
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _table_ending(text: str, *, is_whole: bool) -> str | None:
    widths = {delimiter: _width(text, delimiter, is_whole=is_whole) for delimiter in _DELIMITERS}
    best = max(widths, key=lambda delimiter: widths[delimiter])
    return _DELIMITERS[best] if widths[best] > 1 else None


def _width(text: str, delimiter: str, *, is_whole: bool) -> int:
    """The number of fields of each line; 0 if lines differ, or there is only one."""
    csv.field_size_limit(_CSV_FIELD)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    except csv.Error:
        return 0
    if not is_whole:
        rows = rows[:-1]  # the last one may be cut
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        return 0
    headings = [heading.strip() for heading in rows[0]]
    is_named = all(headings[1:]) and len(set(headings)) == len(headings)
    return len(headings) if is_named and max(map(len, headings)) <= _LONGEST_HEADING else 0
