"""pyarrow and DuckDB, loaded on first use."""

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
    from dataagent_core.config.lazy_modules import LazyModule

    duckdb = LazyModule("duckdb")
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    ds = LazyModule("pyarrow.dataset")
    pq = LazyModule("pyarrow.parquet")

__all__ = ["ds", "duckdb", "pa", "pc", "pq"]
