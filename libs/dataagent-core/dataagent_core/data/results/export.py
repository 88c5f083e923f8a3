"""A kept result in the format somebody asked for, as a stream of bytes.

| | NULL | decimals, 64-bit integers | times with a zone | two columns of one name |
|---|---|---|---|---|
| csv | empty; the empty text is `""` | all digits | ISO 8601 with offset | `name`, `name_2` |
| xlsx | no cell; the empty text is a cell | numbers up to 15 digits, else text | as text | same |
| parquet | NULL | themselves | themselves | same |
| json | `null` | decimals as text, integers as numbers | ISO 8601 with offset | same |

Floats have the digits that are shown on the screen (`cells.shown_floats`), but in Parquet all their
bits. Rows are read a batch at a time. Blocking: run it in a worker thread. Above: the artefact
routes, the terminal. Below: `csv_file.py`, `json_file.py`, `xlsx_file.py`.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, assert_never

from dataagent_core.data.arrow import pa, pq
from dataagent_core.data.results.csv_file import csv_bytes
from dataagent_core.data.results.json_file import json_bytes
from dataagent_core.data.results.xlsx_file import xlsx_bytes
from dataagent_core.data.types import ExportFormat, ResultColumn

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
