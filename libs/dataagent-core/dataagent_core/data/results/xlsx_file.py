"""A result as an Excel workbook, in constant memory.

Excel's numbers have 15 digits: an integer or decimal with more is written as text, whole. Dates and
times are real ones; an instant with a zone is ISO 8601 text, because Excel has no zones, and so is
a time that Excel cannot hold. NULL leaves the cell out, the empty text is a cell. Nothing is ever a
formula or a link. Rows beyond a sheet's end go on in the next sheet. XlsxWriter builds the file on
disk before its first byte can be sent.
"""

# pyarrow and XlsxWriter have no type stubs: this module is a border to them.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dataagent_core.data.arrow import pa
from dataagent_core.data.results.cells import shown_floats, texts
from dataagent_core.errors import BadInput

if TYPE_CHECKING:
    import xlsxwriter
    from xlsxwriter.worksheet import Worksheet

    _Write = Callable[[Worksheet, int, int, Any], object]  # Any: a value of the column's type

MAX_ROWS = 1_048_576  # of a sheet, its header among them
MAX_COLUMNS = 16_384
MAX_TEXT = 32_767  # UTF-16 units of a cell
_MAX_DIGITS = 15
_FIRST_DAY = date(1900, 3, 1)  # before it Excel counts a day that never was
_FINE_TIMES_END = 2079  # from then on a double holds no microseconds
_CHUNK = 1024 * 1024


class _ExactNumber(float):
    """A number that is written with all its digits; XlsxWriter would leave the 17th out."""

    def __format__(self, spec: str) -> str:
        """All digits, whatever is requested."""
        return repr(float(self)).upper()


def xlsx_bytes(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], *, near: Path
) -> Iterator[bytes]:
    """The workbook, built in a folder below `near` and then sent piece by piece.

    Raises:
        BadInput: there are more columns than a sheet has.
    """
    if len(names) > MAX_COLUMNS:
        raise BadInput(
            f"A sheet has {MAX_COLUMNS:,} columns and the result {len(names):,}. "
            "Export it as csv, parquet or json, or select fewer columns."
        )
    return _built_and_sent(batches, names, near)


def _built_and_sent(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], near: Path
) -> Iterator[bytes]:
    import xlsxwriter  # here, because it is seldom needed

    with TemporaryDirectory(prefix=".xlsx-", dir=near) as folder:
        built = Path(folder) / "result.xlsx"
        options = {"constant_memory": True, "tmpdir": folder, "in_memory": False}
        with xlsxwriter.Workbook(str(built), options) as workbook:
            _Sheets(workbook, names).write(batches)
        with built.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


class _Sheets:
    """Writes rows, opening a sheet when the last one is full."""

    def __init__(self, workbook: xlsxwriter.Workbook, names: Sequence[str]) -> None:
        self._workbook = workbook
        self._names = names
        self._bold = workbook.add_format({"bold": True})
        self._count = 0
        self._row = MAX_ROWS
        self._sheet: Worksheet | None = None

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._open()
        writers: list[_Write] | None = None
        for batch in batches:
            if writers is None:
                writers = [self._writer(field.type) for field in batch.schema]
            columns = [_values(column) for column in batch.columns]
            for row in zip(*columns, strict=True):
                self._write_row(writers, row)

    def _write_row(self, writers: Sequence[_Write], row: Sequence[Any]) -> None:
        if self._row == MAX_ROWS:
            self._open()
        sheet, number = self._sheet, self._row
        for column, (write, value) in enumerate(zip(writers, row, strict=True)):
            if value is not None:
                # `_open` has set the sheet
                write(sheet, number, column, value)  # pyright: ignore[reportArgumentType]
        self._row += 1

    def _open(self) -> None:
        self._count += 1
        title = "Result" if self._count == 1 else f"Result {self._count}"
        self._sheet = self._workbook.add_worksheet(title)
        self._sheet.freeze_panes(1, 0)
        for column, name in enumerate(self._names):
            _write_text(self._sheet, 0, column, name, self._bold)
        self._row = 1

    def _writer(self, kind: pa.DataType) -> _Write:
        """How values of the type are written."""
        types = pa.types
        if types.is_boolean(kind):
            return _write_boolean
        if types.is_integer(kind):
            return _write_integer
        if types.is_floating(kind):
            return _write_float
        if types.is_decimal(kind):
            return _decimal_writer(self._workbook, kind.scale)
        if _is_plain_time(kind):
            return _time_writer(self._workbook, kind)
        return _write_text


