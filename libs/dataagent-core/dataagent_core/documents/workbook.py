"""The sheets of a workbook as tables of text, with the addresses Excel shows. Reading process.

Cells are what was saved, written as tables in `data/` write them. A formula that was saved without
its result is shown as a formula; an error is shown as an error; neither is a value. Below:
python-calamine, `formulas.py`.
"""

from __future__ import annotations

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
from dataagent_core.documents.formulas import Formulas
from dataagent_core.documents.output import DocumentOutput, count_of
from dataagent_core.documents.rows import as_row
from dataagent_core.errors import BadFile

_MOST_MERGED = 20
_MOST_COLUMNS = 2000


def read_workbook(stream: BinaryIO, output: DocumentOutput) -> None:
    """Give the sheets out, of each the rows from the start on, as many as allowed.

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
    """Give a sheet out; whether there was room to begin it."""
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
    """Rows that have cells, with their numbers as Excel shows them."""
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
    """`A` of 0, `AA` of 26."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
