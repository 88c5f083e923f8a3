"""What is known of a stored result, and how to read that from the file alone.

The Parquet footer carries the labels, the statistics and whether the read was cut short, so that a
preview of an old result needs no second pass over its rows.

Statistics (NULLs, extremes, distinct values, total) are gathered while the rows pass by, in
constant memory. Totals are exact: integers are added as Python's, decimals as decimals of any
length; only floating-point columns have floating-point totals, and 4-byte floats count as the
decimals they are shown as. Figures have the digits that are shown.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Context, Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, cast

from dataagent_core.data.arrow import pa, pc, pq
from dataagent_core.data.results.cells import json_values, shown_float, shown_floats, texts
from dataagent_core.data.types import ResultColumn, TruncatedBy

MAX_DISTINCT = 1_000
MAX_EXTREME_LENGTH = 100  # characters of a text's minimum or maximum that are stored
_EXACT = Context(prec=200)
_MEAN = Context(prec=28)
_LONG_KEY = 64


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """One column's figures. None: the figure makes no sense for the type, or there is no value."""

    nulls: int
    minimum: int | float | Decimal | bool | str | None = None  # dates and times as ISO 8601 text
    maximum: int | float | Decimal | bool | str | None = None
    distinct: int | Literal["many"] | None = None  # exact up to 1,000, NULL not counted
    total: int | float | Decimal | None = None
    mean: float | Decimal | None = None


class ColumnMeter:
    """Gathers one column's statistics, piece by piece."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._is_scalar = not pa.types.is_nested(kind)
        self._nulls = 0
        self._count = 0
        self._extremes: pa.Array | None = None
        self._distinct: set[object] | None = set() if self._is_scalar else None
        self._total: Any = 0  # Any: int, Decimal or float, by the column's type

    def add(self, column: pa.Array) -> None:
        """Count a piece of the column."""
        self._nulls += column.null_count
        self._count += len(column) - column.null_count
        if not self._is_scalar or column.null_count == len(column):
            return
        if pa.types.is_floating(column.type) and column.type != pa.float64():
            column = shown_floats(column)
        self._add_extremes(column)
        self._add_distinct(column)
        if _is_number(self._kind):
            self._total = _sum(self._total, column)

    def result(self) -> ColumnStatistics:
        """What was counted so far."""
        low, high = self._extreme_values()
        total = self._total if self._count and _is_number(self._kind) else None
        return ColumnStatistics(
            nulls=self._nulls,
            minimum=_shown(low),
            maximum=_shown(high),
            distinct=self._distinct_count(),
            total=_shown(total),
            mean=None if total is None else _shown(_mean(total, self._count)),
        )

    def _add_extremes(self, column: pa.Array) -> None:
        is_duration = pa.types.is_duration(self._kind)
        comparable = column.view(pa.int64()) if is_duration else column
        ends = _shortened(_ends(comparable))
        if self._extremes is not None:
            ends = _ends(pa.concat_arrays([self._extremes, ends]))
        self._extremes = ends

    def _extreme_values(self) -> tuple[Any, Any]:
        if self._extremes is None:
            return None, None
        ends = self._extremes
        if pa.types.is_duration(self._kind):
            ends = ends.view(self._kind)
        if _is_number(self._kind) or pa.types.is_boolean(self._kind):
            low, high = ends.to_pylist()
            return low, high
        low, high = (_marked(text) for text in json_values(ends))
        return low, high

    def _add_distinct(self, column: pa.Array) -> None:
        if self._distinct is None:
            return
        present = column.drop_null()
        if pa.types.is_floating(self._kind):
            present = pc.add(present, 0.0)  # -0.0 equals 0.0
        unique = present.unique()
        if len(unique) > MAX_DISTINCT:
            self._distinct = None
            return
        self._distinct.update(_keys(unique))
        if len(self._distinct) > MAX_DISTINCT:
            self._distinct = None

    def _distinct_count(self) -> int | Literal["many"] | None:
        if not self._is_scalar:
            return None
        return "many" if self._distinct is None else len(self._distinct)


def _shown(figure: Any) -> Any:  # Any: a figure of any type
    return shown_float(figure) if isinstance(figure, float) else figure


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def _ends(column: pa.Array) -> pa.Array:
    """The least and the greatest value, as an array: Python's dates hold less than Arrow's."""
    return pa.concat_arrays(pa.repeat(pc.min_max(column), 1).flatten())


def _shortened(ends: pa.Array) -> pa.Array:
    """Long texts cut: the start of the least text is the least of the starts."""
    kind = ends.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.utf8_slice_codeunits(ends, 0, MAX_EXTREME_LENGTH)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pc.binary_slice(ends, 0, MAX_EXTREME_LENGTH // 2)
    return ends


def _marked(text: str | None) -> str | None:
    if text is None or len(text) < MAX_EXTREME_LENGTH:
        return text
    return f"{text[:MAX_EXTREME_LENGTH]}…"


def _keys(unique: pa.Array) -> list[object]:
    """What tells the values apart, short however long they are."""
    is_bytes = pa.types.is_binary(unique.type) or pa.types.is_large_binary(unique.type)
    if pa.types.is_floating(unique.type):
        unique = unique.cast(pa.string())  # with all digits: those that are shown tell less apart
    values = unique.to_pylist() if is_bytes else texts(unique).to_pylist()
    return [_key(value) for value in values]


def _key(value: str | bytes) -> object:
    if len(value) <= _LONG_KEY:
        return value
    data = value.encode() if isinstance(value, str) else value
    return (len(data), blake2b(data, digest_size=16).digest())


def _sum(total: Any, column: pa.Array) -> Any:
    kind = column.type
    if pa.types.is_integer(kind):
        return total + _integer_sum(column)
    if pa.types.is_decimal(kind):
        return _EXACT.add(Decimal(total), _decimal_sum(column))
    return total + pc.sum(column).as_py()


def _integer_sum(column: pa.Array) -> int:
    """Exact: Arrow's own sum wraps around beyond 64 bits."""
    ends = pc.min_max(column)
    largest = max(abs(ends["min"].as_py()), abs(ends["max"].as_py()))
    if largest * len(column) < 2**63:
        return pc.sum(column).as_py()
    return int(pc.sum(column.cast(pa.decimal128(38, 0))).as_py())


