"""What is known of a result once it is in its file, and how to know it again from the file alone.

The Parquet footer carries the labels, the statistics and whether the read was cut short, so that a
preview of an old result needs no second pass over its rows. Above: `keep.py` writes it,
`preview.py` shows it. Below: `cells.py`, Arrow.
"""

# pyarrow has no type stubs and makes its compute functions at run time: a border to it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from dataagent_core.data.arrow import pa, pc, pq
from dataagent_core.data.results.cells import json_values, texts
from dataagent_core.data.results.statistics import ColumnStatistics
from dataagent_core.data.types import ResultColumn, TruncatedBy

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
            raise ValueError(f"{path.name} is not a result that was kept.")
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
