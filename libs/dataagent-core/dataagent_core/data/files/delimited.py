"""CSV, TSV and their kin as raw tables of text.

Each delimiter and quoting is tried on the first part of a file; the one that gives the most even
table wins. DuckDB's `sniff_csv` is not used: it takes a backslash before a quote for an escape in
files that have none, and the reverse. An even file is scanned by DuckDB's own reader. One that is
not (rows of different length, stray quotes, mixed line ends) is read row by row with Python's, so
that nothing is dropped; a row that is longer than the header gets columns of its own.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from duckdb import DuckDBPyConnection

from dataagent_core.data.files.headers import LOOK_ROWS, TableHeader, find_header
from dataagent_core.data.files.types import DUCKDB, FileLimits, RawTable
from dataagent_core.errors import BadInput, LimitReached

_ARROW = {
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "BOOLEAN": pa.bool_(),
    "TIME": pa.time64("us"),
    "VARCHAR": pa.string(),
}


def append(
    connection: DuckDBPyConnection,
    table: str,
    columns: Sequence[Sequence[object]],
    types: Sequence[str],
) -> None:
    """Add rows, given by column, to a table whose columns have these types."""
    arrays = [pa.array(cells, _ARROW[kind]) for cells, kind in zip(columns, types, strict=True)]
    batch = pa.Table.from_arrays(arrays, names=[f"c{i + 1}" for i in range(len(arrays))])
    connection.register("batch", batch)
    connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 our own names
    connection.unregister("batch")


_DELIMITERS = (",", "\t", ";", "|", "\x01", "\x1f", "^", "~")
_ALSO_IN_TEXT = ("^", "~")  # rarely delimiters: only where every row has as many of them


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """`escape` is the quote itself where a quote inside a cell is doubled."""

    delimiter: str
    quote: str = '"'
    escape: str = '"'
    has_space_after: bool = False  # each delimiter is followed by a space that is no part of a cell

    def reader(self, lines: Iterator[str] | io.TextIOBase) -> Iterator[list[str]]:
        """Rows of the text; blank lines are empty lists."""
        is_doubled = self.escape == self.quote
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            doublequote=is_doubled,
            escapechar=None if is_doubled else self.escape,
            skipinitialspace=self.has_space_after,
        )


def detect_dialect(sample: str, *, name: str) -> CsvDialect:
    """The dialect of a text. A name ending in `.tsv` or `.tab` settles the delimiter."""
    delimiters = ("\t",) if name.lower().endswith((".tsv", ".tab")) else _DELIMITERS
    best, best_score = CsvDialect(delimiters[0]), (0.0, 0)
    for delimiter in delimiters:
        if delimiter not in sample:
            continue
        for dialect in _quotings(delimiter, sample):
            score = _score(dialect, sample)
            if score > best_score:
                best, best_score = dialect, score
    return best


def _quotings(delimiter: str, sample: str) -> list[CsvDialect]:
    """Quotings in the order of likelihood: on equal scores the first wins."""
    spaced = f'{delimiter} "' in sample and f'{delimiter}"' not in sample
    dialects = [CsvDialect(delimiter, has_space_after=spaced)]
    if '\\"' in sample:
        dialects.append(CsvDialect(delimiter, escape="\\"))
    if f"{delimiter}'" in sample and f"'{delimiter}" in sample:
        dialects.append(CsvDialect(delimiter, quote="'", escape="'"))
    return dialects


def _score(dialect: CsvDialect, sample: str) -> tuple[float, int]:
    """How even the table is, then how wide. A table of one column is no table."""
    try:
        rows = [row for row in dialect.reader(io.StringIO(sample, newline="")) if row]
    except csv.Error:
        return (0.0, 0)
    is_well_quoted = _is_well_quoted(dialect, rows, sample)
    rows = rows[:-1] if len(rows) > 2 else rows  # the sample may end inside the last row
    widths = Counter(len(row) for row in rows)
    if not widths:
        return (0.0, 0)
    width, count = max(widths.items(), key=lambda item: (item[1], item[0] > 2, item[0] == 1))
    if width < 2 or (dialect.delimiter in _ALSO_IN_TEXT and count < len(rows)):
        return (0.0, 0)
    stray = 0 if is_well_quoted else sum(_stray_quotes(each, dialect) for each in rows)
    return (round(count / len(rows), 2) - min(stray / len(rows), 0.5), width)


def _is_well_quoted(dialect: CsvDialect, rows: list[list[str]], sample: str) -> bool:
    """Whether every quote inside a cell was written as a quote inside quotes.

    Then the rows, written anew, need no more quotes than there were; one may be cut off at the end.
    """
    if dialect.quote not in sample:
        return True
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dialect.delimiter, quotechar=dialect.quote)
    writer.writerows(rows)
    return out.getvalue().count(dialect.quote) <= sample.count(dialect.quote) + 1


def _stray_quotes(row: list[str], dialect: CsvDialect) -> int:
    """How many cells begin or end with half a quotation, cut at the wrong place."""
    cells = [cell.strip() for cell in row]
    quote = dialect.quote
    return sum(1 for cell in cells if len(cell) > 1 and (cell[0] == quote) != (cell[-1] == quote))


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
    path, delimiter, quote, escape = (
        DUCKDB.literal(text)
        for text in (one.path, one.dialect.delimiter, one.dialect.quote, one.dialect.escape)
    )
    relation = (
        f"read_csv({path}, columns = {{{columns}}}, auto_detect = false, "
        f"header = false, skip = {one.skipped_lines}, delim = {delimiter}, "
        f"quote = {quote}, escape = {escape}, "
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
