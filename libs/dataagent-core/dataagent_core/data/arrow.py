"""Arrow and DuckDB for this room, loaded when the first of them is used."""

# pyright: reportMissingTypeStubs=false
# Arrow brings no types.

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq
else:
    from dataagent_core.config.libraries import Library

    duckdb = Library("duckdb")
    pa = Library("pyarrow")
    pc = Library("pyarrow.compute")
    ds = Library("pyarrow.dataset")
    pq = Library("pyarrow.parquet")

__all__ = ["ds", "duckdb", "pa", "pc", "pq"]
