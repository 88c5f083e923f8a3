"""Cells held by Python, added to a table of the database by way of Arrow.

The border to pyarrow, which has no types. Above: `delimited.py`, `workbook.py`.
"""
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from duckdb import DuckDBPyConnection

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
