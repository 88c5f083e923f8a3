"""A stored result as a stream of bytes: CSV, Excel, Parquet or JSON.

| | NULL | decimals, 64-bit integers | times with a zone | two columns of one name |
|---|---|---|---|---|
| csv | empty; the empty text is `""` | all digits | ISO 8601 with offset | `name`, `name_2` |
| xlsx | no cell; the empty text is a cell | numbers up to 15 digits, else text | as text | same |
| parquet | NULL | themselves | themselves | same |
| json | `null` | decimals as text, integers as numbers | ISO 8601 with offset | same |

Floats have the digits that are shown on the screen (`cells.shown_floats`), but in Parquet all their
bits. Rows are read a batch at a time; CSV and JSON are rendered and joined by Arrow. Blocking: run
it in a worker thread.

CSV is RFC 4180 in UTF-8; in a table of one column NULL is `""` too, since an empty line would be no
row at all. A text that a spreadsheet would run as a formula gets an apostrophe in front, and so
does one that already looks like such an escape, so that removing one apostrophe always gives the
original; a plain number is left alone. JSON is an array of objects, one a line, with values as
`cells.py` renders them.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, assert_never

from dataagent_core.data.arrow import pa, pc, pq
from dataagent_core.data.results.cells import json_text, json_values, texts
from dataagent_core.data.results.xlsx_file import xlsx_bytes
from dataagent_core.data.types import ExportFormat, ResultColumn

BOM = b"\xef\xbb\xbf"
_THREADS = 2
_LINE_END = "\r\n"
_FORMULA = "^'*[=+\\-@\\t\\r\\n＝＋－＠]"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_NEEDS_QUOTES = '[",\\r\\n]|^$'
_FIRST_BYTES = [*(byte.encode() for byte in "'=+-@\t\r\n"), b"\xef"]  # EF: full width


def csv_bytes(
    batches: Iterable[pa.RecordBatch], names: Sequence[str], *, has_bom: bool
) -> Iterator[bytes]:
    """The header, then the rows, piece by piece."""
    cells = quote_cells(escape_formulas(pa.array(names, pa.string()))).to_pylist()
    yield (BOM if has_bom else b"") + (",".join(cells) + _LINE_END).encode()
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="csv") as pool:
        yield from _in_order(pool, batches)


def _in_order(pool: ThreadPoolExecutor, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Each batch's lines, rendered a few batches ahead of the reader; Arrow frees the lock."""
    ahead: deque[Future[bytes]] = deque()
    for batch in batches:
        ahead.append(pool.submit(_csv_lines, batch))
        if len(ahead) > _THREADS:
            yield ahead.popleft().result()
    while ahead:
        yield ahead.popleft().result()


def _csv_lines(batch: pa.RecordBatch) -> bytes:
    """The batch's lines: the joined texts lie in one buffer, one after another."""
    cells = [_csv_cells(column) for column in batch.columns]
    if len(cells) == 1:
        cells = [pc.fill_null(cells[0], '""')]
    cells[-1] = pc.binary_join_element_wise(
        cells[-1], _LINE_END, "", null_handling="replace", null_replacement=""
    )
    lines = pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")
    _validity, _offsets, data = lines.buffers()
    return data.to_pybytes()


def _csv_cells(column: pa.Array) -> pa.Array:
    """The column as it stands in the file."""
    rendered = texts(column).cast(pa.string())
    kind = column.type
    if _is_number(kind):
        return rendered
    if pa.types.is_temporal(kind):
        return escape_formulas(rendered)
    return _by_value(rendered) if _needs_work(rendered) else rendered


def _needs_work(cells: pa.Array) -> bool:
    return _may_need_quotes(cells) or _may_be_formulas(cells)


def _by_value(cells: pa.Array) -> pa.Array:
    """Escaped and quoted, each value once where values repeat."""
    encoded = cells.dictionary_encode()
    if len(encoded.dictionary) * 2 > len(cells):
        return quote_cells(escape_formulas(cells))
    return quote_cells(escape_formulas(encoded.dictionary)).take(encoded.indices)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return is_number or types.is_boolean(kind)


def escape_formulas(cells: pa.Array) -> pa.Array:
    """An apostrophe before each text that a spreadsheet would take for a formula."""
    if not _may_be_formulas(cells):
        return cells
    looks_like_formula = pc.match_substring_regex(cells, _FORMULA)
    is_number = pc.match_substring_regex(cells, _NUMBER)
    is_formula = pc.and_not(looks_like_formula, is_number)
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", cells, ""), cells)


def _may_be_formulas(cells: pa.Array) -> bool:
    first_bytes = pc.binary_slice(cells.cast(pa.binary()), 0, 1)
    return bool(pc.any(pc.is_in(first_bytes, pa.array(_FIRST_BYTES))).as_py())


def quote_cells(cells: pa.Array) -> pa.Array:
    """Quotes around each text that needs them: it has a quote, comma or line end, or is empty."""
    if not _may_need_quotes(cells):
        return cells
    needs_quotes = pc.match_substring_regex(cells, _NEEDS_QUOTES)
    doubled = pc.replace_substring(cells, '"', '""')
    return pc.if_else(needs_quotes, pc.binary_join_element_wise('"', doubled, '"', ""), cells)


