"""Workbooks (.xlsx, .xls, .xlsb, .ods) as raw tables, one for each sheet that has cells.

Cells are what was saved: a formula is its last result. Dates are dates, whole numbers integers. A
column of one kind of cell keeps it; one with several, or with fractions, is text at first and is
examined like the text of a CSV.
"""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from duckdb import DuckDBPyConnection
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError

from dataagent_core.data.files.cells import LAST_EXACT, Cell, text_of
from dataagent_core.data.files.delimited import append, check_width
from dataagent_core.data.files.headers import LOOK_ROWS, TableHeader, find_header
from dataagent_core.data.files.types import FileLimits, InputFile, RawTable
from dataagent_core.errors import BadInput, LimitReached

_BATCH_CELLS = 500_000


def read_workbook(
    connection: DuckDBPyConnection, file: InputFile, limits: FileLimits, *, into: str
) -> list[RawTable]:
    """The sheets that have cells, each in a temporary table named after `into`.

    Raises:
        BadInput: the workbook is broken or encrypted, or has no cells.
        LimitReached: a sheet is too large.
    """
    book = _opened(file)
    raws: list[RawTable] = []
    for number, name in enumerate(book.sheet_names):
        if sheet := _sheet(file, book, name):
            raws.append(_read_sheet(connection, file, sheet, limits, into=f"{into}_{number}"))
    if not raws:
        raise BadInput(f"'{file.name}' has no cells. Load a workbook that has rows.")
    if errors := _error_cells(file):
        raws[0].notes.append(f"{errors} cells of the workbook hold an error (#N/A, …): no value.")
    return raws if len(raws) == 1 else [replace(raw, label=raw.sheet) for raw in raws]


def _opened(file: InputFile) -> CalamineWorkbook:
    try:
        with open(file.path, "rb") as stream:
            stream.seek(0)
            return CalamineWorkbook.from_filelike(stream)
    except PasswordError as error:
        raise BadInput(f"'{file.name}' is encrypted. Save it without a password.") from error
    except (CalamineError, OSError, ValueError) as error:
        raise BadInput(
            f"'{file.name}' is broken or encrypted: {error}. Save it again, without a password."
        ) from error


def _sheet(file: InputFile, book: CalamineWorkbook, name: str) -> CalamineSheet | None:
    """The sheet, or None when it has no cells (charts have none either)."""
    try:
        sheet = book.get_sheet_by_name(name)
    except (CalamineError, OSError, ValueError) as error:
        raise BadInput(f"Sheet '{name}' of '{file.name}' is broken: {error}.") from error
    return sheet if sheet.height and sheet.width else None


def _error_cells(file: InputFile) -> int:
    """How many cells of an .xlsx hold an error; calamine gives them as empty."""
    if not zipfile.is_zipfile(file.path):
        return 0
    count = 0
    with zipfile.ZipFile(file.path) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name):
                with archive.open(name) as part:
                    while chunk := part.read(1024 * 1024):
                        count += chunk.count(b't="e"')
    return count


def _read_sheet(
    connection: DuckDBPyConnection,
    file: InputFile,
    sheet: CalamineSheet,
    limits: FileLimits,
    *,
    into: str,
) -> RawTable:
    where = f"{file.name}, sheet {sheet.name}"
    check_width(where, sheet.width, limits)
    if sheet.height > limits.max_rows:
        raise LimitReached(f"'{where}' has more than {limits.max_rows:,} rows. Split it.")
    first = [[text_of(cell) for cell in row] for row in islice(sheet.iter_rows(), LOOK_ROWS)]
    header = _join_header_rows(first, find_header(first), sheet)
    kinds = _column_types(sheet, header.skip)
    columns = ", ".join(f"c{i + 1} {kind}" for i, kind in enumerate(kinds))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {into} ({columns})")
    for batch in _batches(sheet, header.skip, kinds):
        append(connection, into, batch, kinds)
    names = header.names or (None,) * len(kinds)
    guesses = ("any",) * len(kinds)
    return RawTable(into, names, tuple(kinds), guesses, sheet=sheet.name, notes=header.notes())


def _join_header_rows(
    first: Sequence[Sequence[str | None]], header: TableHeader, sheet: CalamineSheet
) -> TableHeader:
    """Join a header whose merged cells stand over names of their own: `2024` over `Sales`."""
    top = header.skip - 1
    merged = [
        (left, right)
        for (row, left), (last, right) in sheet.merged_cell_ranges or []
        if row == top == last and right > left
    ]
    if header.names is None or not merged or header.skip >= len(first):
        return header
    upper, lower = list(header.names), first[header.skip]
    if find_header(first[header.skip :]).skip != 1:
        return header
    for left, right in merged:
        upper[left : right + 1] = [upper[left]] * (right - left + 1)
    names = tuple(
        " ".join(part for part in (over, under) if part) or None
        for over, under in zip(upper, lower, strict=True)
    )
    return TableHeader(header.skip + 1, names, header.titles)


def _column_types(sheet: CalamineSheet, skip: int) -> list[str]:
    """The type of each column, from the kinds of all its cells."""
    seen: list[set[type]] = [set() for _ in range(sheet.width)]
    is_whole = [True] * sheet.width
    for row in islice(sheet.iter_rows(), skip, None):
        for index, cell in enumerate(row):
            if cell == "" and isinstance(cell, str):
                continue
            seen[index].add(type(cell))
            if type(cell) is float and is_whole[index]:
                is_whole[index] = cell.is_integer() and abs(cell) <= LAST_EXACT
    return [_column_type(kinds, whole) for kinds, whole in zip(seen, is_whole, strict=True)]


def _column_type(kinds: set[type], is_whole: bool) -> str:
    if not kinds:
        return "VARCHAR"
    if kinds <= {int, float}:
        return "BIGINT" if is_whole else "VARCHAR"  # as decimals, if their digits allow it
    if kinds <= {dt.date, dt.datetime}:
        return "DATE" if kinds == {dt.date} else "TIMESTAMP"
    if kinds == {bool}:
        return "BOOLEAN"
    return "TIME" if kinds == {dt.time} else "VARCHAR"


def _batches(sheet: CalamineSheet, skip: int, kinds: Sequence[str]) -> Iterator[list[list[object]]]:
    """The rows of data, by column. Rows without a cell are none, as are blank lines of a CSV."""
    rows = (row for row in islice(sheet.iter_rows(), skip, None) if any(c != "" for c in row))
    size = max(1, _BATCH_CELLS // len(kinds))
    while batch := list(islice(rows, size)):
        yield [
            [_value(cell, kind) for cell in cells]
            for cells, kind in zip(zip(*batch, strict=True), kinds, strict=True)
        ]


def _value(cell: Cell, kind: str) -> Cell:
    if isinstance(cell, str):
        return cell or None
    if kind == "VARCHAR":
        return text_of(cell)
    if kind == "BIGINT":
        return int(cell)
    if kind == "TIMESTAMP" and type(cell) is dt.date:
        return dt.datetime(cell.year, cell.month, cell.day)  # noqa: DTZ001 Excel knows no zones
    return cell
