"""Cells of an .xlsx that hold a formula without a result, or an error. Runs in the reading process.

Calamine gives both as empty cells, which would hide that something is missing. Only the beginning
of each sheet's XML is looked at, by patterns: nothing is parsed or resolved.
"""

from __future__ import annotations

import html
import re
import zipfile
from typing import BinaryIO

_MOST_XML = 32 * 1024 * 1024
# No tag is looked for beyond the next `<`, which XML has only where one begins: what one search has
# passed over in vain is not passed over by the next.
_SHEET = re.compile(rb"<(?:\w+:)?sheet\b[^<>]*>")
_RELATION = re.compile(rb"<(?:\w+:)?Relationship\b[^<>]*>")
_CELL = re.compile(
    rb"<(?:\w+:)?c\b(?P<about>[^<>]*[^<>/])>(?P<inside>(?:(?!</?(?:\w+:)?c\b).){0,20000}?)"
    rb"</(?:\w+:)?c>",
    re.DOTALL,
)
_FORMULA = re.compile(rb"<(?:\w+:)?f\b[^<>]*?(?:/>|>(?P<text>[^<]*)</)")
_VALUE = re.compile(rb"<(?:\w+:)?v(?: [^<>]*)?>(?P<text>[^<]+)</")
_ADDRESS = re.compile(rb'\br="(?P<column>[A-Z]{1,3})(?P<row>[0-9]{1,7})"')


class Formulas:
    """The special cells of a workbook, sheet by sheet."""

    def __init__(self, stream: BinaryIO) -> None:
        stream.seek(0)
        self._archive = zipfile.ZipFile(stream) if zipfile.is_zipfile(stream) else None
        self._parts = self._find_parts() if self._archive is not None else {}

    def of(self, sheet: str, first_row: int, last_row: int) -> dict[tuple[int, int], str]:
        """Row and column, from 0, of such cells in these rows, and `=A1+B1` or `#N/A`."""
        part = self._parts.get(sheet)
        content = self._content(part) if part else b""
        found: dict[tuple[int, int], str] = {}
        for cell in _CELL.finditer(content) if b"<" in content else ():
            address = _ADDRESS.search(cell["about"])
            if address is None:
                continue
            row = int(address["row"])
            if row > last_row:
                break
            text = _special(cell["about"], cell["inside"])
            if text and row >= first_row:
                found[row - 1, _column(address["column"])] = text
        return found

    def _find_parts(self) -> dict[str, str]:
        """Which part of the archive each sheet is."""
        targets = {
            _attribute(relation, "Id"): _attribute(relation, "Target")
            for relation in _RELATION.findall(self._content("xl/_rels/workbook.xml.rels"))
        }
        parts: dict[str, str] = {}
        for sheet in _SHEET.findall(self._content("xl/workbook.xml")):
            target = targets.get(_attribute(sheet, "id"), "")
            parts[_attribute(sheet, "name")] = (
                target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            )
        return parts

    def _content(self, name: str) -> bytes:
        """The beginning of a part; empty when it is not there or broken."""
        if self._archive is None:
            return b""
        try:
            with self._archive.open(name) as part:
                return part.read(_MOST_XML)
        except (KeyError, OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
            return b""  # not there, broken, encrypted, or packed in a way zipfile does not know


def _special(about: bytes, inside: bytes) -> str | None:
    value = _VALUE.search(inside)
    if b't="e"' in about and value is not None:
        return html.unescape(value["text"].decode("utf-8", errors="replace"))
    formula = _FORMULA.search(inside)
    if formula is None or value is not None:
        return None
    text = html.unescape((formula["text"] or b"").decode("utf-8", errors="replace"))
    return f"={text or ' (as in a cell above)'}"


def _attribute(tag: bytes, name: str) -> str:
    found = re.search(rb"(?:[\s:])" + name.encode() + rb'="([^"]*)"', tag)
    return html.unescape(found[1].decode("utf-8", errors="replace")) if found else ""


def _column(letters: bytes) -> int:
    index = 0
    for letter in letters:
        index = index * 26 + letter - ord("A") + 1
    return index - 1
