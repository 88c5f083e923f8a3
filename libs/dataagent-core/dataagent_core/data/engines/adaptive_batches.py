"""Rows that are fetched by number, gathered into columns, a batch at a time.

Few rows are fetched at once and put into their columns while they are at hand: that is quicker than
turning a whole batch around, and a table of long texts is noticed early, so memory stays bounded
whatever the rows hold. The first batch is small, to be quick. Above: the engines whose driver gives
rows. Below: nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataagent_core.data.engines.base import EngineOptions

Rows = Sequence[Sequence[Any]]  # Any: whatever a database holds

_PIECE_ROWS = 128
_FIRST_ROWS = 8_192  # the first batch decides types, so it is not too small
_FIRST_SECONDS = 0.2
_OBJECT_TO_VALUE = 4  # a Python object is larger than the value it holds


def adaptive_batches(
    fetch: Callable[[int], Rows], options: EngineOptions
) -> Iterator[Sequence[Any]]:
    """The rows that `fetch(count)` gives, until it gives none, as one list for each column."""
    most_rows = min(_FIRST_ROWS, options.batch_rows)
    deadline = time.monotonic() + _FIRST_SECONDS
    pieces = _pieces(fetch, options)
    while columns := _gathered(pieces, most_rows, options.batch_bytes, deadline):
        yield columns
        most_rows, deadline = options.batch_rows, None


def _pieces(fetch: Callable[[int], Rows], options: EngineOptions) -> Iterator[tuple[Rows, int]]:
    """Some rows and about how many bytes they have, again and again."""
    count = 1
    while rows := fetch(min(count, options.batch_rows)):
        size = max(sum(map(sys.getsizeof, row)) for row in (rows[0], rows[-1])) // _OBJECT_TO_VALUE
        yield rows, size * len(rows)
        count = max(1, min(_PIECE_ROWS, options.batch_bytes // max(1, size)))


def _gathered(
    pieces: Iterator[tuple[Rows, int]], most_rows: int, most_bytes: int, deadline: float | None
) -> list[list[Any]]:
    """The columns of one batch; none at the end."""
    columns: list[list[Any]] = []
    row_count = byte_count = 0
    for rows, size in pieces:
        columns = columns or [[] for _ in rows[0]]
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            column.extend(values)
        row_count += len(rows)
        byte_count += size
        is_late = deadline is not None and time.monotonic() > deadline
        if row_count >= most_rows or byte_count >= most_bytes or is_late:
            break
    return columns