def _decimal_sum(column: pa.Array) -> Decimal:
    if column.type.precision > 60:
        total = Decimal(0)
        for value in column.drop_null().to_pylist():
            total = _EXACT.add(total, value)
        return total
    return pc.sum(column.cast(pa.decimal256(76, column.type.scale))).as_py()


def _mean(total: int | float | Decimal, count: int) -> float | Decimal:
    if isinstance(total, float):
        return total / count
    context = Context(prec=max(_MEAN.prec, len(Decimal(total).as_tuple().digits) + 10))
    return context.divide(Decimal(total), Decimal(count))


PREVIEW_ROWS = 20
MAX_PREVIEW_CELL = 400  # characters of a cell that a preview may draw on
_KEY = b"dataagent"


class TruncatedText(str):
    """A long text's beginning, marked as cut; `length` is how long the whole is."""

    start: str
    length: int

    def __new__(cls, start: str, length: int) -> TruncatedText:
        """The first characters of a text that is `length` characters long."""
        self = super().__new__(cls, f"{start}…[+{length - len(start)}]")
        self.start = start
        self.length = length
        return self


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result in its file."""

    row_count: int  # rows in the file, exact
    byte_size: int  # of the file
    columns: tuple[ResultColumn, ...]
    is_truncated: bool
    truncated_by: TruncatedBy | None
    preview_rows: tuple[tuple[Any, ...], ...]  # JSON values; long texts are `TruncatedText`
    statistics: tuple[ColumnStatistics, ...]
    warnings: tuple[str, ...] = ()  # what the source warned of


def first_rows(batch: pa.RecordBatch | pa.Table, count: int) -> tuple[tuple[Any, ...], ...]:
    """The first rows as JSON values, long texts cut."""
    head = batch.slice(0, count)
    return tuple(zip(*(_previewed(_whole(column)) for column in head.columns), strict=True))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _previewed(column: pa.Array) -> list[Any]:
    kind = column.type
    types = pa.types
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _cut_bytes(column)
    if types.is_nested(kind):
        column = texts(column)
    if types.is_string(column.type) or types.is_large_string(column.type):
        starts = pc.utf8_slice_codeunits(column, 0, MAX_PREVIEW_CELL).to_pylist()
        lengths = pc.utf8_length(column).to_pylist()
        return [_cut(start, n) for start, n in zip(starts, lengths, strict=True)]
    return json_values(column)


def _cut_bytes(column: pa.Array) -> list[Any]:
    starts = texts(pc.binary_slice(column, 0, MAX_PREVIEW_CELL // 2)).to_pylist()
    lengths = pc.binary_length(column).to_pylist()
    return [
        _cut(start, None if n is None else 2 + 2 * n)
        for start, n in zip(starts, lengths, strict=True)
    ]


def _cut(start: str | None, length: int | None) -> str | None:
    if start is None or length is None or len(start) >= length:
        return start
    return TruncatedText(start, length)


# -- the footer -----------------------------------------------------------------------------


def footer(
    columns: Sequence[ResultColumn],
    statistics: Sequence[ColumnStatistics],
    truncated_by: TruncatedBy | None,
    warnings: Sequence[str],
) -> Mapping[bytes, bytes]:
    """What goes into the Parquet file's key-value metadata."""
    content = {
        "labels": [column.label for column in columns],
        "statistics": [asdict(one) for one in statistics],
        "truncated_by": truncated_by,
        "warnings": list(warnings),
    }
    return {_KEY: json.dumps(content, default=_tagged).encode()}


def _tagged(value: object) -> dict[str, str]:
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    raise TypeError(f"A statistic cannot be a {type(value).__name__}.")


def _untagged(value: dict[str, Any]) -> Any:
    return Decimal(value["decimal"]) if list(value) == ["decimal"] else value


def load_stored_result(path: Path) -> StoredResult:
    """What is known of a file that `keep` wrote, read from its footer and first rows.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: `keep` did not write it.
    """
    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        noted = (metadata.metadata or {}).get(_KEY)
        if noted is None:
            raise ValueError(f"{path.name} is not a stored result.")
        content = cast("dict[str, Any]", json.loads(noted, object_hook=_untagged))
        schema = file.schema_arrow
        head = next(file.iter_batches(batch_size=PREVIEW_ROWS), None)
        row_count = int(metadata.num_rows)
    named = zip(schema, content["labels"], strict=True)
    return StoredResult(
        row_count=row_count,
        byte_size=path.stat().st_size,
        columns=tuple(ResultColumn(field.name, label, str(field.type)) for field, label in named),
        is_truncated=content["truncated_by"] is not None,
        truncated_by=content["truncated_by"],
        preview_rows=() if head is None else first_rows(head, PREVIEW_ROWS),
        statistics=tuple(ColumnStatistics(**one) for one in content["statistics"]),
        warnings=tuple(content.get("warnings", ())),
    )
