"""A result as the model gets it: small however large the result is.

The exact row count, whether the read was cut short and why, what the source warned of, the columns
with their statistics, and the first rows; the whole stays within a number of bytes. What does not
fit gives way in this order: length of texts, statistics, rows, columns; the columns left out are
counted and named as far as they fit. Numbers, dates and times are never cut.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

from dataagent_core.data.results.cells import json_text
from dataagent_core.data.results.stored_result import (
    PREVIEW_ROWS,
    ColumnStatistics,
    StoredResult,
    TruncatedText,
)
from dataagent_core.data.types import ResultColumn

MAX_BYTES = 4_000
_CELL_LENGTHS = (200, 100, 60, 40, 20, 12)
_NAME_LENGTH = 60
_WARNING_LENGTH = 80  # in a preview of a thousand bytes one still fits
_EXTREME_LENGTH = 40  # more than any date or time has
_INTEGERS = range(-(2**63), 2**64)  # what every reader and writer of JSON here holds as a number
_COLUMN_SHARE = 0.5  # of the bytes, for the columns; the rest is for rows
_OTHERS_SHARE = 0.1

_REASONS = {
    "rows": "stopped at the row limit",
    "bytes": "stopped at the size limit",
    "time": "stopped at the time limit",
}
_TEXTS = ("string", "large_string", "binary", "large_binary", "fixed_size_binary")
_CUT = (*_TEXTS, "list", "large_list", "struct", "map")
_Described = dict[str, Any]  # Any: JSON values


def preview(
    result: StoredResult, *, max_rows: int = PREVIEW_ROWS, max_bytes: int = MAX_BYTES
) -> dict[str, Any]:
    """The result in a few words, as JSON values; `preview_text` of it is under `max_bytes` bytes.

    Args:
        result: from `write_result`, or from `load_stored_result` for an artefact's file.
        max_rows: how many rows at most; there are never more than 20.
        max_bytes: of the JSON text in UTF-8, at least 1,000.
    """
    columns = _columns(result, int(max_bytes * _COLUMN_SHARE))
    shown: dict[str, Any] = {
        "row_count": result.row_count,
        "truncated": _truncated(result),
        "columns": columns,
        "rows": [],
    }
    if result.warnings:
        shown["warnings"] = _listed(
            result.warnings, _WARNING_LENGTH, int(max_bytes * _OTHERS_SHARE)
        )
    if len(columns) < len(result.columns):
        names = [column.name for column in result.columns[len(columns) :]]
        shown["other_columns"] = _others(names, int(max_bytes * _OTHERS_SHARE))
    rows = [row[: len(columns)] for row in result.preview_rows[:max_rows]]
    are_texts = [_is_text(column.type) for column in result.columns[: len(columns)]]
    shown["rows"] = _fitting(rows, are_texts, max_bytes - _size(shown) - 1)
    return shown


def preview_text(shown: dict[str, Any]) -> str:
    """A preview as the JSON text that was measured."""
    return json_text(shown)


def _size(value: object) -> int:
    return len(json_text(value).encode())


def _truncated(result: StoredResult) -> str | None:
    if result.truncated_by is None:
        return None
    if result.truncated_by == "values":
        return "the source has cut a value: see the warnings"
    return (
        f"{_REASONS[result.truncated_by]}: the source has more rows than these {result.row_count}"
    )


# -- columns --------------------------------------------------------------------------------


def _columns(result: StoredResult, budget: int) -> list[_Described]:
    """The columns in the most telling form in which all fit, else as many as fit in the least."""
    described: list[_Described] = []
    pairs = list(zip(result.columns, result.statistics, strict=True))
    for describe in (_in_full, _with_ends, _with_nulls, _plain):
        described = _taken([describe(*pair) for pair in pairs], budget)
        if len(described) == len(pairs):
            break
    return described


def _taken(items: Sequence[_Described], budget: int) -> list[_Described]:
    taken: list[_Described] = []
    for item in items:
        budget -= _size(item) + 1
        if budget < 0:
            break
        taken.append(item)
    return taken


def _plain(column: ResultColumn, _statistics: ColumnStatistics) -> _Described:
    name, kind = _shortened(column.name, _NAME_LENGTH), _shortened(column.type, _NAME_LENGTH)
    return {"name": name, "type": kind}


def _with_nulls(column: ResultColumn, statistics: ColumnStatistics) -> _Described:
    return _plain(column, statistics) | {"nulls": statistics.nulls}


def _with_ends(column: ResultColumn, statistics: ColumnStatistics) -> _Described:
    ends = {"min": statistics.minimum, "max": statistics.maximum, "distinct": statistics.distinct}
    ends_shown = {key: _figure(value) for key, value in ends.items() if value is not None}
    return _with_nulls(column, statistics) | ends_shown


def _in_full(column: ResultColumn, statistics: ColumnStatistics) -> _Described:
    sums = {"sum": statistics.total, "mean": _rounded(statistics.mean)}
    ends_shown = {key: _figure(value) for key, value in sums.items() if value is not None}
    return _with_ends(column, statistics) | ends_shown


def _figure(value: object) -> object:
    """A statistic as a JSON value; a sum may be too long for a number, a text's extreme is cut."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, int) and value not in _INTEGERS:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return _shortened(value, _EXTREME_LENGTH) if isinstance(value, str) else value


def _rounded(mean: float | Decimal | None) -> float | Decimal | None:
    """A mean with six digits after the point at least, fifteen in all at least."""
    if not isinstance(mean, Decimal):
        return mean
    return Context(prec=max(15, mean.adjusted() + 7)).plus(mean)


def _others(names: Sequence[str], budget: int) -> dict[str, Any]:
    return {"count": len(names), "first_names": _listed(names, _NAME_LENGTH, budget)}


def _listed(texts: Sequence[str], length: int, budget: int) -> list[str]:
    """As many of the texts as fit, each no longer than that."""
    listed: list[str] = []
    for text in texts:
        short = _shortened(text, length)
        budget -= _size(short) + 1
        if budget < 0:
            break
        listed.append(short)
    return listed


# -- rows -----------------------------------------------------------------------------------


def _is_text(arrow_type: str) -> bool:
    """Whether cells of the type may be cut: a number or a date with digits missing is a lie."""
    return re.split(r"[\[<(]", arrow_type, maxsplit=1)[0] in _CUT


def _fitting(
    rows: Sequence[Sequence[Any]], are_texts: Sequence[bool], budget: int
) -> list[list[Any]]:
    """All rows with texts as long as they can be; else as many rows as fit with short texts."""
    cut: list[list[Any]] = []
    for length in _CELL_LENGTHS:
        cut = [_cut(row, are_texts, length) for row in rows]
        if sum(_size(row) + 1 for row in cut) <= budget:
            return cut
    while cut and sum(_size(row) + 1 for row in cut) > budget:
        cut.pop()
    return cut


def _cut(row: Sequence[Any], are_texts: Sequence[bool], length: int) -> list[Any]:
    return [
        _shortened(cell, length) if is_text else cell
        for cell, is_text in zip(row, are_texts, strict=True)
    ]


def _shortened(cell: Any, length: int) -> Any:
    """A long text cut and marked with how many characters are missing."""
    if not isinstance(cell, str):
        return cell
    start, whole = (
        (cell.start, cell.length) if isinstance(cell, TruncatedText) else (cell, len(cell))
    )
    return cell if whole <= length else TruncatedText(start[:length], whole)
