"""A page of a result: some rows by offset, in the file's order or sorted.

DuckDB finds which rows come first, in a database that can open this one file and nothing else; the
values themselves are read with Arrow, so that none changes on the way.
"""

# pyarrow has no type stubs: this module is a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from dataagent_core.data.arrow import duckdb, pa, pq
from dataagent_core.data.dialects import dialect_of
from dataagent_core.data.results.cells import json_values
from dataagent_core.data.results.query import BOUNDS
from dataagent_core.errors import BadInput, QueryFailed

_DUCKDB = dialect_of("duckdb")
MAX_LIMIT = 1_000
MAX_PAGE_BYTES = 16 * 1024 * 1024  # of Arrow data; a page of very long texts ends before its limit


@dataclass(frozen=True, slots=True)
class ResultPage:
    """Some rows as JSON values, in the order of the columns.

    Integers beyond 2^53 are text here: a browser's numbers would change them.
    """

    columns: tuple[str, ...]
    rows: list[list[Any]]  # Any: JSON values
    total: int
    offset: int
    next_offset: int | None  # None: these were the last


def page(path: Path, *, limit: int = 100, offset: int = 0, sort: Sequence[str] = ()) -> ResultPage:
    """Rows `offset` to `offset + limit` of the file.

    Args:
        path: a file that `keep` wrote.
        limit: how many rows, at most 1,000.
        offset: how many to skip.
        sort: column names, the most important first; `-name` sorts from the greatest. NULLs come
            last either way, and rows that tie stay in the file's order.

    Raises:
        BadInput: a bound is wrong or there is no such column; `details["nearest"]` may help.
        QueryFailed: sorting needs more memory than it may have.
        FileNotFoundError: there is no such file.
    """
    _check(limit, offset)
    with pq.ParquetFile(path) as file:
        names = tuple(file.schema_arrow.names)
        total = int(file.metadata.num_rows)
        order = [_sort_term(one, names) for one in sort]
        if order:
            wanted = _sorted_rows(path, order, limit=limit, offset=offset)
        else:
            wanted = list(range(min(offset, total), min(offset + limit, total)))
        rows = _rows(file, wanted)
    end = offset + len(rows)
    return ResultPage(names, rows, total, offset, end if rows and end < total else None)


def _check(limit: int, offset: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise BadInput(f"limit is {limit}; it must be between 1 and {MAX_LIMIT}.")
    if offset < 0:
        raise BadInput(f"offset is {offset}; it must not be negative.")


# -- the order ------------------------------------------------------------------------------


def _sort_term(wanted: str, names: Sequence[str]) -> str:
    """`"name" ASC NULLS LAST`, for a name that is there."""
    is_descending = wanted not in names and wanted.startswith("-")
    name = wanted[1:] if is_descending else wanted
    if name not in names:
        raise _unknown(name, names)
    return f"{dialect_of('duckdb').quoted(name)} {'DESC' if is_descending else 'ASC'} NULLS LAST"


def _unknown(name: str, names: Sequence[str]) -> BadInput:
    by_folded = {one.casefold(): one for one in names}
    found = difflib.get_close_matches(name.casefold(), list(by_folded), n=5, cutoff=0.5)
    nearest = [by_folded[one] for one in found]
    hint = f"Nearest: {', '.join(nearest)}." if nearest else f"Columns: {', '.join(names[:20])}."
    return BadInput(
        f"There is no column {name[:80]!r} to sort by. {hint}", details={"nearest": nearest}
    )


def _sorted_rows(path: Path, order: Sequence[str], *, limit: int, offset: int) -> list[int]:
    """The numbers of the rows on the page, in order."""
    with duckdb.connect(":memory:", config=BOUNDS) as connection:
        _lock(connection, path)
        statement = (
            # names are quoted and known
            f"SELECT file_row_number FROM read_parquet(?, file_row_number = true) "  # noqa: S608
            f"ORDER BY {', '.join(order)}, file_row_number LIMIT {limit:d} OFFSET {offset:d}"
        )
        try:
            found = connection.execute(statement, [str(path.resolve())]).fetchall()
        except duckdb.OutOfMemoryException as error:
            raise QueryFailed(
                "Sorting needs more memory than it may have. Sort by fewer columns, or query the "
                "result with ORDER BY and a LIMIT."
            ) from error
    return [int(row[0]) for row in found]


def _lock(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Let the connection read this one file and change nothing about itself."""
    allowed = str(path.resolve()).replace("'", "''")
    connection.execute(f"SET allowed_paths = ['{allowed}']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


# -- the values -----------------------------------------------------------------------------


def _rows(file: Any, wanted: Sequence[int]) -> list[list[Any]]:
    """The rows of these numbers, in this order, as many as a page may hold bytes."""
    rows: list[list[Any]] = []
    budget = MAX_PAGE_BYTES
    size = _window(file.metadata)
    for start in range(0, len(wanted), size):
        for row in _read(file, wanted[start : start + size]):
            budget -= sum(len(cell) if isinstance(cell, str) else 8 for cell in row)
            if budget < 0 and rows:
                return rows
            rows.append(row)
    return rows


def _window(metadata: Any) -> int:
    """How many rows to read at once: usually the whole page, few where rows are large."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    average = sum(group.total_byte_size for group in groups) // max(1, metadata.num_rows)
    return max(1, min(MAX_LIMIT, MAX_PAGE_BYTES // max(1, average)))


def _read(file: Any, wanted: Sequence[int]) -> list[list[Any]]:
    metadata = file.metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    ends = list(accumulate(sizes))
    by_group: dict[int, list[int]] = {}
    for number in wanted:
        by_group.setdefault(bisect_right(ends, number), []).append(number)
    found: dict[int, list[Any]] = {}
    for group, numbers in by_group.items():
        first = ends[group] - sizes[group]
        table = file.read_row_group(group).take([number - first for number in numbers])
        found.update(zip(numbers, _json_rows(table), strict=True))
    return [found[number] for number in wanted]


def _json_rows(table: pa.Table) -> list[list[Any]]:
    columns = [
        json_values(column.combine_chunks(), are_big_integers_text=True) for column in table.columns
    ]
    return [list(row) for row in zip(*columns, strict=True)]
