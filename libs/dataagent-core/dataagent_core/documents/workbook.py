"""Reads the sheets of a workbook as tables of text with Excel's addresses. Runs in the reading
process.

Cells are the saved values, formatted like tables in `data/`. Calamine returns empty cells for
errors and for formulas saved without a result, which would hide that something is missing;
`Formulas` finds them with patterns in the beginning of each sheet's XML, and they are shown as what
they are.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import BinaryIO

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetMetadata,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from dataagent_core.data.files.cells import text_of
from dataagent_core.documents.output import DocumentOutput, as_row, count_of
from dataagent_core.errors import BadFile

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
    """The formulas without a result and the errors of a workbook, sheet by sheet."""

    def __init__(self, stream: BinaryIO) -> None:
        stream.seek(0)
        self._archive = zipfile.ZipFile(stream) if zipfile.is_zipfile(stream) else None
        self._parts = self._find_parts() if self._archive is not None else {}

    def of(self, sheet: str, first_row: int, last_row: int) -> dict[tuple[int, int], str]:
        """Return such cells of the rows by row and column, from 0, as `=A1+B1` or `#N/A`."""
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
        """Find the archive's part of each sheet."""
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
        """Read the beginning of a part; empty if it is missing or broken."""
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


_MOST_MERGED = 20
_MOST_COLUMNS = 2000


def read_workbook(stream: BinaryIO, output: DocumentOutput) -> None:
    """Write the sheets, of each the rows from the start on, as many as allowed.

    Raises:
        BadFile: it is broken or encrypted.
    """
    book = _open_workbook(stream, output)
    sheets = book.sheets_metadata
    output.what = f"Workbook, {count_of(len(sheets), 'sheet')}"
    formulas = Formulas(stream)
    unread: list[str] = []
    for about in sheets:
        if output.is_full:
            unread.append(about.name)
        elif about.typ != SheetTypeEnum.WorkSheet:
            output.notes.append(f"'{about.name}' is no sheet of cells and was not read.")
        elif not _read_sheet(book, about, formulas, output):
            unread.append(about.name)
    if unread:
        named = ", ".join(f"'{name}'" for name in unread[:_MOST_MERGED])
        output.cuts.append(f"Not shown at all: {count_of(len(unread), 'sheet')}, {named}.")


def _open_workbook(stream: BinaryIO, output: DocumentOutput) -> CalamineWorkbook:
    try:
        return CalamineWorkbook.from_filelike(stream)  # pyright: ignore[reportArgumentType] a file
    except PasswordError as error:
        raise BadFile(f"'{output.name}' is encrypted. Save it without a password.") from error
    except (CalamineError, OSError, ValueError) as error:
        raise BadFile(f"'{output.name}' is broken or cut off. Save it again.") from error


def _read_sheet(
    book: CalamineWorkbook, about: SheetMetadata, formulas: Formulas, output: DocumentOutput
) -> bool:
    """Write a sheet, and return whether the limit allowed to begin it."""
    output.at(f"sheet '{about.name}'")
    try:
        sheet = book.get_sheet_by_name(about.name)
    except (CalamineError, OSError, ValueError):
        output.notes.append(f"Sheet '{about.name}' is broken and could not be read.")
        return True
    hidden = "" if about.visible == SheetVisibleEnum.Visible else ", hidden"
    if sheet.start is None or sheet.end is None:
        return output.add(f"## Sheet '{about.name}' (empty{hidden})\n\n")
    output.has_rows = True
    total, width = sheet.end[0] + 1, sheet.end[1] + 1 - sheet.start[1]
    size = f"{count_of(total, 'row')}, {count_of(width, 'column')}{hidden}"
    if not output.add(f"## Sheet '{about.name}' ({size})\n\n"):
        return False
    last_row = output.start + output.limits.rows - 1
    special = formulas.of(about.name, output.start, last_row)
    _note(about.name, sheet, special, output)
    _give_rows(sheet, special, output, total)
    return True


def _give_rows(
    sheet: CalamineSheet, special: Mapping[tuple[int, int], str], output: DocumentOutput, total: int
) -> None:
    first = output.start - 1
    left, shown = (sheet.start or (0, 0))[1], 0
    for number, row in _rows(sheet, special, left, first, first + output.limits.rows):
        if shown == 0:
            output.add(_head(left, len(row)))
        shown = number
        if not output.add(f"{as_row([str(number), *row])}\n"):
            break
    output.add("\n")
    where = f"sheet '{sheet.name}' "
    if first:
        output.cuts.append(f"Passed over: {where}{count_of(min(first, total), 'row')} at first.")
    last = shown if output.is_full else min(total, first + output.limits.rows)
    output.ended_at("row", last, total, where=where)


def _rows(
    sheet: CalamineSheet, special: Mapping[tuple[int, int], str], left: int, first: int, end: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that have cells, with Excel's row numbers."""
    for index, cells in enumerate(islice(sheet.iter_rows(), first, end), first):
        row = [text_of(cell) or "" for cell in cells[:_MOST_COLUMNS]]
        for place, text in enumerate(row):
            if not text and special:
                row[place] = special.get((index, left + place), "")
        if any(row):
            yield index + 1, row


def _head(left: int, width: int) -> str:
    letters = [column_letters(left + place) for place in range(width)]
    return f"{as_row(['row', *letters])}\n{as_row(['---'] * (width + 1))}\n"


def _note(
    name: str, sheet: CalamineSheet, special: Mapping[tuple[int, int], str], output: DocumentOutput
) -> None:
    open_formulas = sum(text.startswith("=") for text in special.values())
    if open_formulas:
        output.notes.append(
            f"Sheet '{name}': saved without a result, shown as they are and without a value in a "
            f"table: {count_of(open_formulas, 'formula')}."
        )
    if errors := len(special) - open_formulas:
        output.notes.append(
            f"Sheet '{name}': {count_of(errors, 'cell')} with an error, such as #N/A."
        )
    merged = sheet.merged_cell_ranges or []
    if merged:
        named = ", ".join(_range(*one) for one in merged[:_MOST_MERGED])
        more = f" and {len(merged) - _MOST_MERGED} more" if len(merged) > _MOST_MERGED else ""
        output.notes.append(
            f"Sheet '{name}': merged cells {named}{more}; the value stands in the first of them."
        )
    if sheet.end is not None and sheet.start is not None:
        width = sheet.end[1] + 1 - sheet.start[1]
        if width > _MOST_COLUMNS:
            output.cuts.append(f"Sheet '{name}': {_MOST_COLUMNS:,} of {width:,} columns are shown.")


def _range(first: tuple[int, int], last: tuple[int, int]) -> str:
    return f"{column_letters(first[1])}{first[0] + 1}:{column_letters(last[1])}{last[0] + 1}"


def column_letters(index: int) -> str:
    """Return a column's letters: `A` for 0, `AA` for 26."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
