"""CSV, TSV and their kin as raw tables of text.

An even file is scanned by DuckDB's own reader. One that is not (rows of different length, stray
quotes, mixed line ends) is read row by row with Python's, so that nothing is dropped; a row that is
longer than the header gets columns of its own. Above: `build.py`. Below: `dialects.py`,
`headers.py`, `encodings.py`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from dataagent_core.data.files.batches import append
from dataagent_core.data.files.csv_dialect import CsvDialect, detect_dialect
from dataagent_core.data.files.headers import LOOK_ROWS, TableHeader, find_header
from dataagent_core.data.files.names import literal
from dataagent_core.data.files.tables import FileLimits, RawTable
from dataagent_core.errors import BadInput, LimitReached

_SAMPLE_BYTES = 1024 * 1024
_BATCH_ROWS = 20_000
_BATCH_CHARS = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CsvOutline:
    """What the beginning of a file says about all of it."""

    name: str
    path: str
    dialect: CsvDialect
    header: TableHeader
    skipped_lines: int
    width: int
    is_even: bool  # fit for DuckDB's reader, as far as can be seen


def outline_csv(name: str, path: str, limits: FileLimits) -> CsvOutline:
    """Dialect, header and width of a UTF-8 file.

    Raises:
        BadInput: it has no rows.
        LimitReached: a row is longer or wider than allowed.
    """
    csv.field_size_limit(limits.max_row_bytes)
    sample = _sample(name, path, limits)
    dialect = detect_dialect(sample, name=name)
    rows, lines = _first_rows(dialect, sample)
    if not any(cell.strip() for row in rows for cell in row):
        raise BadInput(f"'{name}' is empty. Load a file that has rows.")
    check_width(name, max(len(row) for row in rows), limits)
    header = find_header(rows)
    body = rows[header.skip :]
    width = max([len(header.names or ()), *(len(row) for row in body)])
    skipped = lines[header.skip - 1] if header.skip else 0
    is_even = (
        width > 1
        and skipped == header.skip
        and not dialect.has_space_after
        and all(len(row) in (0, width) for row in body)
    )
    return CsvOutline(name, path, dialect, header, skipped, width, is_even)


def check_width(name: str, width: int, limits: FileLimits) -> None:
    """Refuse a table with too many columns.

    Raises:
        LimitReached: it has.
    """
    if width > limits.max_columns:
        raise LimitReached(
            f"'{name}' has {width:,} columns; {limits.max_columns:,} are allowed. "
            "Remove columns, or put them into rows."
        )


def _sample(name: str, path: str, limits: FileLimits) -> str:
    with open(path, "rb") as stream:
        stream.seek(0)
        head = stream.read(_SAMPLE_BYTES)
        if len(head) == _SAMPLE_BYTES and b"\n" not in head and b"\r" not in head:
            head += stream.read(limits.max_row_bytes)
            if b"\n" not in head and b"\r" not in head and stream.read(1):
                raise _too_long(name, limits)
    return head.decode("utf-8", errors="ignore")  # the last character may be cut


def _too_long(name: str, limits: FileLimits) -> LimitReached:
    return LimitReached(
        f"A row of '{name}' is longer than {limits.max_row_bytes:,} bytes. Shorten or remove it."
    )


def _first_rows(dialect: CsvDialect, sample: str) -> tuple[list[list[str]], list[int]]:
    """The first rows and, for each, the number of its last line."""
    rows: list[list[str]] = []
    lines: list[int] = []
    counter = _Lines(io.StringIO(sample, newline=""))
    for row in _rows(dialect, counter, "the file"):
        rows.append(row)
        lines.append(counter.count)
        if len(rows) > LOOK_ROWS:
            break
    is_cut = len(sample) >= _SAMPLE_BYTES // 4 and len(rows) <= LOOK_ROWS and len(rows) > 1
    return (rows[:-1], lines[:-1]) if is_cut else (rows, lines)


class _Lines:
    """An iterator of lines that counts them."""

    def __init__(self, stream: io.TextIOBase, *, limit: int = -1) -> None:
        self._stream = stream
        self._limit = limit
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(self._limit)
        if not line:
            raise StopIteration
        self.count += 1
        return line


def _rows(dialect: CsvDialect, lines: Iterator[str], name: str) -> Iterator[list[str]]:
    try:
        yield from dialect.reader(lines)
    except csv.Error as error:
        if "field larger" in str(error):
            raise LimitReached(f"A cell of '{name}' is too long: {error}.") from error
        raise BadInput(f"'{name}' cannot be read as a table: {error}.") from error


def _names(one: CsvOutline, width: int) -> tuple[str | None, ...]:
    """The names of the header, and None for columns beyond it."""
    names = one.header.names or ()
    return (*names, *([None] * (width - len(names))))


def scan_csv(one: CsvOutline, limits: FileLimits) -> RawTable:
    """The file as DuckDB reads it. A row that does not fit makes the scan fail, none is skipped."""
    columns = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(1, one.width + 1))
    relation = (
        f"read_csv({literal(one.path)}, columns = {{{columns}}}, auto_detect = false, "
        f"header = false, skip = {one.skipped_lines}, delim = {literal(one.dialect.delimiter)}, "
        f"quote = {literal(one.dialect.quote)}, escape = {literal(one.dialect.escape)}, "
        f"nullstr = '', strict_mode = true, compression = 'none', "
        f"max_line_size = {limits.max_row_bytes})"
    )
    return _raw(one, relation, one.width)


def _raw(one: CsvOutline, relation: str, width: int) -> RawTable:
    return RawTable(
        relation,
        _names(one, width),
        types=("VARCHAR",) * width,
        guesses=("any",) * width,
        notes=one.header.notes(),
        may_have_decimal_comma=one.dialect.delimiter == ";",
    )


def read_row_by_row(
    connection: DuckDBPyConnection, one: CsvOutline, limits: FileLimits, *, into: str
) -> RawTable:
    """The file as Python reads it, in a temporary table.

    Raises:
        BadInput, LimitReached: as `outline_csv`, for a row further down.
    """
    shortest, width = _measure(one, limits)
    columns = ", ".join(f"c{number} VARCHAR" for number in range(1, width + 1))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {into} ({columns})")
    batch: list[list[str]] = []
    chars = 0
    for row in _body(one, limits):
        batch.append(row + [""] * (width - len(row)))
        chars += sum(map(len, row))
        if len(batch) >= _BATCH_ROWS or chars > _BATCH_CHARS:
            _append(connection, into, batch)
            batch, chars = [], 0
    _append(connection, into, batch)
    raw = _raw(one, into, width)
    if shortest < width:
        raw.notes.append(
            f"Rows differ in length ({shortest} to {width} cells); missing cells are empty."
        )
    return raw


def _measure(one: CsvOutline, limits: FileLimits) -> tuple[int, int]:
    """The shortest and the longest row."""
    shortest = longest = len(one.header.names or ())
    for number, row in enumerate(_body(one, limits)):
        shortest, longest = min(shortest or len(row), len(row)), max(longest, len(row))
        if number >= limits.max_rows:
            raise LimitReached(f"'{one.name}' has more than {limits.max_rows:,} rows. Split it.")
    check_width(one.name, longest, limits)
    return shortest, longest


def _body(one: CsvOutline, limits: FileLimits) -> Iterator[list[str]]:
    """The rows of data; blank lines are none."""
    csv.field_size_limit(limits.max_row_bytes)
    with open(one.path, encoding="utf-8", newline="") as stream:
        lines = _Lines(stream, limit=limits.max_row_bytes)
        for number, row in enumerate(_rows(one.dialect, lines, one.name)):
            if number >= one.header.skip and row:
                yield row


def _append(connection: DuckDBPyConnection, table: str, rows: list[list[str]]) -> None:
    if not rows:
        return
    columns = [[cell or None for cell in column] for column in zip(*rows, strict=True)]
    append(connection, table, columns, ["VARCHAR"] * len(columns))