def _is_plain_time(kind: pa.DataType) -> bool:
    types = pa.types
    is_naive = types.is_timestamp(kind) and kind.tz is None
    return types.is_date(kind) or types.is_time(kind) or is_naive


def _values(column: pa.Array) -> list[Any]:
    """Python values for what Excel has a type for, else text. Times come as ISO 8601 text."""
    kind = column.type
    types = pa.types
    if types.is_floating(kind):
        return shown_floats(column).to_pylist()
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return column.to_pylist()
    return texts(column).to_pylist()


# -- cells ----------------------------------------------------------------------------------


def _write_text(sheet: Worksheet, row: int, column: int, text: str, style: Any = None) -> None:
    """A text, never a formula; too long for a cell, it is cut and marked."""
    text = _cut(text)
    if text.startswith("<r>") and text.endswith("</r>"):  # XlsxWriter would take it for its own XML
        styles = [] if style is None else [style]
        sheet.write_rich_string(row, column, text[0], text[1], text[2:], *styles)
    else:
        sheet.write_string(row, column, text, style)


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT // 2 or len(text.encode("utf-16-le")) <= 2 * MAX_TEXT:
        return text
    mark = f"…[cut: {len(text)} characters]"
    space = 2 * (MAX_TEXT - len(mark))
    return text.encode("utf-16-le")[:space].decode("utf-16-le", "ignore") + mark


def _write_boolean(sheet: Worksheet, row: int, column: int, value: bool) -> None:  # a cell's value
    sheet.write_boolean(row, column, value)


def _write_integer(sheet: Worksheet, row: int, column: int, value: int) -> None:
    if abs(value) < 10**_MAX_DIGITS:
        sheet.write_number(row, column, value)
    else:
        sheet.write_string(row, column, str(value))


def _write_float(sheet: Worksheet, row: int, column: int, value: float) -> None:
    if math.isfinite(value):
        sheet.write_number(row, column, _ExactNumber(value))
    else:
        named = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        sheet.write_string(row, column, named)


def _decimal_writer(workbook: xlsxwriter.Workbook, scale: int) -> _Write:
    style = workbook.add_format({"num_format": "0." + "0" * scale if scale else "0"})

    def write(sheet: Worksheet, row: int, column: int, value: Decimal) -> None:
        digits = value.normalize().as_tuple().digits
        if len(digits) <= _MAX_DIGITS and abs(value.adjusted()) < _MAX_DIGITS:
            sheet.write_number(row, column, _ExactNumber(value), style)
        else:
            sheet.write_string(row, column, f"{value:f}")

    return write


def _time_writer(workbook: xlsxwriter.Workbook, kind: pa.DataType) -> _Write:
    pattern, parse = _time_form(kind)
    style = workbook.add_format({"num_format": pattern})

    def write(sheet: Worksheet, row: int, column: int, text: str) -> None:
        moment = _excel_time(text, parse)
        if moment is None:
            sheet.write_string(row, column, text)
        else:
            sheet.write_number(row, column, _ExactNumber(_serial(moment)), style)

    return write


def _time_form(kind: pa.DataType) -> tuple[str, Callable[[str], date | time]]:
    if pa.types.is_date(kind):
        return "yyyy-mm-dd", date.fromisoformat
    if pa.types.is_time(kind):
        return "hh:mm:ss.000", time.fromisoformat
    return "yyyy-mm-dd hh:mm:ss.000", datetime.fromisoformat


def _excel_time(text: str, parse: Callable[[str], date | time]) -> date | time | None:
    """The moment, or None if Excel cannot hold it as it is."""
    if len(text.partition(".")[2]) > 6:  # nanoseconds
        return None
    try:
        moment = parse(text)
    except ValueError:  # a year before 1 or after 9999
        return None
    if isinstance(moment, time):
        return moment
    day = moment.date() if isinstance(moment, datetime) else moment
    is_fine = isinstance(moment, datetime) and moment.microsecond % 1000 != 0
    return None if day < _FIRST_DAY or (is_fine and day.year >= _FINE_TIMES_END) else moment


def _serial(moment: date | time) -> float:
    """Days since Excel's beginning."""
    day = 0
    if isinstance(moment, date):
        day = moment.toordinal() - date(1899, 12, 30).toordinal()
    clock = moment.time() if isinstance(moment, datetime) else moment
    if not isinstance(clock, time):
        return day
    seconds = (clock.hour * 60 + clock.minute) * 60 + clock.second
    return day + (seconds * 10**6 + clock.microsecond) / 86_400_000_000