def _may_need_quotes(cells: pa.Array) -> bool:
    """A look at the bytes of all cells at once, which is much quicker than one at each."""
    if pc.min(pc.binary_length(cells)).as_py() == 0:
        return True
    data = cells.buffers()[2]
    content = b"" if data is None else data.to_pybytes()
    return any(mark in content for mark in (b'"', b",", b"\r", b"\n"))


_ESCAPED = re.compile(rb'[\x00-\x1f"\\]')


def json_bytes(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[bytes]:
    """The array, piece by piece."""
    keys = [json.dumps(name, ensure_ascii=False) + ":" for name in names]
    is_empty = True
    for batch in batches:
        if batch.num_rows:
            lines = _json_lines(batch, keys)
            yield b"[\n" + lines[2:] if is_empty else lines
            is_empty = False
    yield b"[]\n" if is_empty else b"\n]\n"


def _json_lines(batch: pa.RecordBatch, keys: Sequence[str]) -> bytes:
    """The rows, a comma and a line end before each: they lie in one buffer, one after another."""
    parts: list[pa.Array | str] = []
    for position, (key, column) in enumerate(zip(keys, batch.columns, strict=True)):
        before = ",\n{" if position == 0 else ","
        parts += [before + key, _json_cells(column)]
    joined = pc.binary_join_element_wise(
        *parts, "}", "", null_handling="replace", null_replacement="null"
    )
    _validity, _offsets, data = joined.buffers()
    return data.to_pybytes()


def _json_cells(column: pa.Array) -> pa.Array:
    """The column as JSON text; NULL stays NULL."""
    kind = column.type
    types = pa.types
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_null(kind):
        return texts(column)
    is_number = types.is_floating(kind) and pc.all(pc.is_finite(column)).as_py() is not False
    if is_number:
        return texts(column)
    rendered = texts(column)
    is_text = types.is_string(kind) or types.is_large_string(kind)
    if types.is_nested(kind) or types.is_floating(kind) or (is_text and _has_escapes(rendered)):
        values = [None if value is None else json_text(value) for value in json_values(column)]
        return pa.array(values, pa.string())
    if types.is_timestamp(kind):
        rendered = pc.replace_substring(rendered, " ", "T", max_replacements=1)
    return pc.binary_join_element_wise('"', rendered.cast(pa.string()), '"', "")


def _has_escapes(cells: pa.Array) -> bool:
    data = cells.buffers()[2]
    return data is not None and _ESCAPED.search(data) is not None


MEDIA_TYPES: dict[ExportFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
_BATCH_ROWS = 32_768
_XLSX_ROWS = 4_096
_CHUNK = 1024 * 1024


def export(
    path: Path,
    columns: Sequence[ResultColumn],
    fmt: ExportFormat,
    *,
    has_bom: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> Iterator[bytes]:
    """The file in the format, piece by piece.

    Args:
        path: a file that `keep` wrote.
        columns: its columns; their names head the columns, in every format.
        fmt: csv, xlsx, parquet or json.
        has_bom: begin CSV with a byte-order mark, by which Excel knows that the file is UTF-8.
            For a person's download; programs are better off without.
        limit: how many rows; None is all there are.
        offset: how many rows to skip.

    Raises:
        FileNotFoundError: there is no such file.
        BadInput: the format cannot hold the table (more columns than a sheet has).
    """
    names = [column.name for column in columns]
    rows = partial(_batches, path, limit=limit, offset=offset)
    match fmt:
        case "csv":
            return csv_bytes(rows(_BATCH_ROWS), names, has_bom=has_bom)
        case "xlsx":
            return xlsx_bytes(rows(_XLSX_ROWS), names, near=path.parent)
        case "parquet" if limit is None and offset == 0:
            return _file_bytes(path)
        case "parquet":
            return _written_again(path, rows(_BATCH_ROWS))
        case "json":
            return json_bytes(rows(_BATCH_ROWS), names)
        case _:
            assert_never(fmt)


def _batches(path: Path, rows: int, *, limit: int | None, offset: int) -> Iterator[pa.RecordBatch]:
    """The rows from `offset` on, `limit` of them, in batches of so many."""
    with pq.ParquetFile(path) as file:
        total = file.metadata.num_rows
        end = total if limit is None else min(offset + limit, total)
        at = 0
        for group in range(file.num_row_groups):  # one by one: a batch may not span large ones
            size = file.metadata.row_group(group).num_rows
            if at + size > offset and at < end:
                for batch in file.iter_batches(batch_size=rows, row_groups=[group]):
                    first, last = max(offset - at, 0), min(end - at, batch.num_rows)
                    if first < last:
                        yield batch.slice(first, last - first)
                    at += batch.num_rows
            else:
                at += size


def _file_bytes(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from _pieces(file)


def _written_again(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """A Parquet file of these rows, written beside the whole one and gone when it is sent."""
    with TemporaryFile(prefix=".rows-", dir=path.parent) as file:
        with pq.ParquetWriter(file, pq.read_schema(path)) as writer:
            for batch in batches:
                writer.write_batch(batch)
        file.seek(0)
        yield from _pieces(file)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
